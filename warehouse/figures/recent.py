"""The newest rows of one zone's metric, from 30 days before the last that has begun to the last one known ahead.

Opens the month files that these days touch, found by arithmetic. What the rows say: see `figures.context`.
"""

from __future__ import annotations

from collections.abc import Collection

from warehouse.figures.context import WINDOW_S
from warehouse.market.clock import DAY, Window
from warehouse.series.reader import Reader, RowColumns, joined, read_again

_AHEAD_S = 2 * DAY
"""A day-ahead auction reaches to the end of tomorrow."""


@read_again
def recent(reader: Reader, zone: str, metric: str, now: int, withheld: Collection[str]) -> RowColumns | None:
    """The net rows around `now` (Unix seconds); None where no row has begun, however far back. Raises StorageError.

    Rows of `withheld` feeds are left out: rights may have been taken back since the month was resolved.
    """
    last = newest(reader, zone, metric, max(0, now - WINDOW_S), now, withheld)
    last = newest(reader, zone, metric, 0, now, withheld) if last is None else last
    if last is None:
        return None
    files = reader.files(zone, metric, Window(max(0, int(last.ts[0]) - WINDOW_S), now + _AHEAD_S))
    return joined(reader.rows(file, "net").of_feeds(lambda feed: feed not in withheld) for file in files)


@read_again
def newest(
    reader: Reader, zone: str, metric: str, since: int, now: int, withheld: Collection[str]
) -> RowColumns | None:
    """The net rows of the last interval that has begun at `now`: one row, or all fuels of a mix.

    Of the months from `since` (Unix seconds) on; None where none has. Raises StorageError.
    """
    for file in reversed(reader.files(zone, metric, Window(since, now + 1))):
        rows = reader.rows(file, "net").of_feeds(lambda feed: feed not in withheld)
        _, begun = rows.between(Window(0, now + 1))
        if begun:
            last = int(rows.ts[begun - 1])
            return rows.take(slice(*rows.between(Window(last, last + 1))))
    return None
