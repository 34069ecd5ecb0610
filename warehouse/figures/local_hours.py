"""The hour of civil time of many instants at once. Market days and windows: see `warehouse.market.clock`."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from warehouse.market.clock import DAY, HOUR, zone_of
from warehouse.rows.versions import Ints


def hours(ts: Ints, tz: str) -> Ints:
    """0..23: the hour that a clock in `tz` shows at each instant (Unix seconds UTC, any order)."""
    if not len(ts):
        return ts
    since, offsets = _offsets(tz, int(ts.min()), int(ts.max()))
    return (ts + offsets[np.searchsorted(since, ts, side="right") - 1]) // HOUR % 24


def _offsets(tz: str, first: int, last: int) -> tuple[Ints, Ints]:
    """The instants from `first` to `last` at which a UTC offset (seconds) begins; no zone changes twice a day."""
    since, offsets = [first], [_offset(tz, first)]
    for before in range(first, last, DAY):
        after = min(before + DAY, last)
        if _offset(tz, after) != offsets[-1]:
            since.append(_change(tz, before, after))
            offsets.append(_offset(tz, after))
    return np.array(since, np.int64), np.array(offsets, np.int64)


def _change(tz: str, before: int, after: int) -> int:
    """The first instant of the new offset between two instants that differ in theirs."""
    old = _offset(tz, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(tz, middle) == old:
            before = middle
        else:
            after = middle
    return after


def _offset(tz: str, ts: int) -> int:
    offset = datetime.fromtimestamp(ts, zone_of(tz)).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
