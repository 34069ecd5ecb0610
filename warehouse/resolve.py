"""Which versions are served, interval by interval: within a feed the finest, across feeds the lowest rank (DESIGN.md section 4).

Borders and the net are resolved apart; the fuels of one interval together, so that a mix never has two publishers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warehouse.clock import RESOLUTIONS
from warehouse.monthfile import LIVE, Flags, Ints, Versions

_CELL = 300
"""Seconds of the occupancy grid: every resolution below a year is a whole number of them."""


def served(versions: Versions, ranks: Mapping[str, int]) -> Flags:
    """Per version, whether it is what a reader gets now. Feeds that `ranks` does not name are withheld."""
    keep = np.zeros(len(versions), np.bool_)
    if not len(versions):
        return keep
    live = versions.superseded_at == LIVE
    border = np.array([s.counterparty is not None or s.link is not None for s in versions.labels])[versions.label]
    feed = versions.column("feed")[versions.label]
    for side in (border, ~border):
        group = np.flatnonzero(live & side & np.isin(feed, [*ranks]))
        if len(group):
            keep[group[_best(versions.take(group), ranks)]] = True
    return keep


def known(versions: Versions, at: int) -> Versions:
    """The versions that were current at an instant, as if nothing had come later."""
    then = (versions.known_at <= at) & ((versions.superseded_at == LIVE) | (versions.superseded_at > at))
    found = versions.take(then)
    return Versions(found.labels, found.label, found.ts, found.value, found.known_at, np.full(len(found), LIVE))


def _best(group: Versions, ranks: Mapping[str, int]) -> Flags:
    keep = np.zeros(len(group), np.bool_)
    feeds = sorted({s.feed for s in group.labels if s.feed in ranks}, key=lambda f: (ranks[f], f))
    feed = group.column("feed")[group.label]
    taken = _Grid(group)
    for name in feeds:
        mine = np.flatnonzero(feed == name)
        if not len(mine):
            continue
        mine = mine[_finest(group.take(mine))]
        mine = mine[~taken.touched(mine)]
        taken.occupy(mine)
        keep[mine] = True
    return keep


def _finest(own: Versions) -> Ints:
    """Indexes of one feed's rows of which no finer row of the same fuel, border and link overlaps any part."""
    if len({s.resolution for s in own.labels}) == 1:
        return np.arange(len(own))
    lane_of: dict[tuple[str | None, ...], int] = {}
    lane = np.array([lane_of.setdefault((s.fuel, s.counterparty, s.link), len(lane_of)) for s in own.labels])[own.label]
    resolution = own.column("resolution")[own.label]
    chosen = []
    for number in range(len(lane_of)):
        rows = np.flatnonzero(lane == number)
        taken = _Grid(own)
        for step in sorted(set(resolution[rows]), key=RESOLUTIONS.__getitem__):
            finer = rows[resolution[rows] == step]
            finer = finer[~taken.touched(finer)]
            taken.occupy(finer)
            chosen.append(finer)
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


class _Grid:
    """Which 5-minute cells of the rows' span are taken. Rows know their cells by index."""

    def __init__(self, rows: Versions) -> None:
        seconds = np.array([RESOLUTIONS[s.resolution] for s in rows.labels] or [0])[rows.label]
        origin = int(rows.ts.min()) // _CELL
        self._first = rows.ts // _CELL - origin
        self._last = -(-(rows.ts + seconds) // _CELL) - origin
        self._marks = np.zeros(int(self._last.max()) + 2, np.int64)

    def occupy(self, rows: Ints) -> None:
        np.add.at(self._marks, self._first[rows], 1)
        np.add.at(self._marks, self._last[rows], -1)

    def touched(self, rows: Ints) -> Flags:
        """Whether any cell of each row is taken."""
        taken = np.cumsum(np.cumsum(self._marks) > 0)
        before = np.where(self._first[rows] > 0, taken[self._first[rows] - 1], 0)
        return np.asarray(taken[self._last[rows] - 1] > before)
