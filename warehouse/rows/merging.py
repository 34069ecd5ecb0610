"""Merge statements of a reading into versions, by the type of metric: corrections replace, vintages coexist.

For vintages, see `warehouse.rows.forecasts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warehouse.market.clock import Window
from warehouse.market.metrics import define
from warehouse.rows import forecasts
from warehouse.rows.succession import identities, succeed
from warehouse.rows.versions import LIVE, Counts, Flags, Ints, Versions, concat, empty

_EVER = np.iinfo(np.int64).max
"""Replaces LIVE in comparisons of times."""


@dataclass(frozen=True, slots=True)
class Merging:
    """The merge functions of a type of metric."""

    distinct: Callable[[Versions], Versions]
    """Returns the statements of a response with each reading once."""
    fold: Callable[[Versions, Versions, str, Sequence[Window], int], tuple[Versions, Counts]]
    """`fold(old, new, feed, spans, at)` merges a feed's statements at a time into a month's versions.

    In `spans`, the feed's own rows that it no longer states are superseded.
    """
    of_bodies: Callable[[Sequence[Versions], Versions], Versions]
    """`of_bodies(statements, believed)` returns the versions of successive responses that end in a valid value."""
    put_back: Callable[[Versions, Versions], Versions]
    """`put_back(left, from_bodies)` adds to the rest of a month what responses state about times that it lacks."""


def merging_of(metric: str) -> Merging:
    """Return the merge functions of a stored metric."""
    return _MERGING[define(metric).merge]


def _last_of_each(statements: Versions) -> Versions:
    """Return the statements without those that a later one of the same reading replaces."""
    count = len(statements)
    _, last = np.unique(identities(statements)[::-1], return_index=True)
    return statements.take(np.sort(count - 1 - last))


def _correct(
    old: Versions, new: Versions, feed: str, spans: Sequence[Window], known_at: int
) -> tuple[Versions, Counts]:
    both, count = concat([old, new]), len(old)
    live = np.flatnonzero(both.where(lambda labels: labels.feed == feed)[:count] & (old.superseded_at == LIVE))
    current = np.concatenate([live, np.arange(count, len(both))])
    identity = identities(both)
    stay, until = succeed(both, current[np.argsort(identity[current], kind="stable")])
    superseded = both.superseded_at.copy()
    superseded[stay] = until
    gone = live[~np.isin(identity[live], identity[count:]) & _within(both.ts[live], spans)]
    superseded[gone] = known_at
    # A version replaced within the second of its arrival was never visible to a reader.
    visible = (superseded == LIVE) | (superseded > both.known_at)
    states_news = np.isin(np.arange(count, len(both)), stay)
    known = np.isin(identity[count:], identity[live])
    counts = int((~known).sum()), int((known & states_news).sum()), len(gone), int((~states_news).sum())
    chosen = visible & np.concatenate([np.ones(count, np.bool_), states_news])
    return replace(both, superseded_at=superseded).take(chosen), counts


def _within(ts: Ints, spans: Sequence[Window]) -> Flags:
    inside = np.zeros(len(ts), np.bool_)
    for span in spans:
        inside |= (ts >= span.start) & (ts < span.end)
    return inside


def _corrections_of_bodies(statements: Sequence[Versions], believed: Versions) -> Versions:
    both = concat([*statements, believed])
    identity = identities(both)
    stay, until = succeed(both, np.argsort(identity, kind="stable"))
    rows = replace(both.take(stay), superseded_at=until)
    is_believed = np.isin(identity[stay], identity[len(both) - len(believed) :])
    return rows.take(is_believed & ((until == LIVE) | (until > rows.known_at)))


def _put_back_corrections(left: Versions, from_bodies: Versions) -> Versions:
    """Add to the remaining versions what the raw responses state about times they do not cover.

    If a response states the value of the first remaining version, that version counts as known since the response.
    """
    both, count = concat([left, from_bodies]), len(left)
    _, code = np.unique(identities(both), return_inverse=True)
    readings = int(code.max(initial=-1)) + 1
    mine, own = code[:count], code[count:]
    ends = np.where(both.superseded_at == LIVE, _EVER, both.superseded_at)
    first, last, holder = np.full(readings, _EVER), *np.zeros((2, readings), np.int64)
    np.minimum.at(first, mine, left.known_at)
    np.maximum.at(last, mine, ends[:count])
    is_first = left.known_at == first[mine]
    holder[mine[is_first]] = np.flatnonzero(is_first)
    begin, end = from_bodies.known_at, ends[count:]
    # For a reading without remaining versions, `first` is later than every end.
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
    """Return the rows that were known for some time, from `begin` to `end`."""
    known = begin < end
    live = np.where(end == _EVER, LIVE, end)
    return replace(rows, known_at=begin, superseded_at=live).take(known)


def _vintages_of_bodies(statements: Sequence[Versions], _believed: Versions) -> Versions:
    """Return the versions of successive responses: each vintage is independent."""
    merged = empty()
    for statement in statements:
        merged, _ = forecasts.merge(merged, statement)
    return merged


_MERGING = {
    "corrections": Merging(_last_of_each, _correct, _corrections_of_bodies, _put_back_corrections),
    "vintages": Merging(
        distinct=lambda statements: statements,
        fold=lambda old, new, _feed, _spans, _at: forecasts.merge(old, new),
        of_bodies=_vintages_of_bodies,
        put_back=lambda left, from_bodies: forecasts.put_together(concat([left, from_bodies]))[0],
    ),
}
