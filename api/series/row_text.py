"""Rows as the text of JSON or CSV, written straight from columns; no row becomes an object of Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson

from api.series import times
from api.series.page import Page
from api.series.query import Query
from api.series.rows import Shape
from warehouse.reader import RowColumns
from warehouse.versions import Ints, RowLabels
from warehouse.zones import ZONES

Notation = Literal["json", "csv"]
Pieces = Sequence[bytes | bytearray]
"""Parts of one text in their order: a long text is put together once, with what stands around it."""

_BETWEEN: Mapping[Notation, bytes] = {"json": b",", "csv": b"\n"}
"""What stands between two rows."""
_MANY = 250
"""From so many rows on it pays to set the text of every `ts` at once."""
_DIGITS, _FIRST, _LAST = 10, 10**9, 10**10 - 1
"""Instants from 2001 to 2286 have ten digits."""


def page_rows(page: Page, notation: Notation) -> Pieces:
    """The rows of a page: JSON objects with commas between them, or lines of CSV."""
    tz, shape = ZONES[page.query.zone].tz, Shape.of(page)
    pieces: list[bytes | bytearray] = []
    for part in filter(len, page.parts):
        if pieces:
            pieces.append(_BETWEEN[notation])
        pieces += _rows(part, shape, page.query, tz, notation)
    return pieces


def rows_of_zones(
    rows: RowColumns, place: Ints, zones: Sequence[str], shape: Shape, query: Query, notation: Notation
) -> Pieces:
    """As `page_rows`, of several zones; row i is of `zones[place[i]]`."""
    pairs = place * len(rows.labels) + rows.label
    (used,) = np.bincount(pairs, minlength=1).nonzero()  # not np.unique, which sorts all rows
    codes = np.empty(used[-1] + 1 if len(used) else 0, np.int64)
    codes[used] = np.arange(len(used))
    names = [divmod(pair, len(rows.labels)) for pair in used.tolist()]
    frames = [_frame(notation, rows.labels[label], shape, query, zones[zone]) for zone, label in names]
    if _is_many(rows) and query.time is None and query.interval is None:
        return _many_of_zones(frames, codes[pairs], rows, notation)
    tz = [ZONES[zone].tz for zone in zones]
    each = [tz[at] for at in place.tolist()] if query.time is not None else ""
    return [_filled(frames, codes[pairs].tolist(), _texts(rows, query, each, notation), _BETWEEN[notation])]


class _Frame(NamedTuple):
    """What stands before a row's `ts`, and what behind, with `%b` for each further member that no label says."""

    before: bytes
    behind: bytes


def _rows(rows: RowColumns, shape: Shape, query: Query, tz: str, notation: Notation) -> Pieces:
    frames = [_frame(notation, label, shape, query) for label in rows.labels]
    if len(frames) == 1 and query.time is None and query.interval is None:
        return _many_alike(frames[0], rows, notation) if _is_many(rows) else [_alike(frames[0], rows, notation)]
    return [_filled(frames, rows.label.tolist(), _texts(rows, query, tz, notation), _BETWEEN[notation])]


def _is_many(rows: RowColumns) -> bool:
    """Whether the text of every `ts` is set at once. `rows` ascend or descend."""
    return len(rows) >= _MANY and all(_FIRST <= rows.ts[end] <= _LAST for end in (0, -1))


def _alike(frame: _Frame, rows: RowColumns, notation: Notation) -> bytes:
    """Rows that differ in `ts` and `value` alone: the text of every `ts` becomes the template of all values."""
    before, behind = frame
    template = before + _numbers(rows.ts).replace(b",", behind + _BETWEEN[notation] + before) + behind
    return template % tuple(_values(rows.value, notation).split(b","))


def _many_alike(frame: _Frame, rows: RowColumns, notation: Notation) -> Pieces:
    """As `_alike`, where every `ts` has ten digits: frames take the place of the commas between the values.

    Where the frames lie follows from where the commas lay, so all `ts` are copied into them at once: no object a row.
    """
    stamps, values = _numbers(rows.ts), _values(rows.value, notation)
    lead, _, tail = (part.replace(b"%%", b"%") for part in frame.behind.partition(b"%b"))
    before = frame.before.replace(b"%%", b"%")
    tail += _BETWEEN[notation]
    between = b"".join((tail, before, b"0" * _DIGITS, lead))
    text = bytearray(values).replace(b",", between)
    places = _commas(values)
    places += np.arange(len(places)) * (len(between) - 1) + (len(tail) + len(before))
    _set_stamps(text, places, stamps[_DIGITS + 1 :])
    return before, stamps[:_DIGITS], lead, text, tail[: -len(_BETWEEN[notation])]


def _many_of_zones(frames: Sequence[_Frame], codes: Ints, rows: RowColumns, notation: Notation) -> Pieces:
    """As `_filled`, where every `ts` has ten digits: all are set at once, by `_many_alike`'s way of reckoning."""
    between, stamps, values = _BETWEEN[notation], _numbers(rows.ts), _values(rows.value, notation)
    whole = [before + b"0" * _DIGITS + behind + between for before, behind in frames]
    text = bytearray(_template(whole, codes, rows.ts)[: -len(between)] % tuple(values.split(b",")))
    lengths = np.array([len(template % b"") for template in whole])[codes]
    stamped = np.array([len(frame.before % ()) for frame in frames])[codes]
    places = lengths.cumsum() - lengths + stamped
    places[1:] += _commas(values) - np.arange(len(codes) - 1)
    _set_stamps(text, places, stamps)
    return [text]


