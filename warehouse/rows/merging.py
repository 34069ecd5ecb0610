"""How statements of a reading become versions, by the kind of metric: corrections replace, vintages stand side by side.

Vintages: see `warehouse.rows.forecasts`.
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
"""Stands for LIVE where instants are compared."""


@dataclass(frozen=True, slots=True)
class Merging:
    """The merges of one kind of metric."""

    distinct: Callable[[Versions], Versions]
    """What one answer states, each reading once."""
    fold: Callable[[Versions, Versions, str, Sequence[Window], int], tuple[Versions, Counts]]
    """`fold(old, new, feed, spans, at)`: a month's versions with what a feed states at an instant.

    In `spans` the feed's own rows that it states no more are superseded.
    """
    of_bodies: Callable[[Sequence[Versions], Versions], Versions]
    """`of_bodies(statements, believed)`: what bodies say one after the other, as far as it is believed in the end."""
    put_back: Callable[[Versions, Versions], Versions]
    """`put_back(left, from_bodies)`: what is left of a month, with what bodies say of times that it does not hold."""


def merging_of(metric: str) -> Merging:
    """Return how the versions of a stored metric are merged."""
    return _MERGING[define(metric).merge]


def _last_of_each(statements: Versions) -> Versions:
    """Of two statements of one reading the later one stays."""
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
    # A version replaced within the second in which it came was never visible to a reader.
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
    """Add to the remaining versions what the kept bodies say about times they do not cover.

    If a body states the value of the first remaining version, that version counts as known since the body.
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


def _vintages_of_bodies(statements: Sequence[Versions], _believed: Versions) -> Versions:
    """Return what bodies say one after the other: each vintage stands for itself."""
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
