"""The rows of a page as columns of plain values, as Arrow arrays, or as the text of JSON or CSV.

Text is written straight from columns; no row becomes an object of Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import orjson
import pyarrow as pa

from api.series.page import Page
from api.series.query import TimeStyle
from warehouse.figures.resample import CIVIL
from warehouse.market.clock import zone_of
from warehouse.market.metrics import BY_FUEL
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Ints, RowLabels
from warehouse.series.reader import RowColumns

Notation = Literal["json", "csv"]
_BETWEEN: Mapping[Notation, bytes] = {"json": b",", "csv": b"\n"}
"""The separator of rows."""


def members_of(page: Page) -> tuple[str, ...]:
    """The members of each row, in the order of an answer."""
    request = page.request
    return (
        *(("zone",) if request.several else ()),
        *(("fuel",) if request.metric in BY_FUEL else ()),
        "ts",
        *(("date",) if request.interval in CIVIL else ()),
        *(("time",) if request.time is not None else ()),
        *("value", "unit", "resolution"),
        *(("counterparty", "link") if request.borders else ()),
        *(("source",) if len(page.sources) > 1 else ()),
        *(("samples", "coverage") if request.interval is not None else ()),
        *(("basis", "published_at", "lead_s") if request.pick is not None else ()),
    )


def plain_columns(page: Page) -> dict[str, list[Any]]:
    """The rows as columns of plain values, named as JSON names them."""
    columns = {name: column.to_pylist() for name, column in arrow_columns(page).items()}
    return columns | {name: spell(page) for name, spell in _SPELLED.items() if name in columns}


def arrow_columns(page: Page) -> dict[str, Any]:
    """The rows as Arrow arrays: no value becomes an object."""
    columns = dict[str, Any]()
    for name in members_of(page):
        if name == "time":
            columns[name] = _timestamps(page)
        elif name == "date":
            columns[name] = pa.array(_SPELLED["date"](page), pa.string()).cast(pa.date32())
        elif name in _NUMBERS:
            columns[name] = pa.array(_numbers_of_rows(page.rows, name))
        elif name == "zone":
            columns[name] = pa.array(page.request.zones, pa.string()).take(pa.array(page.place))
        else:
            words = pa.array([getattr(label, name) for label in page.rows.labels], pa.string())
            columns[name] = words.take(pa.array(page.rows.label))
    return columns


def _numbers_of_rows(rows: RowColumns, name: str) -> Any:
    """A column of numbers; empty where there are no rows.

    `lead_s`: seconds from a forecast's publication to the start of its interval, below 0 for one that had begun.
    """
    if name == "lead_s":
        return np.empty(0) if rows.published_at is None else rows.ts - rows.published_at
    column = getattr(rows, name)
    return np.empty(0) if column is None else column


def _civil_times(page: Page) -> list[str]:
    """The tz database name of each row's zone."""
    zones = [ZONES[zone].tz for zone in page.request.zones]
    return zones * page.count if page.place is None else [zones[place] for place in page.place.tolist()]


def _timestamps(page: Page) -> Any:
    """Each row's `time` as an Arrow timestamp: in UTC, or for `local` in the civil time that all its zones share."""
    clocks = {ZONES[zone].tz for zone in page.request.zones} if page.request.time == "local" else set()
    tz = clocks.pop() if len(clocks) == 1 else "UTC"
    return pa.array(page.rows.ts * 1000, pa.int64()).cast(pa.timestamp("ms", tz))


def rfc3339(ts: Ints, style: TimeStyle, tz: Sequence[str]) -> list[str]:
    """`2026-10-25T00:00:00Z`, or with `local` the wall clock of each row's `tz` with its offset."""
    if style == "utc":
        return [f"{text}Z" for text in np.datetime_as_string(ts.astype("datetime64[s]")).tolist()]
    return [datetime.fromtimestamp(at, zone_of(name)).isoformat() for at, name in zip(ts.tolist(), tz, strict=True)]


_SPELLED: dict[str, Callable[[Page], list[str]]] = {
    "date": lambda page: [time[:10] for time in rfc3339(page.rows.ts, "local", _civil_times(page))],
    "time": lambda page: rfc3339(page.rows.ts, page.request.time or "utc", _civil_times(page)),
}
"""The civil day on which a row's interval begins; its `time`, in UTC or in the civil time of its zone."""
_NUMBERS = frozenset({"ts", "value", "samples", "coverage", "published_at", "lead_s"})


def text(page: Page, notation: Notation) -> bytes:
    """The rows as JSON objects with commas between them, or as lines of CSV.

    Each row's template, in which only what varies within its label is left open, is filled from the columns: any other
    way makes more objects a row.
    """
    rows, members = page.rows, members_of(page)
    if not len(rows):
        return b""
    if page.place is None:
        templates, codes = [_template(notation, label, members, None) for label in rows.labels], rows.label.tolist()
    else:
        labels, codes = _labels_of_zones(page)
        templates = [_template(notation, label, members, zone) for label, zone in labels]
    columns = [_texts(page, name, notation) for name in members if name in _NUMBERS or name in _SPELLED]
    fields = [b""] * (len(columns) * len(codes))
    for at, column in enumerate(columns):
        fields[at :: len(columns)] = column
    return _BETWEEN[notation].join([templates[code] for code in codes]) % tuple(fields)


def _labels_of_zones(page: Page) -> tuple[list[tuple[RowLabels, str]], list[int]]:
    """Each label with its zone, as far as there are rows of both, and which of them each row has."""
    rows = page.rows
    used, codes = np.unique(page.place * len(rows.labels) + rows.label, return_inverse=True)
    names = [divmod(pair, len(rows.labels)) for pair in used.tolist()]
    return [(rows.labels[label], page.request.zones[zone]) for zone, label in names], codes.tolist()


def _texts(page: Page, name: str, notation: Notation) -> list[bytes]:
    """A column as text: a number as JSON writes it, the shortest text that reads back as the same number.

    What is no number is `null`, and empty in CSV.
    """
    if name in _SPELLED:
        return [word.encode() for word in _SPELLED[name](page)]
    column = np.ascontiguousarray(_numbers_of_rows(page.rows, name))
    numbers = orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return (numbers if notation == "json" else numbers.replace(b"null", b"")).split(b",")


@lru_cache(maxsize=2048)
def _template(notation: Notation, label: RowLabels, members: tuple[str, ...], zone: str | None) -> bytes:
    """A row's text, with `%b` for each member that varies within a label."""
    words = []
    for name in members:
        if name in _NUMBERS:
            word = b"%b"
        elif name in _SPELLED:
            word = b'"%b"'
        else:
            fixed = zone if name == "zone" else getattr(label, name)
            quoted = '"{}"'.format(fixed.replace('"', '""')) if fixed is not None else ""  # as RFC 4180 quotes it
            word = (orjson.dumps(fixed) if notation == "json" else quoted.encode()).replace(b"%", b"%%")
        words.append(word if notation == "csv" else b'"%b":%b' % (name.encode(), word))
    return b",".join(words) if notation == "csv" else b"{%b}" % b",".join(words)
