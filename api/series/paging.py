"""Pages of a window: which rows come first, what is left out, and the cursor that goes on exactly there. Pure.

A page ends between instants, over all zones, where at least one whole instant fits into its limit.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson

from warehouse.market.clock import LAST_INSTANT, Window
from warehouse.market.zones import ZONES
from warehouse.series.reader import RowColumns, joined

Order = Literal["asc", "desc"]
Key = tuple[str, str, str]
"""What a row's sort key has beside `ts`: fuel, counterparty and link, or `published_at`, resolution and feed."""
WHOLE: Key = ("", "", "")
"""The key of a cursor that begins with a whole instant."""


class Cursor(NamedTuple):
    """The sort key of the first row left out; the row itself need not exist any more at the next request."""

    order: Order
    ts: int
    key: Key = WHOLE
    given_down_to: int | None = None
    """In descending order the `ts` down to which all is given; None within that of the row."""
    zone: str | None = None
    """Of a page of several zones the row's zone, empty at an instant of all zones; None for a page of one."""

    @property
    def until(self) -> int:
        """Where what is left of a window in descending order ends."""
        return self.ts + 1 if self.given_down_to is None else self.given_down_to

    def to_text(self) -> str:
        """Opaque to clients, safe in a URL."""
        down_to = () if self.given_down_to is None else (self.given_down_to,)
        text = _encoded((self.order, self.ts, *self.key, *down_to))
        return text if self.zone is None else _encoded((self.zone, text))

    @classmethod
    def from_text(cls, text: str) -> Cursor:
        """Raises ValueError for anything that `to_text` did not write."""
        parts, zone = _decoded(text), None
        if _is(parts, str, str):
            zone, parts = parts[0], _decoded(parts[1])
        if _is(parts, str, int, str, str, str) or _is(parts, str, int, str, str, str, int):
            cursor = cls(parts[0], parts[1], tuple(parts[2:5]), *parts[5:])._replace(zone=zone)
            is_instant = 0 <= cursor.ts < cursor.until <= LAST_INSTANT + 1
            if cursor.order in ("asc", "desc") and is_instant and (not zone or zone in ZONES):
                return cursor
        raise ValueError("is not a cursor of this service")


def _encoded(parts: Sequence[object]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([*parts])).rstrip(b"=").decode()


def _decoded(text: str) -> Any:
    try:
        return orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, orjson.JSONDecodeError, ValueError):
        return None


def _is(parts: Any, *types: type) -> bool:
    return isinstance(parts, list) and tuple(map(type, parts)) == types


class PageSlice(NamedTuple):
    """The rows of one page in its order, and the first row left out."""

    rows: RowColumns
    place: Any
    """Of several zones the place of each row's zone; None for one."""
    following: Cursor | None

    def of_zone(self, place: int) -> RowColumns:
        """Return the rows of one zone, in the same order."""
        return self.rows if self.place is None else self.rows.take(self.place == place)


def first_rows(
    months: Iterable[RowColumns], window: Window, order: Order, count: int, cursor: Cursor | None = None
) -> RowColumns:
    """Return the first `count` rows of a window, from `cursor` on, ascending; months come in the direction of `order`.

    Reads no further month than it needs.
    """
    pieces: list[RowColumns] = []
    for columns in months:
        first, last = columns.between(window)
        if cursor is not None:
            first, last = _from(cursor, columns, first, last)
        if first >= last:
            continue
        if last - first > count:
            first, last = (first, first + count) if order == "asc" else (last - count, last)
        pieces.append(columns if last - first == len(columns) else columns.take(slice(first, last)))
        count -= last - first
        if not count:
            break
    return joined(pieces if order == "asc" else reversed(pieces))


def cut(parts: Sequence[RowColumns], zones: Sequence[str] | None, order: Order, limit: int) -> PageSlice:
    """Merge the rows of each zone by `ts`, then zone, and cut them to a page.

    `parts` hold the first `limit` rows of each zone and, where there is one, the row after them, ascending. `zones`
    names them; None for a page of one zone.
    """
    place: Any
    rows, place = (parts[0], None) if zones is None else _merge(parts)
    if order == "desc":
        rows = rows.take(slice(None, None, -1))
        place = None if place is None else place[::-1]
    if len(rows) <= limit:
        return PageSlice(rows, place, None)
    ts, ahead = rows.ts, 1 if order == "asc" else -1
    count = bisect_left(ts, ts[limit] * ahead, 0, limit, key=lambda at: at * ahead) or limit
    is_split = ts[count - 1] == ts[count]
    whole = None if is_split or order == "asc" else int(ts[count - 1])
    key = _key(rows, count) if is_split else WHOLE
    zone = None if zones is None else zones[int(place[count])] if is_split else ""
    following = Cursor(order, int(ts[count]), key, whole, zone)
    return PageSlice(rows.take(slice(count)), None if place is None else place[:count], following)


def _merge(parts: Sequence[RowColumns]) -> tuple[RowColumns, Any]:
    every = joined(parts)
    places = np.argsort(every.ts, kind="stable")
    return every.take(places), np.repeat(np.arange(len(parts)), [len(part) for part in parts])[places]


def resume(window: Window, zone: str, cursor: Cursor | None) -> tuple[Window, Cursor | None]:
    """Return the rest of the window of a zone behind a cursor, and the cursor within that zone."""
    if cursor is None or cursor.zone in (None, zone):
        return window, cursor
    at, passed = cursor.ts, has_passed(zone, cursor)
    if cursor.order == "asc":
        return Window(min(max(window.start, at + passed), window.end), window.end), None
    return Window(window.start, max(min(window.end, at + 1 - passed), window.start)), None


def has_passed(zone: str, cursor: Cursor) -> bool:
    """Whether the page before holds the zone's rows of the cursor's instant."""
    return bool(cursor.zone) and (zone < str(cursor.zone) if cursor.order == "asc" else zone > str(cursor.zone))


def _key(rows: RowColumns, place: int) -> Key:
    """Return the part of a row's sort key that a cursor names beside `ts`."""
    label = rows.labels[rows.label[place]]
    if rows.published_at is None:
        return label.fuel or "", label.counterparty or "", label.link or ""
    return f"{rows.published_at[place]:012d}", label.resolution, label.feed


def _from(cursor: Cursor, columns: RowColumns, first: int, last: int) -> tuple[int, int]:
    """Return the part of `first`..`last` from the cursor's own row on."""
    begin, end = columns.between(Window(cursor.ts, cursor.ts + 1))
    if cursor.given_down_to is not None:
        return first, min(last, end)
    keys = [_key(columns, place) for place in range(begin, end)]
    if cursor.order == "asc":
        return max(first, begin + sum(key < cursor.key for key in keys)), last
    return first, min(last, begin + sum(key <= cursor.key for key in keys))
