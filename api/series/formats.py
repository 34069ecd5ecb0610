"""A page of rows as bytes in one of four formats, the same rows in the same order, and which one a request gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from api.http import responses
from api.http.problems import Problem
from api.series import rows
from api.series.gaps import MOST as MOST_GAPS
from api.series.page import Page
from warehouse.market.clock import HOUR
from warehouse.market.metrics import forecast_of

MEDIA: dict[str, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
"""Media type of each `format`, the preferred one first."""
_TYPES_OF_ROWS = tuple(MEDIA.values())
_FORMAT_OF = {media: format_ for format_, media in MEDIA.items()}
CONTENT_TYPE = {**MEDIA, "csv": "text/csv; charset=utf-8; header=present"}
PLAIN = " !\"#$&'()*+,/:;<=>?@[]^`{|}~"
"""Characters that a header field holds as they are, beside letters and digits."""
_MEMBERS = (
    *("zone", "zones", "metric", "kind", "market", "by", "interval", "as_of", "published_before", "lead", "vintages"),
    *("known_since", "start", "end", "count", "truncated", "cursor_only", "attribution", "license", "sources", "gaps"),
    *("gaps_truncated", "sample"),
)
ENVELOPE_FIELDS = {member: f"X-EMDS-{member.replace('_', '-').title()}" for member in _MEMBERS}
"""The header of a CSV answer that tells a member of the envelope."""
COMPRESSIBLE = frozenset({"json", "csv", "arrow"})
"""Parquet is compressed inside, where it is long."""


def negotiate(wanted: str | None, accept: str) -> str:
    """The format of an answer: `?format=`, then Accept, then JSON. Raises Problem 406 that lists the media types."""
    if wanted in MEDIA:
        return wanted
    media = responses.accepted(accept, _TYPES_OF_ROWS) if accept else MEDIA["json"]
    if wanted is None and media is not None:
        return _FORMAT_OF[media]
    words = f"This path gives {', '.join(MEDIA.values())}." if wanted is None else f"format takes {', '.join(MEDIA)}."
    raise Problem("not-acceptable", words, members={"acceptable": [*MEDIA.values()]})


Encoded = tuple[bytes, list[tuple[str, str]]]
"""An answer's bytes, and the headers that belong to them."""


def envelope(page: Page) -> dict[str, Any]:
    """Everything in an answer but its rows, in the specification's order with our additions among them."""
    request = page.request
    members: dict[str, Any] = {"zones": list(request.zones)} if request.several else {"zone": request.zones[0]}
    members["metric"] = request.metric.value
    pick, since = request.pick, page.known_since
    asked = {  # as the parameters say it
        "kind": pick and "forecast",
        "market": "day_ahead" if request.day_ahead else None,
        "by": "border" if request.borders else None,
        "interval": request.interval,
        "as_of": request.as_of,
        "published_before": pick and pick.published_before,
        "lead": None if pick is None or pick.lead_s is None else f"{pick.lead_s / HOUR:g}h",
        "vintages": "all" if pick and pick.every else None,
        "known_since": (since if request.several else since[request.zones[0]]) if since else None,
    }
    members |= {name: value for name, value in asked.items() if value is not None}
    members |= {"start": page.start, "end": page.end, "count": page.count, "truncated": page.truncated}
    if page.cursor_only:
        members["cursor_only"] = True
    one = None if request.several else request.zones[0]
    for name in ("attribution", "license"):
        by_zone = {zone: getattr(terms, name) for zone, terms in page.terms.items()}
        members[name] = by_zone if one is None else by_zone[one]
    members["sources"] = list(page.sources)
    if request.pick is None:
        members["gaps"] = [
            ({"zone": zone} if one is None else {}) | {"start": gap.start, "end": gap.end}
            for zone, gap in page.gaps[:MOST_GAPS]
        ]
    if len(page.gaps) > MOST_GAPS:
        members["gaps_truncated"] = True
    if request.sample:
        members["sample"] = True
    return members


_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("ts", "samples", "published_at", "lead_s"), pa.int64()),
    **dict.fromkeys(("value", "coverage"), pa.float64()),
    "date": pa.date32(),
}
_COMPRESSED_FROM = 500
"""A Parquet answer of so many rows is compressed; one of 288 is 6.3 kB instead of 4.5, and written in half the time."""


def _table(columns: Mapping[str, Any]) -> pa.Table:
    types = {**_TYPES, **({"time": columns["time"].type} if "time" in columns else {})}
    schema = pa.schema([pa.field(name, types.get(name, pa.string())) for name in columns])
    return pa.Table.from_arrays([*columns.values()], schema=schema)


def _metadata(page: Page) -> dict[str, str]:
    """The envelope as a schema's metadata: each member as JSON, all of it as `emds`."""
    members = envelope(page)
    texts = {name: value if isinstance(value, str) else orjson.dumps(value).decode() for name, value in members.items()}
    return {**texts, "emds": orjson.dumps(members).decode()}


def _header_text(value: Any) -> str:
    """A member of the envelope as a header says it: a gap as `start/end`, what differs by zone as JSON."""
    if isinstance(value, list):
        return ",".join("/".join(map(str, part.values())) if isinstance(part, dict) else part for part in value)
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json(page: Page) -> Encoded:
    return b"".join((orjson.dumps(envelope(page))[:-1], b',"data":[', rows.text(page, "json"), b"]}")), []


def _csv(page: Page) -> Encoded:
    """The envelope becomes headers of the answer, Latin-1 at best: other characters as in a URL."""
    texts = ((ENVELOPE_FIELDS[name], _header_text(value)) for name, value in envelope(page).items())
    fields = [(field, quote(text, safe=PLAIN)) for field, text in texts]
    exposed = ("Access-Control-Expose-Headers", ", ".join(field for field, _ in fields))
    header = b",".join(b'"%b"' % name.encode() for name in rows.members_of(page))
    body = b"".join((header, b"\n", rows.text(page, "csv"), b"\n" if page.count else b""))
    return body, [*fields, exposed, _disposition(page, "csv")]


def _parquet(page: Page) -> Encoded:
    columns = rows.arrow_columns(page)
    out, table = pa.BufferOutputStream(), _table(columns)  # a file of Python's would take the global lock at each write
    writer = pq.ParquetWriter(
        out,
        table.schema,
        compression="zstd" if table.num_rows >= _COMPRESSED_FROM else "none",
        use_dictionary=[name for name in columns if name not in _TYPES and name != "time"],
        column_encoding={"ts": "DELTA_BINARY_PACKED"},
        store_schema=page.request.time == "local",  # Parquet's own types say all but a time zone
    )
    with writer:
        writer.write_table(table)
        writer.add_key_value_metadata(_metadata(page))
    return out.getvalue().to_pybytes(), [_disposition(page, "parquet")]


def _arrow(page: Page) -> Encoded:
    out, table = pa.BufferOutputStream(), _table(rows.arrow_columns(page)).replace_schema_metadata(_metadata(page))
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes(), [_disposition(page, "arrows")]


def _disposition(page: Page, extension: str) -> tuple[str, str]:
    request = page.request
    zone = "" if request.several else f"{request.zones[0]}_"
    what = request.metric.value if request.pick is None else forecast_of(request.metric).value
    return ("Content-Disposition", f'attachment; filename="{zone}{what}_{request.start}.{extension}"')


def encode(format_: str, page: Page) -> Encoded:
    """A page in one of `MEDIA`."""
    return {"json": _json, "csv": _csv, "parquet": _parquet, "arrow": _arrow}[format_](page)
