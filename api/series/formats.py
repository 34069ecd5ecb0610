"""A page of rows as bytes in one of four formats, the same rows in the same order, and which one a request gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from api.http.problems import Problem
from api.series.gaps import MOST as MOST_GAPS
from api.series.page import Page
from api.series.row_text import Pieces, csv_header, page_rows
from api.series.rows import Shape, arrow_columns, plain_columns
from warehouse.zones import ZONES

MEDIA: dict[str, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
"""Media type of each `format`, in the order of our liking."""
_TYPES_OF_ROWS = tuple(MEDIA.values())
_FORMAT_OF = {media: format_ for format_, media in MEDIA.items()}
_CONTENT_TYPE = {**MEDIA, "csv": "text/csv; charset=utf-8; header=present"}
PLAIN = " !\"#$&'()*+,/:;<=>?@[]^`{|}~"
"""What stands in a header field as it is, beside letters and digits."""
ENVELOPE_FIELDS = {
    member: f"X-EMDS-{member.replace('_', '-').title()}"
    for member in (
        "zone",
        "zones",
        "metric",
        "market",
        "by",
        "interval",
        "as_of",
        "known_since",
        "start",
        "end",
        "count",
        "truncated",
        "attribution",
        "license",
        "sources",
        "gaps",
        "gaps_truncated",
        "sample",
    )
}
"""The header of a CSV answer that tells a member of the envelope."""
COMPRESSIBLE = frozenset({"json", "csv", "arrow"})
"""Parquet is compressed inside, where it is long."""


@lru_cache(maxsize=1024)
def accepted(accept: str, types: tuple[str, ...]) -> str | None:
    """Of some media types the one that an Accept header likes best, the first of equals; None where it takes none."""
    ranges: list[tuple[str, float]] = []
    for member in accept.lower().split(","):
        name, *rest = (part.strip() for part in member.split(";"))
        weight = next((part[2:] for part in rest if part.startswith("q=")), "1")
        try:
            ranges.append((name, float(weight)))
        except ValueError:
            ranges.append((name, 0.0))
    best: str | None = None
    most = 0.0
    for media in types:
        matching = [(len(name.rstrip("*")), weight) for name, weight in ranges if _matches(name, media)]
        liked = max(matching)[1] if matching else 0.0
        if liked > most:
            best, most = media, liked
    return best


def _matches(name: str, media: str) -> bool:
    return name in ("*/*", "*", media) or (name.endswith("/*") and media.startswith(name[:-1]))


def negotiate(wanted: str | None, accept: str) -> str:
    """The format of an answer: `?format=`, then Accept, then JSON. Raises Problem 406 that lists the media types."""
    if wanted is not None:
        if wanted in MEDIA:
            return wanted
        raise Problem("not-acceptable", f"format takes {', '.join(MEDIA)}.", members={"acceptable": [*MEDIA.values()]})
    media = accepted(accept, _TYPES_OF_ROWS) if accept else MEDIA["json"]
    if media is None:
        raise Problem(
            "not-acceptable", f"This path gives {', '.join(MEDIA.values())}.", members={"acceptable": [*MEDIA.values()]}
        )
    return _FORMAT_OF[media]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer's bytes, and the headers that belong to them."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


def envelope(page: Page) -> dict[str, Any]:
    """Everything in an answer but its rows, in the specification's order with our additions among them."""
    query = page.query
    members: dict[str, Any] = {"zone": query.zone, "metric": query.metric.value}
    if query.day_ahead:
        members["market"] = "day_ahead"
    if query.borders:
        members["by"] = "border"
    if query.interval is not None:
        members["interval"] = query.interval
    if query.as_of is not None:
        members["as_of"] = query.as_of
    if page.known_since is not None:
        members["known_since"] = page.known_since
    members |= {
        "start": page.start,
        "end": page.end,
        "count": page.count,
        "truncated": page.truncated,
        "attribution": page.terms.attribution,
        "license": page.terms.license,
        "sources": list(page.sources),
    }
    gaps = page.gaps
    members["gaps"] = [{"start": gap.start, "end": gap.end} for gap in gaps[:MOST_GAPS]]
    if len(gaps) > MOST_GAPS:
        members["gaps_truncated"] = True
    if query.sample:
        members["sample"] = True
    return members


def columns(page: Page) -> dict[str, list[Any]]:
    """The rows as columns of plain values, named as JSON names them."""
    return plain_columns(page.rows, Shape.of(page), page.query, ZONES[page.query.zone].tz)


@dataclass(frozen=True, slots=True)
class Tabled:
    """An answer as a table: its envelope, its columns, and the name of the file without what stands behind the dot."""

    stated: Mapping[str, Any]
    columns: Mapping[str, Any]
    """As `api.series.rows.arrow_columns` gives them."""
    name: str


