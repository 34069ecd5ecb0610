"""Pages of a window: which rows come first, what is left out, and the cursor that goes on exactly there. Pure."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from warehouse.clock import LAST_INSTANT, Window
from warehouse.reader import RowColumns
from warehouse.versions import RowLabels

Order = Literal["asc", "desc"]


class Cursor(NamedTuple):
    """The sort key of the first row left out; the row itself need not exist any more at the next request."""

    order: Order
    ts: int
    fuel: str
    counterparty: str
    link: str
    given: int | None = None
    """In descending order the `ts` down to which all is given; None within that of the row."""

    @property
    def until(self) -> int:
        """Where what is left of a window in descending order ends."""
        return self.ts + 1 if self.given is None else self.given

    def to_text(self) -> str:
        """Opaque to clients, safe in a URL."""
        parts = self if self.given is not None else self[:-1]
        return base64.urlsafe_b64encode(orjson.dumps([*parts])).rstrip(b"=").decode()

    @classmethod
    def from_text(cls, text: str) -> Cursor:
        """Raises ValueError for anything that `to_text` did not write."""
        try:
            parts = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, orjson.JSONDecodeError, ValueError):
            parts = None
        types = [type(part) for part in parts] if isinstance(parts, list) else []
        if types not in ([str, int, str, str, str], [str, int, str, str, str, int]):
            raise ValueError("is not a cursor of this service")
        cursor = cls(*parts)
        if cursor.order not in ("asc", "desc") or not 0 <= cursor.ts < cursor.until <= LAST_INSTANT + 1:
            raise ValueError("is not a cursor of this service")
        return cursor


class RowSlice(NamedTuple):
    """Rows `first` up to `last` of a columns, not yet copied out of it."""

    columns: RowColumns
    first: int
    last: int

    @classmethod
    def of(cls, rows: RowColumns) -> RowSlice:
        """All rows."""
        return cls(rows, 0, len(rows))

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def rows(self) -> RowColumns:
        """These rows alone."""
        return self.columns if len(self) == len(self.columns) else self.columns.take(slice(self.first, self.last))


@dataclass(frozen=True, slots=True)
class Cut:
    """The rows of one page, in pieces in the query's order, and where the next page begins."""

    pieces: tuple[RowSlice, ...]
    following: Cursor | None

    @property
    def count(self) -> int:
        return sum(map(len, self.pieces))


def cut(months: Iterable[RowColumns], window: Window, order: Order, limit: int, cursor: Cursor | None = None) -> Cut:
    """The first rows of a window, at most `limit`, from `cursor` on; months come in the order's direction, ascending.

    A page ends between instants: rows of one `ts` stay together where at least one whole instant fits into `limit`.
    Reads no month further than the first row left out.
    """
    pieces: list[RowSlice] = []
    left = limit
    for columns in months:
        first, last = columns.between(window)
        if cursor is not None:
            first, last = _from(cursor, columns, first, last)
        if first >= last:
            continue
        if left >= last - first:
            pieces.append(RowSlice(columns, first, last))
            left -= last - first
            continue
        piece = _whole_instants(columns, first, last, order, left, alone=not pieces)
        if len(piece):
            pieces.append(piece)
        if order == "asc":
            return Cut(tuple(pieces), _cursor(order, columns, piece.last))
        following = _cursor(order, columns, piece.first - 1)
        given = int(pieces[-1].columns.ts[pieces[-1].first]) if pieces else following.ts
        return Cut(tuple(pieces), following if given == following.ts else following._replace(given=given))
    return Cut(tuple(pieces), None)


def _whole_instants(columns: RowColumns, first: int, last: int, order: Order, left: int, alone: bool) -> RowSlice:
    """The next `left` of rows `first`..`last`, without the instant that would be cut in two.

    It is cut all the same where the page would be empty without it (`alone`: nothing lies before).
    """
    ts = columns.ts
    if order == "asc":
        edge = first + left
        begin = bisect_left(ts, ts[edge], first, edge)
        return RowSlice(columns, first, edge if begin == first and alone else begin)
    edge = last - left
    end = bisect_right(ts, ts[edge - 1], edge, last)
    return RowSlice(columns, edge if end == last and alone else end, last)


def _cursor(order: Order, columns: RowColumns, row: int) -> Cursor:
    return Cursor(order, int(columns.ts[row]), *identity_of(columns.labels[columns.label[row]]))


def identity_of(label: RowLabels) -> tuple[str, str, str]:
    """What tells rows of one instant apart, as a cursor names it."""
    return label.fuel or "", label.counterparty or "", label.link or ""


def _from(cursor: Cursor, columns: RowColumns, first: int, last: int) -> tuple[int, int]:
    """The part of `first`..`last` that a cursor has not passed yet, the cursor's own row included."""
    begin, end = columns.between(Window(cursor.ts, cursor.ts + 1))
    identities = [identity_of(columns.labels[code]) for code in columns.label[begin:end]]
    if cursor.order == "asc":
        return max(first, begin + sum(identity < cursor[2:5] for identity in identities)), last
    return first, min(last, begin + sum(identity <= cursor[2:5] for identity in identities))
