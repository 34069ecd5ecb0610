"""Compute the effects of clock and sky on a grid: the local hour, the season and the sun's height."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import numpy as np

from assets.simulated.grid.noise import Floats, Ints
from warehouse.market.clock import DAY, HOUR, zone_of

YEAR = 365.2425 * DAY


def week_hour(ts: Ints, tz: str) -> Floats:
    """Return hours since Monday's midnight in civil time, 0..168, sliding over clock changes so that no curve jumps."""
    local = ts + _offset(ts, tz)
    return (local / HOUR + 72.0) % 168.0  # 1970 began on a Thursday


def season(ts: Ints, peak_day: int) -> Floats:
    """Return 1 on `peak_day` of the year, 0 for the half year around its opposite, with a smooth transition."""
    angle = 2.0 * np.pi * (ts / YEAR - peak_day / 365.2425)
    share: Floats = np.maximum(0.0, np.cos(angle)) ** 2
    return share


def sun(ts: Ints, latitude: float, longitude: float) -> Floats:
    """Return the sine of the sun's height over the horizon, 0 at night, in the shape of `ts`."""
    declination = np.radians(-23.44) * np.cos(2.0 * np.pi * (ts / YEAR + 10 / 365.2425))
    hour_angle = 2.0 * np.pi * ((ts % DAY) / DAY + longitude / 360.0) - np.pi
    phi = np.radians(latitude)
    height = np.sin(phi) * np.sin(declination) + np.cos(phi) * np.cos(declination) * np.cos(hour_angle)
    sine: Floats = np.maximum(0.0, height)
    return sine


def _offset(ts: Ints, tz: str) -> Floats:
    """Return the UTC offset in seconds: that of each day's noon, interpolated linearly between noons."""
    if not ts.size:
        return np.zeros(ts.shape)
    days = range(int(ts.min()) // DAY - 1, int(ts.max()) // DAY + 2)
    seconds: Floats = np.interp(ts, [day * DAY + DAY // 2 for day in days], [_at_noon(day, tz) for day in days])
    return seconds


@lru_cache(maxsize=65_536)
def _at_noon(day: int, tz: str) -> float:
    shift = datetime.fromtimestamp(day * DAY + DAY // 2, zone_of(tz)).utcoffset()
    return shift.total_seconds() if shift is not None else 0.0
