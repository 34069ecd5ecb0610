"""A page of rows as JSON text, written straight from columns; no row becomes a dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from api.series import times
from api.series.page import Page
from api.series.query import Query
from warehouse.market import Metric
from warehouse.reader import RowColumns
from warehouse.versions import Ints, RowLabels
from warehouse.zones import ZONES

_WITH_FUEL = frozenset({Metric.GENERATION, Metric.CAPACITY})
_MANY = 500
"""From so many rows on it pays to set the text of every `ts` at once."""
_DIGITS, _FIRST, _LAST = 10, 10**9, 10**10 - 1
"""Instants from 2001 to 2286 have ten digits."""

Pieces = Sequence[bytes | bytearray]
"""Parts of one text in their order: a long text is put together once, with what stands around it."""


class Shape(NamedTuple):
    """Which members the rows of an answer have beside ts, value, unit and resolution."""

    fuel: bool
    border: bool
    source: bool

    @classmethod
    def of(cls, page: Page) -> Shape:
        return cls.of_query(page.query, len(page.sources) > 1)

    @classmethod
    def of_query(cls, query: Query, source: bool) -> Shape:
        return cls(query.metric in _WITH_FUEL, query.borders, source)


def plain_columns(rows: RowColumns, shape: Shape, query: Query, tz: str | Sequence[str]) -> dict[str, list[Any]]:
    """Rows as columns of plain values, named as JSON names them; `tz` of all rows, or of each."""
    codes = rows.label.tolist()

    def words(name: str) -> list[Any]:
        each = [getattr(label, name) for label in rows.labels]
        return [each[code] for code in codes]

    return _columns(rows, shape, query, tz, words, np.ndarray.tolist)


def arrow_columns(rows: RowColumns, shape: Shape, query: Query, tz: str | Sequence[str]) -> dict[str, Any]:
    """As `plain_columns`, as Arrow arrays: no value becomes an object."""

    def words(name: str) -> Any:
        each = [getattr(label, name) for label in rows.labels]
        if len({*each}) == 1:
            return pa.repeat(pa.scalar(each[0], pa.string()), len(rows))
        return pa.array(each, pa.string()).take(pa.array(rows.label))

    return _columns(rows, shape, query, tz, words, pa.array)


def _columns(
    rows: RowColumns,
    shape: Shape,
    query: Query,
    tz: str | Sequence[str],
    words: Callable[[str], Any],
    numbers: Callable[[Any], Any],
) -> dict[str, Any]:
    named: dict[str, Any] = {"fuel": words("fuel")} if shape.fuel else {}
    named["ts"] = numbers(rows.ts)
    if query.time is not None:
        named["time"] = times.written(rows.ts, query.time, tz)
    named["value"] = numbers(rows.value)
    texts = ["unit", "resolution", *(["counterparty", "link"] if shape.border else [])]
    named |= {name: words(name) for name in [*texts, *(["source"] if shape.source else [])]}
    if query.interval is not None:
        means = {"samples": rows.samples, "coverage": rows.coverage}
        named |= {name: numbers(np.empty(0) if column is None else column) for name, column in means.items()}
    return named


def json_rows(page: Page) -> Pieces:
    """The rows of a page as JSON objects with commas between them."""
    tz, shape = ZONES[page.query.zone].tz, Shape.of(page)
    pieces: list[bytes | bytearray] = []
    for part in filter(len, page.parts):
        if pieces:
            pieces.append(b",")
        pieces += _objects(part, shape, page.query, tz)
    return pieces


def json_rows_of_zones(rows: RowColumns, place: Ints, zones: Sequence[str], shape: Shape, query: Query) -> Pieces:
    """Rows of several zones as JSON objects with commas between them; row i is of `zones[place[i]]`."""
    pairs = place * len(rows.labels) + rows.label
    (used,) = np.bincount(pairs, minlength=1).nonzero()  # not np.unique, which sorts all rows
    codes = np.empty(used[-1] + 1 if len(used) else 0, np.int64)
    codes[used] = np.arange(len(used))
    names = [divmod(pair, len(rows.labels)) for pair in used.tolist()]
    timed, means = query.time is not None, query.interval is not None
    frames = [_frame(rows.labels[label], shape, timed, means, zones[zone]) for zone, label in names]
    tz = [ZONES[zone].tz for zone in zones]
    each = [tz[at] for at in place.tolist()] if timed else ""
    return [_filled(frames, codes[pairs].tolist(), _texts(rows, query, each))]


class _Frame(NamedTuple):
    """What stands before a row's `ts`, and what behind, with `%b` for each further member that no label says."""

    before: bytes
    behind: bytes


