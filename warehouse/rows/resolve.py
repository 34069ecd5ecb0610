"""Which versions are served, interval by interval: within a feed the finest, across feeds the lowest rank.

Borders and the net are resolved apart; the fuels of one interval together, so that a mix never has two publishers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from warehouse.rows.versions import LIVE, Flags, Ints, Versions

_CELL = 300
"""Seconds of a cell of the occupancy grid: every resolution below a year is a whole number of them."""


def served(versions: Versions, ranks: Mapping[str, int]) -> Flags:
    """Per version, whether it is what a reader gets now. Feeds that `ranks` does not name are withheld."""
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
    """The versions that were current at an instant, as if nothing had come later."""
    then = (versions.known_at <= at) & ((versions.superseded_at == LIVE) | (versions.superseded_at > at))
    return replace(versions.take(then), superseded_at=np.full(int(then.sum()), LIVE))


def _best(group: Versions, ranks: Mapping[str, int]) -> Flags:
    keep = np.zeros(len(group), np.bool_)
    used = {group.labels[number].feed for number in np.unique(group.label)}
    feeds = sorted(used, key=lambda feed: (ranks[feed], feed))
    grid = _Grid(group)
    for feed in feeds:
        own = np.flatnonzero(group.where(lambda labels, feed=feed: labels.feed == feed))  # type: ignore[misc]
        own = own[_finest(group.take(own))]
        own = own[~grid.touched(own)]
        grid.occupy(own)
        keep[own] = True
    return keep


def _finest(own: Versions) -> Ints:
    """Indexes of one feed's rows of which no finer row of the same fuel, border and link overlaps any part."""
    if len({s.resolution for s in own.labels}) == 1:
        return np.arange(len(own))
    identity = own.codes("fuel", "counterparty", "link")
    seconds = own.seconds()
    chosen = []
    for number in np.unique(identity):
        rows = np.flatnonzero(identity == number)
        grid = _Grid(own)
        for step in np.unique(seconds[rows]):
            finer = rows[seconds[rows] == step]
            finer = finer[~grid.touched(finer)]
            grid.occupy(finer)
            chosen.append(finer)
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


class _Grid:
    """Which 5-minute cells of the rows' span are taken; rows are named by their index."""

    def __init__(self, rows: Versions) -> None:
        origin = int(rows.ts.min()) // _CELL
        self._first = rows.ts // _CELL - origin
        self._last = -(-(rows.ts + rows.seconds()) // _CELL) - origin
        self._edges = np.zeros(int(self._last.max()) + 2, np.int64)

    def occupy(self, rows: Ints) -> None:
        np.add.at(self._edges, self._first[rows], 1)
        np.add.at(self._edges, self._last[rows], -1)

    def touched(self, rows: Ints) -> Flags:
        """Whether any cell of each row is taken."""
        taken = np.cumsum(np.cumsum(self._edges) > 0)
        before = np.where(self._first[rows] > 0, taken[self._first[rows] - 1], 0)
        return np.asarray(taken[self._last[rows] - 1] > before)
