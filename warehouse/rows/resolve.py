"""Select the served versions of each interval: within a feed the finest, across feeds the lowest rank.

Borders and the net are resolved separately, the fuels of an interval together, so that a mix has a single publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from warehouse.rows.versions import LIVE, Flags, Ints, Versions

_CELL = 300
"""The seconds of a cell of the occupancy grid. Every resolution below a year is a multiple of it."""


def served(versions: Versions, ranks: Mapping[str, int]) -> Flags:
    """Return, per version, whether it is served now. Feeds that `ranks` does not name are withheld."""
    keep = np.zeros(len(versions), np.bool_)
    if not len(versions):
        return keep
    live = versions.superseded_at == LIVE
    border = versions.where(lambda labels: labels.border)
    ranked = versions.where(lambda labels: labels.feed in ranks)
    for side in (border, ~border):
        group = np.flatnonzero(live & side & ranked)
        if len(group):
            keep[group[_best(versions.take(group), ranks)]] = True
    return keep


def known(versions: Versions, at: int) -> Versions:
    """Return the versions that were current at `at` (Unix seconds), as if nothing had arrived later."""
    then = (versions.known_at <= at) & ((versions.superseded_at == LIVE) | (versions.superseded_at > at))
    return replace(versions.take(then), superseded_at=np.full(int(then.sum()), LIVE))


def _best(group: Versions, ranks: Mapping[str, int]) -> Ints:
    """Return the indexes of one side's served rows: each feed's finest, unless a better-ranked feed has a row."""
    used = {group.labels[number].feed for number in np.unique(group.label)}
    feeds = sorted(used, key=lambda feed: (ranks[feed], feed))
    own = (np.flatnonzero(group.having("feed", feed)) for feed in feeds)
    return _first_come(group, (rows[_finest(group.take(rows))] for rows in own))


def _finest(own: Versions) -> Ints:
    """Return the indexes of a feed's rows that no finer row of the same fuel, border and link overlaps."""
    if len({s.resolution for s in own.labels}) == 1:
        return np.arange(len(own))
    identity, seconds = own.codes("fuel", "counterparty", "link"), own.seconds()
    series = (np.flatnonzero(identity == number) for number in np.unique(identity))
    by_step = ([rows[seconds[rows] == step] for step in np.unique(seconds[rows])] for rows in series)
    return np.sort(np.concatenate([_first_come(own, groups) for groups in by_step]))


def _first_come(versions: Versions, groups: Iterable[Ints]) -> Ints:
    """Return the indexes of the rows that do not overlap a chosen row of an earlier group, by 5-minute cells."""
    origin = int(versions.ts.min()) // _CELL
    first = versions.ts // _CELL - origin
    last = -(-(versions.ts + versions.seconds()) // _CELL) - origin
    edges = np.zeros(int(last.max()) + 2, np.int64)
    chosen = []
    for rows in groups:
        taken = np.cumsum(np.cumsum(edges) > 0)
        before = np.where(first[rows] > 0, taken[first[rows] - 1], 0)
        free = rows[taken[last[rows] - 1] <= before]
        np.add.at(edges, first[free], 1)
        np.add.at(edges, last[free], -1)
        chosen.append(free)
    return np.concatenate(chosen)
