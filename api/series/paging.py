"""Pages of a window: which rows come first, what is left out, and the cursor that goes on exactly there. Pure."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from warehouse.clock import LAST_INSTANT, Window
from warehouse.reader import RowColumns, joined
from warehouse.versions import RowLabels
from warehouse.zones import ZONES

Order = Literal["asc", "desc"]
_NO_CURSOR = "is not a cursor of this service"


class Cursor(NamedTuple):
    """The sort key of the first row left out; the row itself need not exist any more at the next request."""

    order: Order
    ts: int
    fuel: str
    counterparty: str
    link: str
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
        text = _encoded(self[:5] if self.given_down_to is None else self[:6])
        return text if self.zone is None else _encoded((self.zone, text))

    @classmethod
    def from_text(cls, text: str) -> Cursor:
        """Raises ValueError for anything that `to_text` did not write."""
        parts = _decoded(text)
        if not _is(parts, str, str):
            return cls._of_row(parts)
        if parts[0] and parts[0] not in ZONES:
            raise ValueError(_NO_CURSOR)
        return cls._of_row(_decoded(parts[1]))._replace(zone=parts[0])

    @classmethod
    def _of_row(cls, parts: Any) -> Cursor:
        if not _is(parts, str, int, str, str, str) and not _is(parts, str, int, str, str, str, int):
            raise ValueError(_NO_CURSOR)
        cursor = cls(*parts)
        if cursor.order not in ("asc", "desc") or not 0 <= cursor.ts < cursor.until <= LAST_INSTANT + 1:
            raise ValueError(_NO_CURSOR)
        return cursor


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
    """The rows of one page, ascending, and the first row left out."""

    rows: RowColumns
    following: Cursor | None


def cut(
    months: Iterable[RowColumns], window: Window, order: Order, limit: int, cursor: Cursor | None = None
) -> PageSlice:
    """Return the first rows of a window, at most `limit`, from `cursor` on; months come in the direction of `order`.

    A page ends between instants: rows of one `ts` stay together where at least one whole instant fits into `limit`.
    Reads no month further than the first row left out.
    """
    pieces: list[RowColumns] = []
    following, room = None, limit
    for columns in months:
        first, last = columns.between(window)
        if cursor is not None:
            first, last = _from(cursor, columns, first, last)
        if first >= last:
            continue
        if last - first > room:
            first, last = _whole_instants(columns, first, last, order, room, alone=not pieces)
            following = _cursor(order, columns, last if order == "asc" else first - 1)
        if first < last:
            pieces.append(columns if last - first == len(columns) else columns.take(slice(first, last)))
            room -= last - first
        if following is not None:
            break
    if following is not None and order == "desc" and pieces and pieces[-1].ts[0] != following.ts:
        following = following._replace(given_down_to=int(pieces[-1].ts[0]))
    return PageSlice(joined(pieces if order == "asc" else reversed(pieces)), following)


def _whole_instants(
    columns: RowColumns, first: int, last: int, order: Order, room: int, alone: bool
) -> tuple[int, int]:
    """The next `room` of rows `first`..`last`, without the instant that would be cut in two.

    It is cut all the same where the page would be empty without it (`alone`).
    """
    ts = columns.ts
    if order == "asc":
        edge = first + room
        begin = bisect_left(ts, ts[edge], first, edge)
        return first, edge if begin == first and alone else begin
    edge = last - room
    end = bisect_right(ts, ts[edge - 1], edge, last)
    return edge if end == last and alone else end, last


def _cursor(order: Order, columns: RowColumns, row: int) -> Cursor:
    return Cursor(order, int(columns.ts[row]), *identity_of(columns.labels[columns.label[row]]))


def identity_of(label: RowLabels) -> tuple[str, str, str]:
    """The part of a row's key that a cursor names beside `ts`."""
    return label.fuel or "", label.counterparty or "", label.link or ""


def _from(cursor: Cursor, columns: RowColumns, first: int, last: int) -> tuple[int, int]:
    """Return the part of `first`..`last` from the cursor's own row on."""
    begin, end = columns.between(Window(cursor.ts, cursor.ts + 1))
    identities = [identity_of(columns.labels[code]) for code in columns.label[begin:end]]
    if cursor.order == "asc":
        return max(first, begin + sum(identity < cursor[2:5] for identity in identities)), last
    return first, min(last, begin + sum(identity <= cursor[2:5] for identity in identities))
