"""Restore the rows of raw responses to a month that lost a file. Each value is known since the response that stated it.

The remaining rows of the month take precedence: for their readings, the responses add only earlier and later values.
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
    """The rows of one raw response for a zone's metric. `at` is the time of its arrival in Unix seconds."""

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
    """Merge versions from raw responses with the rest of a month; return the number of served rows.

    Before `known_since`, the values are incomplete. Raises WrongMode and StorageError.
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
    """Return the versions of a month that successive responses state, as far as their final values are valid.

    `believed` has the validated rows of all responses together. Readings that it lacks are left out with their past.
    Vintages of a forecast are independent of each other.
    """
    tables = [_table(feed, each, place.month) for each in statements]
    final = Statement(max((each.at for each in statements), default=0), believed)
    return merging_of(place.metric).of_bodies(tables, _table(feed, final, place.month))


def _table(feed: str, statement: Statement, month: str) -> Versions:
    """Return the live versions of a statement within the month."""
    window = month_window(month)
    table = folding.as_versions(feed, [*statement.rows.readings.items()], statement.at)
    return table.take((table.ts >= window.start) & (table.ts < window.end))
