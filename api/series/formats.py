"""Encode a page in one of four formats, with the same rows in the same order.

Text is written directly from columns, without a Python object per row.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict

from api.series.page import MOST_GAPS, Page
from warehouse.figures.resample import CIVIL
from warehouse.market import carbon
from warehouse.market.clock import HOUR, zone_of
from warehouse.market.metrics import BY_FUEL
from warehouse.market.vocabulary import Metric, forecast_of
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels

MEDIA: dict[str, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
"""The media type of each `format`, in order of preference."""
FORMAT_OF = {media: format_ for format_, media in MEDIA.items()}
CONTENT_TYPE = {**MEDIA, "csv": "text/csv; charset=utf-8; header=present"}
PLAIN = " !\"#$&'()*+,/:;<=>?@[]^`{|}~"
"""The characters besides letters and digits that a header field contains unescaped."""
_MEMBERS = (
    *("zone", "zones", "metric", "kind", "market", "by", "interval", "as_of", "published_before", "lead", "vintages"),
    *(
        "basis",
        "includes_imports",
        "method",
        "factors",
        "known_since",
        "start",
        "end",
        "count",
        "truncated",
        "cursor_only",
        "attribution",
        "license",
        "sources",
        "gaps",
    ),
    *("gaps_truncated", "filling", "sample"),
)
ENVELOPE_FIELDS = {member: f"X-EMDS-{member.replace('_', '-').title()}" for member in _MEMBERS}
"""The header of a CSV response for each field of the envelope."""
COMPRESSIBLE = frozenset({"json", "csv", "arrow"})
"""The formats that are compressed in transit. Long Parquet files are compressed inside."""


Encoded = tuple[bytes, list[tuple[str, str]]]
"""The bytes of a response, and the headers that belong to them."""


def envelope(page: Page) -> dict[str, Any]:
    """Return a response without its rows, with fields in the specification's order and further fields in between."""
    request, pick, since, terms = page.request, page.request.pick, page.known_since, page.terms
    one, following = None if request.several else request.zones[0], page.following
    # If the limit is below the rows of a time, a window that starts at `end` would give the same page again.
    cursor_only = following is not None and len(page.rows) > 0 and following.ts == int(page.rows.ts[-1])
    filling = {zone: asdict(progress) for zone, progress in page.filling.items()}
    members = {  # parameters as they are sent; None is omitted
        "zone": one,
        "zones": None if one else list(request.zones),
        "metric": request.metric.value,
        "kind": pick and "forecast",
        "market": "day_ahead" if request.day_ahead else None,
        "by": "border" if request.borders else None,
        "interval": request.interval,
        "as_of": request.as_of,
        "published_before": pick and pick.published_before,
        "lead": None if pick is None or pick.lead_s is None else f"{pick.lead_s / HOUR:g}h",
        "vintages": "all" if pick and pick.every else None,
        **_carbon(page),
        "known_since": (since[one] if one else since) if since else None,
        "start": page.start,
        "end": page.end,
        "count": len(page.rows),
        "truncated": page.truncated,
        "cursor_only": cursor_only or None,
        "attribution": terms[one]["attribution"] if one else {zone: own["attribution"] for zone, own in terms.items()},
        "license": terms[one]["license"] if one else {zone: own["license"] for zone, own in terms.items()},
        "sources": list(page.sources),
        "gaps": None if pick else [
            {name: value for name, value in gap._asdict().items() if value is not None and (name != "zone" or not one)}
            for gap in page.gaps[:MOST_GAPS]
        ],
        "gaps_truncated": len(page.gaps) > MOST_GAPS or None,
        "filling": (filling.get(one) if one else filling) or None,
        "sample": request.sample or None,
    }  # fmt: skip
    return {name: value for name, value in members.items() if value is not None}


def _carbon(page: Page) -> dict[str, Any]:
    """Return the fields of `carbon` responses: whether values are published or estimated, and how.

    They are by zone if there are several zones; `method` and `factors` are those of estimates.
    """
    request, method = page.request, carbon.factor_set(carbon.CURRENT_SET).method
    if request.metric is not Metric.CARBON:
        return {}
    by_zone: dict[str, dict[str, Any]] = defaultdict(dict)
    for zone, stored in zip(request.zones, request.stored, strict=True):
        members: dict[str, Any] = {**ZONES[zone].describe_carbon(stored)}
        if zone in page.factors:
            members |= {"method": method, "factors": page.factors[zone]}
        for name, value in members.items():
            by_zone[name][zone] = value
    return by_zone if request.several else {name: of[request.zones[0]] for name, of in by_zone.items()}


