"""Read the rows of several zones in parallel, only as far as a page of their merged rows needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from api.series import expensive, stored_rows
from api.series.query import Cursor, Order, ZonePlan
from warehouse.market.clock import Window
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns, joined


def read_abreast(
    reader: Reader, plans: Sequence[ZonePlan], rests: Sequence[tuple[Window, Cursor | None]], order: Order, count: int
) -> tuple[list[RowColumns], int | None]:
    """Return rows of each zone, ascending, that include the first `count` rows of all zones.

    Also return None, or the time at which too much work ended reading. The result then has all rows before that time,
    or from it on in descending order. `rests` has each zone's window, and the cursor that cuts its rows.
    """
    ascending, settled = order == "asc", -math.inf
    end = max(window.end if ascending else -window.start for window, _ in rests)
    work = sum(expensive.work_of_labels(plan) for plan in plans)
    lines = [
        (_ZoneRows(stored_rows.wanted(reader, plan, order, window), ascending),
         partial(stored_rows.first_rows, window=window, order=order, count=count, cursor=own))
        for plan, (window, own) in zip(plans, rests, strict=True)
    ]  # fmt: skip
    while True:
        last, first = min(lines, key=lambda line: line[0].reached)
        if last.reached > settled:
            settled = last.reached
            if settled >= end or sum(line.count_before(settled) for line, _ in lines) >= count:
                return [line.joined(None) for line, _ in lines], None
            if work >= expensive.MOST_WORK:
                ended = int(settled if ascending else -settled)
                return [line.joined(ended) for line, _ in lines], ended
        work += last.read(first, count)


class _ZoneRows:
    """The rows that were read of a zone, in the direction of a page."""

    def __init__(self, pieces: Iterator[stored_rows.Piece], ascending: bool) -> None:
        self.rows: list[RowColumns] = []
        self.reached: float = -math.inf
        """The time before which all rows have been read; negated in descending order."""
        self._pieces, self._ascending, self._before = pieces, ascending, 0

    def read(self, first: Callable[[RowColumns], RowColumns], count: int) -> int:
        """Read the next piece, keep the rows that `first` selects, and return its work; `count` rows are enough."""
        piece = next(self._pieces, None) if self._before + self._last() < count else None
        if piece is None:
            self.reached = math.inf
            return 0
        self._before += self._last()
        self.rows.append(first(piece.rows))
        self.reached = piece.span.end if self._ascending else -piece.span.start
        return piece.work

    def count_before(self, at: float) -> int:
        """Return the number of rows before `at`, up to which all zones must have been read."""
        if not self.rows or math.isinf(at):
            return self._before + self._last()
        place = bisect_left(self.rows[-1].ts, at if self._ascending else -at)
        return self._before + (place if self._ascending else self._last() - place)

    def joined(self, until: int | None) -> RowColumns:
        """Return the rows, ascending; with `until` only those before it, or from it on in descending order."""
        rows = joined(self.rows if self._ascending else reversed(self.rows))
        if until is None:
            return rows
        place = bisect_left(rows.ts, until)
        return rows.take(slice(place) if self._ascending else slice(place, None))

    def _last(self) -> int:
        return len(self.rows[-1]) if self.rows else 0