def _template(frames: Sequence[bytes], codes: Ints, ts: Ints) -> bytes:
    """The frames of all rows. Instants of the same zones recur, and each such sequence is put together once."""
    names = codes.tobytes()
    (ends,) = (ts[1:] != ts[:-1]).nonzero()
    made: dict[bytes, bytes] = {}
    parts, begin = [], 0
    for end in [*((ends + 1) * codes.itemsize).tolist(), len(names)]:
        name, begin = names[begin:end], end
        if name not in made:
            made[name] = b"".join([frames[code] for code in np.frombuffer(name, codes.dtype).tolist()])
        parts.append(made[name])
    return b"".join(parts)


def _commas(text: bytes) -> Ints:
    """Where they are."""
    places: Ints
    (places,) = (np.frombuffer(text, np.uint8) == ord(",")).nonzero()
    return places


def _set_stamps(text: bytearray, places: Ints, stamps: bytes) -> None:
    """Copies instants of ten digits, with a comma between them, to their places in a text."""
    item = f"V{_DIGITS}"
    slots: Any = np.ndarray((len(text) - _DIGITS + 1,), item, text, strides=(1,))
    slots[places] = np.ndarray((len(places),), item, stamps, strides=(_DIGITS + 1,))


def _filled(frames: Sequence[_Frame], codes: Sequence[int], texts: Sequence[Sequence[bytes]], between: bytes) -> bytes:
    """Each row's frame with what its columns say; any other way makes more objects a row."""
    if not codes:
        return b""
    fields = [b""] * (len(texts) * len(codes))
    for at, column in enumerate(texts):
        fields[at :: len(texts)] = column
    templates = [frame.before + b"%b" + frame.behind for frame in frames]
    return between.join([templates[code] for code in codes]) % tuple(fields)


def _texts(rows: RowColumns, query: Query, tz: str | Sequence[str], notation: Notation) -> list[Sequence[bytes]]:
    """What fills the frames, column by column."""
    numbers = [rows.ts, rows.value, *(column for column in (rows.samples, rows.coverage) if column is not None)]
    texts: list[Sequence[bytes]] = [_values(column, notation).split(b",") for column in numbers]
    if query.time is not None:
        texts.insert(1, [stamp.encode() for stamp in times.written(rows.ts, query.time, tz)])
    return texts


def _numbers(column: Any) -> bytes:
    """Numbers with commas between them, each as JSON writes it: the shortest text that reads back as the same number.

    What is no number is `null`.
    """
    return orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]


def _values(column: Any, notation: Notation) -> bytes:
    """As `_numbers`; what is no number is empty in CSV."""
    text = _numbers(column)
    return text if notation == "json" else text.replace(b"null", b"")


def _frame(notation: Notation, label: RowLabels, shape: Shape, query: Query, zone: str | None = None) -> _Frame:
    framed = _json_frame if notation == "json" else _csv_frame
    return framed(label, shape, query.time is not None, query.interval is not None, zone)


@lru_cache(maxsize=1024)
def _json_frame(label: RowLabels, shape: Shape, timed: bool, means: bool, zone: str | None) -> _Frame:
    first, rest = _members(label, shape, zone)
    stamp = b',"time":"%b"' if timed else b""
    counted = b',"samples":%b,"coverage":%b' if means else b""
    head = b"{" + _escaped(orjson.dumps(first)[1:-1]) + b"," if first else b"{"
    tail = _escaped(orjson.dumps(rest)[1:-1])
    return _Frame(head + b'"ts":', stamp + b',"value":%b,' + tail + counted + b"}")


@lru_cache(maxsize=1024)
def _csv_frame(label: RowLabels, shape: Shape, timed: bool, means: bool, zone: str | None) -> _Frame:
    first, rest = _members(label, shape, zone)
    before = b"".join(_escaped(_csv_word(word)) + b"," for word in first.values())
    behind = b"".join(b"," + _escaped(_csv_word(word)) for word in rest.values())
    return _Frame(before, (b',"%b"' if timed else b"") + b",%b" + behind + (b",%b,%b" if means else b""))


def _members(label: RowLabels, shape: Shape, zone: str | None) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """What a label says in each row, before `ts` and behind `value`."""
    first: dict[str, str | None] = {"zone": zone} if zone is not None else {}
    if shape.fuel:
        first["fuel"] = label.fuel
    rest: dict[str, str | None] = {"unit": label.unit, "resolution": label.resolution}
    if shape.border:
        rest |= {"counterparty": label.counterparty, "link": label.link}
    if shape.source:
        rest["source"] = label.source
    return first, rest


def csv_header(shape: Shape, query: Query, of_zones: bool) -> bytes:
    """The first line of a CSV answer: its columns, named as JSON names them."""
    first = ["zone"] * of_zones + ["fuel"] * shape.fuel
    stated = ["ts", *["time"] * (query.time is not None), "value", "unit", "resolution"]
    rest = ["counterparty", "link"] * shape.border + ["source"] * shape.source
    means = ["samples", "coverage"] * (query.interval is not None)
    return b",".join(map(_csv_word, [*first, *stated, *rest, *means]))


def _csv_word(word: str | None) -> bytes:
    """A text as RFC 4180 quotes it; nothing at all where there is none."""
    return b"" if word is None else b'"%b"' % word.replace('"', '""').encode()


def _escaped(text: bytes) -> bytes:
    """Text that `%` leaves as it is."""
    return text.replace(b"%", b"%%")