_COMPRESSED_FROM = 500
"""The number of rows from which Parquet is compressed. Plain, 288 rows take 6.3 kB instead of 4.5 and half the time."""


def _metadata(page: Page) -> dict[str, str]:
    """Return the envelope as a schema's metadata: each field as JSON, and all of it as `emds`."""
    members = envelope(page)
    texts = {name: value if isinstance(value, str) else orjson.dumps(value).decode() for name, value in members.items()}
    return {**texts, "emds": orjson.dumps(members).decode()}


def _header_text(value: Any) -> str:
    """Return a field of the envelope as header text: a gap as `start/end`, values by zone as JSON."""
    if isinstance(value, list):
        return ",".join("/".join(map(str, part.values())) if isinstance(part, dict) else part for part in value)
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return str(value).lower() if isinstance(value, bool) else str(value)


def members_of(page: Page) -> tuple[str, ...]:
    """Return the fields of each row, in the order of a response."""
    request = page.request
    return (
        *(("zone",) if request.several else ()),
        *(("fuel",) if request.metric in BY_FUEL else ()),
        "ts",
        *(("date",) if request.interval in CIVIL else ()),
        *(("time",) if request.time is not None else ()),
        *("value", "unit", "resolution"),
        *(("low", "high", "factors") if Metric.CARBON_ESTIMATE in request.stored else ()),
        *(("counterparty", "link") if request.borders else ()),
        *(("source",) if len(page.sources) > 1 else ()),
        *(("samples", "coverage") if request.interval is not None else ()),
        *(("basis", "published_at", "lead_s") if request.pick is not None else ()),
    )


_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("ts", "samples", "published_at", "lead_s"), np.int64),
    **dict.fromkeys(("value", "low", "high", "coverage"), np.float64),
}
"""The fields that are numbers, with their types."""


def _numbers(page: Page, name: str) -> Any:
    """Return a column of numbers.

    `lead_s` has the seconds from a forecast's publication to the start of its interval, below 0 if it had started.
    """
    rows: Any = page.rows
    if not len(rows):
        return np.empty(0, _NUMBERS[name])
    if name in _BOUNDS:
        return np.full(len(rows), np.nan) if rows.bounds is None else rows.bounds[:, _BOUNDS.index(name)]
    return rows.ts - rows.published_at if name == "lead_s" else getattr(rows, name)


_BOUNDS = ("low", "high")
_SPELLED = ("date", "time")
"""The fields that are written as text for each row."""


def _spell(page: Page, name: str) -> list[str]:
    """Return the civil day on which each interval starts, or its `time` in UTC, or in civil time with its offset."""
    if name == "time" and page.request.time != "local":
        return [f"{text}Z" for text in np.datetime_as_string(page.rows.ts.astype("datetime64[s]")).tolist()]
    clocks = [zone_of(ZONES[zone].tz) for zone in page.request.zones]
    rows = zip(page.rows.ts.tolist(), page.place.tolist(), strict=True)
    times = [datetime.fromtimestamp(ts, clocks[place]).isoformat() for ts, place in rows]
    return [time[:10] for time in times] if name == "date" else times


def plain_columns(page: Page) -> dict[str, list[Any]]:
    """Return the rows as columns of plain values, with the names of JSON."""
    columns = {name: _arrow_column(page, name).to_pylist() for name in members_of(page)}
    return columns | {name: _spell(page, name) for name in _SPELLED if name in columns}


def _arrow_column(page: Page, name: str) -> Any:
    """Return a column as an Arrow array, without an object per value."""
    if name == "time":  # in UTC, or in the civil time that all zones share
        clocks = {ZONES[zone].tz for zone in page.request.zones} if page.request.time == "local" else set()
        tz = clocks.pop() if len(clocks) == 1 else "UTC"
        return pa.array(page.rows.ts * 1000).cast(pa.timestamp("ms", tz))
    if name == "date":
        return pa.array(_spell(page, name), pa.string()).cast(pa.date32())
    if name in _NUMBERS:
        return pa.array(_numbers(page, name), from_pandas=name in _BOUNDS)
    if name == "zone":
        return pa.array(page.request.zones, pa.string()).take(pa.array(page.place))
    return pa.array([getattr(label, name) for label in page.rows.labels], pa.string()).take(pa.array(page.rows.label))


