"""Rows of kept bodies put back into a month that lost a file: each value is known since the body that stated it.

What is left of the month goes first: of a reading that it holds, the bodies add only the time before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from warehouse.market.clock import month_window
from warehouse.market.feeds import Terms
from warehouse.market.vocabulary import is_forecast
from warehouse.rows import forecasts, resolve
from warehouse.rows.schema import Rows
from warehouse.rows.versions import LIVE, Ints, Versions, concat, empty
from warehouse.series import folding, month_versions
from warehouse.series.month_versions import Month, StoredMonth
from warehouse.store.storage import Storage

_EVER = np.iinfo(np.int64).max
"""Stands for LIVE where instants are compared."""


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
        if is_forecast(place.metric):
            merged, _ = forecasts.put_together(concat([stored.versions, from_bodies]))
        else:
            merged = merge(stored.versions, from_bodies)
        rows = int(resolve.served(merged, ranks).sum())
        return merged

    month_versions.update(storage, place, put_back, ranks, mode, known_since=known_since, terms=terms)
    return rows


def versions(feed: str, statements: Sequence[Statement], believed: Rows, month: str) -> Versions:
    """The versions of a month that bodies state one after the other, as far as the last of them are believed.

    `believed`: the rows of all bodies together, judged; what they do not hold is left out with its past. Vintages of a
    forecast stand each for itself.
    """
    if any(is_forecast(key.metric) for key in believed.readings):
        merged = empty()
        for statement in statements:
            merged, _ = forecasts.merge(merged, _table(feed, [statement], month))
        return merged
    final = _table(feed, [Statement(max((each.at for each in statements), default=0), believed)], month)
    from_bodies = concat([_table(feed, statements, month), final])
    order = np.argsort(folding.identities(from_bodies), kind="stable")
    rows, identity = from_bodies.take(order), folding.identities(from_bodies)[order]
    new = np.concatenate([[True], np.diff(identity) != 0])[: len(rows)]
    places = np.arange(1, len(rows))
    differs = ~rows.equal(places, places - 1) | (np.diff(rows.label) != 0)
    changed = new | np.concatenate([[True], differs])[: len(rows)]
    rows, identity = rows.take(changed), identity[changed]
    ends = np.append(np.where(np.diff(identity) == 0, rows.known_at[1:], LIVE), LIVE)[: len(rows)]
    rows = replace(rows, superseded_at=ends)
    stored = np.isin(identity, folding.identities(from_bodies)[len(from_bodies) - len(final) :])
    return rows.take(stored & ((ends == LIVE) | (ends > rows.known_at)))


def _table(feed: str, statements: Sequence[Statement], month: str) -> Versions:
    """Statements as live versions, in their order; those outside the month are left out."""
    window = month_window(month)
    parts = [folding.as_versions(feed, [*each.rows.readings.items()], each.at) for each in statements]
    table = concat([empty(), *parts])
    return table.take((table.ts >= window.start) & (table.ts < window.end))


def merge(left: Versions, from_bodies: Versions) -> Versions:
    """What is left of a month, and of the versions from bodies the time that it does not hold.

    Where one reaches into the first that is left and says the same, that one is known since the body came.
    """
    both, count = concat([left, from_bodies]), len(left)
    _, code = np.unique(folding.identities(both), return_inverse=True)
    readings = int(code.max(initial=-1)) + 1
    mine, own = code[:count], code[count:]
    ends = np.where(both.superseded_at == LIVE, _EVER, both.superseded_at)
    first, last, holder = np.full(readings, _EVER), *np.zeros((2, readings), np.int64)
    np.minimum.at(first, mine, left.known_at)
    np.maximum.at(last, mine, ends[:count])
    is_first = left.known_at == first[mine]
    holder[mine[is_first]] = np.flatnonzero(is_first)
    begin, end = from_bodies.known_at, ends[count:]
    # Of a reading that is not left, `first` is later than every end.
    reaches = (begin < first[own]) & (end > first[own]) & both.equal(np.arange(count, len(both)), holder[own])
    since = first.copy()
    since[own[reaches]] = begin[reaches]
    parts = [
        _known(left, np.where(is_first, since[mine], left.known_at), ends[:count]),
        _known(from_bodies, begin, np.minimum(end, since[own])),
    ]
    lasting = first[own] < _EVER
    parts.append(_known(from_bodies.take(lasting), np.maximum(begin, last[own])[lasting], end[lasting]))
    return concat(parts)


def _known(rows: Versions, begin: Ints, end: Ints) -> Versions:
    """The rows that were known for some time, from `begin` to `end`."""
    known = begin < end
    live = np.where(end == _EVER, LIVE, end)
    return replace(rows, known_at=begin, superseded_at=live).take(known)
