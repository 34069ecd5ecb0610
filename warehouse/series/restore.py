"""Rows of kept bodies put back into a month that lost a file: each value is known since the body that stated it.

What is left of the month goes first: of a reading that it holds, the bodies add only the time before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from warehouse.market.clock import month_window
from warehouse.market.feeds import Terms
from warehouse.rows import resolve
from warehouse.rows.merging import merging_of
from warehouse.rows.schema import Rows
from warehouse.rows.versions import Versions
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month, StoredMonth
from warehouse.store.storage import Storage


class Statement(NamedTuple):
    """What one body states of a zone's metric. `at`: when it came, Unix seconds."""

    at: int
    rows: Rows


def put(
    storage: Storage,
    place: Month,
    from_bodies: Versions,
    ranks: Mapping[str, int],
    mode: str,
    known_since: int | None,
    terms: Mapping[str, Terms] | None = None,
) -> int:
    """Put versions from kept bodies beside what is left of a month; return how many rows are served then.

    `known_since`: before it not every value is known. Raises WrongMode and StorageError.
    """
    rows = 0

    def put_back(stored: StoredMonth) -> Versions:
        nonlocal rows
        merged = merging_of(place.metric).put_back(stored.versions, from_bodies)
        rows = int(resolve.served(merged, ranks).sum())
        return merged

    month_versions.update(storage, place, put_back, ranks, mode, known_since=known_since, terms=terms, rebuilds=True)
    return rows


def versions(feed: str, statements: Sequence[Statement], believed: Rows, place: Month) -> Versions:
    """The versions of a month that bodies state one after the other, as far as the last of them are believed.

    `believed`: the rows of all bodies together, judged; what they do not hold is left out with its past. Vintages of a
    forecast stand each for itself.
    """
    tables = [_table(feed, each, place.month) for each in statements]
    final = Statement(max((each.at for each in statements), default=0), believed)
    return merging_of(place.metric).of_bodies(tables, _table(feed, final, place.month))


def _table(feed: str, statement: Statement, month: str) -> Versions:
    """A statement as live versions; those outside the month are left out."""
    window = month_window(month)
    table = folding.as_versions(feed, [*statement.rows.readings.items()], statement.at)
    return table.take((table.ts >= window.start) & (table.ts < window.end))
