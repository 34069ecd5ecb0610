"""The rows of a page as columns of plain values, as Arrow arrays, or as the text of JSON or CSV.

Text is written straight from columns; no row becomes an object of Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

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


class Shape(NamedTuple):
    """Which members the rows of a page have beside ts, value, unit and resolution."""

    zone: bool
    fuel: bool
    border: bool
    source: bool
    date: bool
    time: bool
    means: bool
    vintage: bool

    @classmethod
    def of_page(cls, page: Page) -> Shape:
        request = page.request
        return cls(
            request.several,
            request.metric in BY_FUEL,
            request.borders,
            len(page.sources) > 1,
            request.interval in CIVIL,
            request.time is not None,
            request.interval is not None,
            request.pick is not None,
        )

    @property
    def members(self) -> tuple[str, ...]:
        """Their names, in the order of an answer."""
        return (
            *(("zone",) if self.zone else ()),
            *(("fuel",) if self.fuel else ()),
            "ts",
            *(("date",) if self.date else ()),
            *(("time",) if self.time else ()),
            *("value", "unit", "resolution"),
            *(("counterparty", "link") if self.border else ()),
            *(("source",) if self.source else ()),
            *(("basis",) if self.vintage else ()),
            *self.numbers,
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those that are numbers of each row."""
        return ("samples", "coverage") if self.means else ("published_at", "lead_s") if self.vintage else ()


def plain_columns(page: Page) -> dict[str, list[Any]]:
    """The rows as columns of plain values, named as JSON names them."""
    codes = page.rows.label.tolist()

    def words(name: str) -> list[Any]:
        if name == "zone":
            return [page.request.zones[place] for place in page.place.tolist()]
        each = [getattr(label, name) for label in page.rows.labels]
        return [each[code] for code in codes]

    return _columns(page, words, np.ndarray.tolist, lambda: _times(page))


def arrow_columns(page: Page) -> dict[str, Any]:
    """As `plain_columns`, as Arrow arrays: no value becomes an object."""

    def words(name: str) -> Any:
        if name == "zone":
            return pa.array(page.request.zones, pa.string()).take(pa.array(page.place))
        each = [getattr(label, name) for label in page.rows.labels]
        if len({*each}) == 1:
            return _repeated(each[0], page.count)
        return pa.array(each, pa.string()).take(pa.array(page.rows.label))

    columns = _columns(page, words, pa.array, lambda: _timestamps(page))
    return columns | ({"date": pa.array(columns["date"], pa.string()).cast(pa.date32())} if "date" in columns else {})


@lru_cache(maxsize=32)
def _repeated(word: str | None, count: int) -> Any:
    """One word for all rows; cached, since days and whole pages have the same few lengths. At most 2 MB together."""
    return pa.repeat(pa.scalar(word, pa.string()), count)


def _columns(
    page: Page, words: Callable[[str], Any], numbers: Callable[[Any], Any], times: Callable[[], Any]
) -> dict[str, Any]:
    rows, named = page.rows, dict[str, Any]()
    counted = {"ts": rows.ts, "value": rows.value, **_numbers_of_rows(rows)}
    for name in Shape.of_page(page).members:
        if name == "time":
            named[name] = times()
        elif name == "date":
            named[name] = _dates(page)
        elif name in counted:
            column = counted[name]
            named[name] = numbers(np.empty(0) if column is None else column)
        else:
            named[name] = words(name)
    return named


def _numbers_of_rows(rows: RowColumns) -> dict[str, Any]:
    """Columns of means and of forecasts; None where the rows are neither, or there are none.

    `lead_s`: seconds from a forecast's publication to the start of its interval, below 0 for one that had begun.
    """
    lead = None if rows.published_at is None else rows.ts - rows.published_at
    return {
        "samples": rows.samples,
        "coverage": rows.coverage,
        "published_at": rows.published_at,
        "lead_s": lead,
    }


def _times(page: Page) -> list[str]:
    """Each row's `time`, in UTC or in the civil time of its zone."""
    return rfc3339(page.rows.ts, page.request.time or "utc", _civil_times(page))


def _dates(page: Page) -> list[str]:
    """The civil day on which each row's interval begins."""
    return [time[:10] for time in rfc3339(page.rows.ts, "local", _civil_times(page))]


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


class _Frame(NamedTuple):
    """The bytes before a row's `ts` and behind it, with `%b` for each member that varies within a label."""

    before: bytes
    behind: bytes


def text(page: Page, notation: Notation) -> bytes:
    """The rows as JSON objects with commas between them, or as lines of CSV."""
    rows, shape = page.rows, Shape.of_page(page)
    if not len(rows):
        return b""
    if page.place is None:
        frames, codes = [_frame(notation, label, shape, None) for label in rows.labels], rows.label.tolist()
    else:
        labels, codes = _labels_of_zones(page)
        frames = [_frame(notation, label, shape, zone) for label, zone in labels]
    if len(frames) == 1 and not shape.time and not shape.numbers:
        return _render_uniform(frames[0], rows, notation)
    return _render_mixed(frames, codes, _fields(page, notation), _BETWEEN[notation])