_TYPES: Mapping[str, Any] = {"ts": pa.int64(), "value": pa.float64(), "samples": pa.int64(), "coverage": pa.float64()}
_COMPRESSED_FROM = 500
"""A Parquet answer of so many rows is compressed; one of 288 is 6.3 kB instead of 4.5, and written in half the time."""


@lru_cache(maxsize=256)
def _schema(names: tuple[str, ...]) -> pa.Schema:
    return pa.schema([pa.field(name, _TYPES.get(name, pa.string())) for name in names])


def _rows(made: Tabled) -> pa.Table:
    """The rows as an Arrow table, without the envelope."""
    return pa.Table.from_arrays([*made.columns.values()], schema=_schema(tuple(made.columns)))


def _metadata(stated: Mapping[str, Any]) -> dict[str, str]:
    """The envelope as a schema's metadata: each member as JSON, all of it as `emds`."""
    texts = {name: value if isinstance(value, str) else orjson.dumps(value).decode() for name, value in stated.items()}
    return {**texts, "emds": orjson.dumps(stated).decode()}


def _header_text(value: Any) -> str:
    """A member of the envelope as a header says it: a gap as `start/end`, what differs by zone as JSON."""
    if isinstance(value, list):
        return ",".join("/".join(map(str, part.values())) if isinstance(part, dict) else part for part in value)
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return str(value).lower() if isinstance(value, bool) else str(value)


@lru_cache(maxsize=256)
def _field_text(text: str) -> str:
    """As a header field may hold it, Latin-1 at best: other characters as in a URL."""
    return quote(text, safe=PLAIN)


def _parquet(made: Tabled) -> Encoded:
    out, rows = pa.BufferOutputStream(), _rows(made)  # a file of Python's would take the global lock at each write
    writer = pq.ParquetWriter(
        out,
        rows.schema,
        compression="zstd" if rows.num_rows >= _COMPRESSED_FROM else "none",
        use_dictionary=[name for name in made.columns if name not in _TYPES and name != "time"],
        column_encoding={"ts": "DELTA_BINARY_PACKED"},
        store_schema=False,  # Parquet's own types say all that these columns are
    )
    with writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(_metadata(made.stated))
    return Encoded(out.getvalue().to_pybytes(), (_disposition(made.name, "parquet"),))


def _arrow(made: Tabled) -> Encoded:
    out, rows = pa.BufferOutputStream(), _rows(made).replace_schema_metadata(_metadata(made.stated))
    with pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_table(rows)
    return Encoded(out.getvalue().to_pybytes(), (_disposition(made.name, "arrows"),))


def _disposition(name: str, extension: str) -> tuple[str, str]:
    return "Content-Disposition", f'attachment; filename="{name}.{extension}"'


_WRITERS: dict[str, Callable[[Tabled], Encoded]] = {"parquet": _parquet, "arrow": _arrow}


def encode(format_: str, page: Page) -> Encoded:
    """A page in one of `MEDIA`."""
    query, stated = page.query, envelope(page)
    if format_ == "json":
        return in_json(stated, page_rows(page, "json"))
    shape, name = Shape.of(page), f"{query.zone}_{query.metric.value}_{query.start}"
    if format_ == "csv":
        return in_csv(stated, csv_header(shape, query, of_zones=False), page_rows(page, "csv"), name)
    return tabled(format_, Tabled(stated, arrow_columns(page.rows, shape, query, ZONES[query.zone].tz), name))


def in_json(stated: Mapping[str, Any], rows: Pieces) -> Encoded:
    """An envelope with rows that are JSON already, commas between them."""
    return Encoded(b"".join((orjson.dumps(stated)[:-1], b',"data":[', *rows, b"]}")), ())


def in_csv(stated: Mapping[str, Any], header: bytes, rows: Pieces, name: str) -> Encoded:
    """Rows that are lines of CSV already, below a header; the envelope becomes headers of the answer."""
    texts = {member: _header_text(value) for member, value in stated.items()}
    headers = [(ENVELOPE_FIELDS[member], _field_text(text)) for member, text in texts.items()]
    exposed = ("Access-Control-Expose-Headers", ", ".join(field for field, _ in headers))
    body = b"".join((header, b"\n", *rows, b"\n" if any(rows) else b""))
    return Encoded(body, (*headers, exposed, _disposition(name, "csv")))


def tabled(format_: str, made: Tabled) -> Encoded:
    """A table in Parquet or as an Arrow stream."""
    return _WRITERS[format_](made)


def content_type(format_: str) -> str:
    """The Content-Type of a format."""
    return _CONTENT_TYPE[format_]
