"""Find the newest complete interval of a zone's mix: every fuel present 24 hours earlier has a row.

Publishers release fuels one after another, so the newest interval with any row may lack some. A longer row covers the
shorter intervals inside it: half an hour of rooftop solar covers its five-minute intervals.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from warehouse.market.clock import DAY, Window
from warehouse.rows.versions import Flags, Ints
from warehouse.series.row_columns import RowColumns


class WholeMix(NamedTuple):
    """A complete interval: its start (Unix seconds UTC), and the row of each fuel that covers it."""

    ts: int
    rows: RowColumns


def newest_whole(rows: RowColumns, window: Window, left_out: Collection[str] = ()) -> WholeMix | None:
    """Return the newest complete interval that starts in a window; None if there is none.

    `rows` are those of a mix, since one day before the window. Fuels of `left_out` do not count.
    """
    if left_out:
        rows = rows.take(np.array([label.fuel not in left_out for label in rows.labels], np.bool_)[rows.label])
    starts = np.unique(rows.ts[slice(*rows.between(window))])
    ends, fuels = rows.ts + rows.seconds(), np.array([label.fuel for label in rows.labels])[rows.label]
    lacks = np.zeros(len(starts), np.bool_)
    for fuel in np.unique(fuels):
        own = fuels == fuel
        lacks |= _covers(rows.ts[own], ends[own], starts - DAY) & ~_covers(rows.ts[own], ends[own], starts)
    if lacks.all():
        return None
    ts = int(starts[~lacks][-1])
    return WholeMix(ts, rows.take((rows.ts <= ts) & (ts < ends)))


def _covers(starts: Ints, ends: Ints, at: Ints) -> Flags:
    """Return for each time whether one of the intervals, which ascend without overlap, covers it."""
    place = np.searchsorted(starts, at, side="right") - 1
    covers: Flags = (place >= 0) & (ends[place] > at)
    return covers