def _labels_of_zones(page: Page) -> tuple[list[tuple[RowLabels, str]], list[int]]:
    """Each label with its zone, as far as there are rows of both, and which of them each row has."""
    rows = page.rows
    pairs = page.place * len(rows.labels) + rows.label
    (used,) = np.bincount(pairs, minlength=1).nonzero()  # not np.unique, which sorts all rows
    codes = np.empty(used[-1] + 1, np.int64)
    codes[used] = np.arange(len(used))
    names = [divmod(pair, len(rows.labels)) for pair in used.tolist()]
    return [(rows.labels[label], page.request.zones[zone]) for zone, label in names], codes[pairs].tolist()


def _render_uniform(frame: _Frame, rows: RowColumns, notation: Notation) -> bytes:
    """Render rows that differ in `ts` and `value` alone: the text of every `ts` becomes the template of all values."""
    before, behind = frame
    template = before + _numbers(rows.ts).replace(b",", behind + _BETWEEN[notation] + before) + behind
    return template % tuple(_values(rows.value, notation).split(b","))


def _render_mixed(
    frames: Sequence[_Frame], codes: Sequence[int], columns: Sequence[Sequence[bytes]], between: bytes
) -> bytes:
    """Fill each row's frame from its columns; any other way makes more objects a row."""
    fields = [b""] * (len(columns) * len(codes))
    for at, column in enumerate(columns):
        fields[at :: len(columns)] = column
    templates = [frame.before + b"%b" + frame.behind for frame in frames]
    return between.join([templates[code] for code in codes]) % tuple(fields)


def _fields(page: Page, notation: Notation) -> list[Sequence[bytes]]:
    """Return the texts that fill the frames, column by column."""
    rows = page.rows
    numbers = [rows.ts, rows.value, *(column for column in _numbers_of_rows(rows).values() if column is not None)]
    fields: list[Sequence[bytes]] = [_values(column, notation).split(b",") for column in numbers]
    shape = Shape.of_page(page)
    for words in (*([_dates(page)] if shape.date else []), *([_times(page)] if shape.time else []))[::-1]:
        fields.insert(1, [word.encode() for word in words])
    return fields


def _numbers(column: Any) -> bytes:
    """Numbers with commas between them, each as JSON writes it: the shortest text that reads back as the same number.

    What is no number is `null`.
    """
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]


def _values(column: Any, notation: Notation) -> bytes:
    """As `_numbers`; what is no number is empty in CSV."""
    numbers = _numbers(column)
    return numbers if notation == "json" else numbers.replace(b"null", b"")


@lru_cache(maxsize=2048)
def _frame(notation: Notation, label: RowLabels, shape: Shape, zone: str | None) -> _Frame:
    first: dict[str, str | None] = {"zone": zone} if zone is not None else {}
    if shape.fuel:
        first["fuel"] = label.fuel
    rest: dict[str, str | None] = {"unit": label.unit, "resolution": label.resolution}
    if shape.border:
        rest |= {"counterparty": label.counterparty, "link": label.link}
    if shape.source:
        rest["source"] = label.source
    if shape.vintage:
        rest["basis"] = label.basis
    return (_json_frame if notation == "json" else _csv_frame)(first, rest, shape)


def _json_frame(first: Mapping[str, str | None], rest: Mapping[str, str | None], shape: Shape) -> _Frame:
    stamp = (b',"date":"%b"' if shape.date else b"") + (b',"time":"%b"' if shape.time else b"")
    numbers = b"".join(b',"%b":%%b' % name.encode() for name in shape.numbers)
    head = b"{" + _escaped(orjson.dumps(first)[1:-1]) + b"," if first else b"{"
    return _Frame(head + b'"ts":', stamp + b',"value":%b,' + _escaped(orjson.dumps(rest)[1:-1]) + numbers + b"}")


def _csv_frame(first: Mapping[str, str | None], rest: Mapping[str, str | None], shape: Shape) -> _Frame:
    before = b"".join(_escaped(_csv_word(word)) + b"," for word in first.values())
    behind = b"".join(b"," + _escaped(_csv_word(word)) for word in rest.values())
    return _Frame(before, b',"%b"' * (shape.date + shape.time) + b",%b" + behind + b",%b" * len(shape.numbers))


def csv_header(page: Page) -> bytes:
    """The first line of a CSV answer: its columns, named as JSON names them."""
    return b",".join(map(_csv_word, Shape.of_page(page).members))


def _csv_word(word: str | None) -> bytes:
    """A text as RFC 4180 quotes it; nothing at all where there is none."""
    return b"" if word is None else b'"%b"' % word.replace('"', '""').encode()


def _escaped(text: bytes) -> bytes:
    """Text that `%` leaves as it is."""
    return text.replace(b"%", b"%%")