def text(page: Page, notation: Literal["json", "csv"]) -> bytes:
    """Return the rows as JSON objects with commas between them, or as lines of CSV.

    The columns fill each row's template, which is open only for fields that vary within its label. Any other way
    creates more objects per row.
    """
    rows, members, zones = page.rows, members_of(page), page.request.zones
    if not len(rows):
        return b""
    codes = page.place * len(rows.labels) + rows.label
    templates = {
        code: _template(notation, rows.labels[code % len(rows.labels)], members, zones[code // len(rows.labels)])
        for code in np.bincount(codes).nonzero()[0].tolist()
    }
    one = len(templates) == 1
    lines = [*templates.values()] * len(rows) if one else [templates[code] for code in codes.tolist()]
    columns = [_texts(page, name, notation) for name in members if name in _NUMBERS or name in _SPELLED]
    fields = [b""] * (len(columns) * len(rows))
    for at, column in enumerate(columns):
        fields[at :: len(columns)] = column
    return (b"," if notation == "json" else b"\n").join(lines) % tuple(fields)


def _texts(page: Page, name: str, notation: Literal["json", "csv"]) -> list[bytes]:
    """Return a column as text, with numbers as in JSON: the shortest text that reads back as the same number.

    A missing number is `null`, and empty in CSV.
    """
    if name in _SPELLED:
        return [word.encode() for word in _spell(page, name)]
    numbers = orjson.dumps(np.ascontiguousarray(_numbers(page, name)), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return (numbers if notation == "json" else numbers.replace(b"null", b"")).split(b",")


@lru_cache(maxsize=2048)
def _template(notation: Literal["json", "csv"], label: RowLabels, members: tuple[str, ...], zone: str) -> bytes:
    """Return a row's text, with `%b` for each field that varies within a label."""
    words = []
    for name in members:
        if name in _NUMBERS:
            word = b"%b"
        elif name in _SPELLED:
            word = b'"%b"'
        else:
            fixed = zone if name == "zone" else getattr(label, name)
            quoted = '"{}"'.format(fixed.replace('"', '""')) if fixed is not None else ""  # quoted as in RFC 4180
            word = (orjson.dumps(fixed) if notation == "json" else quoted.encode()).replace(b"%", b"%%")
        words.append(word if notation == "csv" else b'"%b":%b' % (name.encode(), word))
    return b",".join(words) if notation == "csv" else b"{%b}" % b",".join(words)


def encode(format_: str, page: Page) -> Encoded:
    """Return a page in one of `MEDIA`."""
    return {"json": _json, "csv": _csv, "parquet": _parquet, "arrow": _arrow}[format_](page)


def _json(page: Page) -> Encoded:
    return b"".join((orjson.dumps(envelope(page))[:-1], b',"data":[', text(page, "json"), b"]}")), []


def _csv(page: Page) -> Encoded:
    """Return a page as CSV, with the envelope in Latin-1 headers; other characters are escaped as in a URL."""
    texts = ((ENVELOPE_FIELDS[name], _header_text(value)) for name, value in envelope(page).items())
    fields = [(field, quote(text, safe=PLAIN)) for field, text in texts]
    exposed = ("Access-Control-Expose-Headers", ", ".join(field for field, _ in fields))
    header = b",".join(b'"%b"' % name.encode() for name in members_of(page))
    body = b"".join((header, b"\n", text(page, "csv"), b"\n" if len(page.rows) else b""))
    return body, [*fields, exposed, _disposition(page, "csv")]


def _parquet(page: Page) -> Encoded:
    out, table = pa.BufferOutputStream(), _table(page)  # a Python file would take the global lock at each write
    # Parquet's own types lack only a time zone. Readers take a stored schema's metadata for that of the file.
    stores_schema, metadata = page.request.time == "local", _metadata(page)
    if stores_schema:
        table = table.replace_schema_metadata(metadata)
    writer = pq.ParquetWriter(
        out,
        table.schema,
        compression="zstd" if table.num_rows >= _COMPRESSED_FROM else "none",
        use_dictionary=[field.name for field in table.schema if field.type == pa.string()],
        column_encoding={"ts": "DELTA_BINARY_PACKED"},
        store_schema=stores_schema,
    )
    with writer:
        writer.write_table(table)
        if not stores_schema:
            writer.add_key_value_metadata(metadata)
    return out.getvalue().to_pybytes(), [_disposition(page, "parquet")]


def _arrow(page: Page) -> Encoded:
    out, table = pa.BufferOutputStream(), _table(page).replace_schema_metadata(_metadata(page))
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes(), [_disposition(page, "arrows")]


def _table(page: Page) -> pa.Table:
    return pa.table({name: _arrow_column(page, name) for name in members_of(page)})


def _disposition(page: Page, extension: str) -> tuple[str, str]:
    request = page.request
    zone = "" if request.several else f"{request.zones[0]}_"
    what = request.metric.value if request.pick is None else forecast_of(request.metric).value
    return ("Content-Disposition", f'attachment; filename="{zone}{what}_{request.start}.{extension}"')