def _objects(rows: RowColumns, shape: Shape, query: Query, tz: str) -> Pieces:
    timed, means = query.time is not None, query.interval is not None
    frames = [_frame(label, shape, timed, means) for label in rows.labels]
    if len(frames) == 1 and not timed and not means:
        many = len(rows) >= _MANY and all(_FIRST <= rows.ts[end] <= _LAST for end in (0, -1))
        return _many_alike(frames[0], rows) if many else [_alike(frames[0], rows)]
    return [_filled(frames, rows.label.tolist(), _texts(rows, query, tz))]


def _alike(frame: _Frame, rows: RowColumns) -> bytes:
    """Rows that differ in `ts` and `value` alone: the text of every `ts` becomes the template of all values."""
    before, behind = frame
    template = before + _numbers(rows.ts).replace(b",", behind + b"," + before) + behind
    return template % tuple(_numbers(rows.value).split(b","))


def _many_alike(frame: _Frame, rows: RowColumns) -> Pieces:
    """As `_alike`, where every `ts` has ten digits: frames take the place of the commas between the values.

    Where the frames lie follows from where the commas lay, so all `ts` are copied into them at once: no object a row.
    """
    stamps, values = _numbers(rows.ts), _numbers(rows.value)
    lead, _, tail = (part.replace(b"%%", b"%") for part in frame.behind.partition(b"%b"))
    before = frame.before.replace(b"%%", b"%")
    between = b"".join((tail, b",", before, b"0" * _DIGITS, lead))
    text = bytearray(values).replace(b",", between)
    (places,) = (np.frombuffer(values, np.uint8) == ord(",")).nonzero()
    places += np.arange(len(places)) * (len(between) - 1) + (len(tail) + 1 + len(before))
    item = f"V{_DIGITS}"
    slots: Any = np.ndarray((len(text) - _DIGITS + 1,), item, text, strides=(1,))
    slots[places] = np.ndarray((len(places),), item, stamps, _DIGITS + 1, (_DIGITS + 1,))
    return before, stamps[:_DIGITS], lead, text, tail


def _filled(frames: Sequence[_Frame], codes: Sequence[int], texts: Sequence[Sequence[bytes]]) -> bytes:
    """Each row's frame with what its columns say; any other way makes more objects a row."""
    if not codes:
        return b""
    fields = [b""] * (len(texts) * len(codes))
    for at, column in enumerate(texts):
        fields[at :: len(texts)] = column
    templates = [frame.before + b"%b" + frame.behind for frame in frames]
    return b",".join([templates[code] for code in codes]) % tuple(fields)


def _texts(rows: RowColumns, query: Query, tz: str | Sequence[str]) -> list[Sequence[bytes]]:
    """What fills the frames, column by column."""
    numbers = [rows.ts, rows.value, *(column for column in (rows.samples, rows.coverage) if column is not None)]
    texts: list[Sequence[bytes]] = [_numbers(column).split(b",") for column in numbers]
    if query.time is not None:
        texts.insert(1, [stamp.encode() for stamp in times.written(rows.ts, query.time, tz)])
    return texts


def _numbers(column: Any) -> bytes:
    """Numbers with commas between them, each as JSON writes it: the shortest text that reads back as the same number.

    What is no number is `null`.
    """
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]


@lru_cache(maxsize=1024)
def _frame(label: RowLabels, shape: Shape, timed: bool, means: bool, zone: str | None = None) -> _Frame:
    before: dict[str, Any] = {"zone": zone} if zone is not None else {}
    if shape.fuel:
        before["fuel"] = label.fuel
    after: dict[str, Any] = {"unit": label.unit, "resolution": label.resolution}
    if shape.border:
        after |= {"counterparty": label.counterparty, "link": label.link}
    if shape.source:
        after["source"] = label.source
    stamp = b',"time":"%b"' if timed else b""
    counted = b',"samples":%b,"coverage":%b' if means else b""
    head = b"{" + _constant(before) + b"," if before else b"{"
    return _Frame(head + b'"ts":', stamp + b',"value":%b,' + _constant(after) + counted + b"}")


def _constant(members: Mapping[str, Any]) -> bytes:
    """Members of a row that no value changes."""
    return orjson.dumps(members)[1:-1].replace(b"%", b"%%")
