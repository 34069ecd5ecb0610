"""The hour of civil time of many instants at once. Market days and windows: see `warehouse.market.clock`."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import numpy as np

from warehouse.market.clock import zone_of
from warehouse.rows.versions import Ints

_QUARTER = 900
"""Seconds: clocks change at whole quarter hours, and by whole ones."""


def hours(ts: Ints, tz: str) -> Ints:
    """0..23: the hour that a clock in `tz` shows at each instant (Unix seconds UTC, any order)."""
    quarters, place = np.unique(ts // _QUARTER, return_inverse=True)
    return np.array([_hour(tz, quarter) for quarter in quarters.tolist()], np.int64)[place]


@lru_cache(maxsize=1 << 17)
def _hour(tz: str, quarter: int) -> int:
    return datetime.fromtimestamp(quarter * _QUARTER, zone_of(tz)).hour
