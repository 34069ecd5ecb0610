"""What clock and sky do to a grid: the hour that people live by, the season, the sun's height."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np

from assets.simulated.grid.noise import Floats, Ints
from warehouse.market.clock import DAY, HOUR, zone_of

YEAR = 365.2425 * DAY
_SETTLING = 12 * HOUR
"""People take half a day to follow a clock change: no curve leaps with it."""


def week_hour(ts: Ints, tz: str) -> Floats:
    """Hours since Monday's midnight in civil time, 0..168, sliding over clock changes."""
    local = ts + _offset(ts, tz)
    return (local / HOUR + 72.0) % 168.0  # 1970 began on a Thursday


def season(ts: Ints, peak_day: int) -> Floats:
    """1 on that day of the year, 0 for the half year around its opposite, smooth between."""
    angle = 2.0 * np.pi * (ts / YEAR - peak_day / 365.2425)
    share: Floats = np.maximum(0.0, np.cos(angle)) ** 2
    return share


def sun(ts: Ints, latitude: float, longitude: float) -> Floats:
    """The sine of the sun's height over the horizon, 0 at night: shape of `ts`."""
    declination = np.radians(-23.44) * np.cos(2.0 * np.pi * (ts / YEAR + 10 / 365.2425))
    hour_angle = 2.0 * np.pi * ((ts % DAY) / DAY + longitude / 360.0) - np.pi
    phi = np.radians(latitude)
    height = np.sin(phi) * np.sin(declination) + np.cos(phi) * np.cos(declination) * np.cos(hour_angle)
    sine: Floats = np.maximum(0.0, height)
    return sine


def _offset(ts: Ints, tz: str) -> Floats:
    """Seconds of local time ahead of UTC; it slides from the old to the new value around a clock change."""
    if not ts.size:
        return np.zeros(ts.shape)
    first, last = (datetime.fromtimestamp(int(edge), UTC).year for edge in (ts.min(), ts.max()))
    at, offset = _course(tz, first - 1, last + 1)
    seconds: Floats = np.interp(ts, at, offset)
    return seconds


@lru_cache(maxsize=256)
def _course(tz: str, first: int, last: int) -> tuple[Floats, Floats]:
    """The corners of the sliding offset over some years."""
    zone = zone_of(tz)
    start = datetime(first, 1, 1, tzinfo=UTC)
    offset = _seconds(start.astimezone(zone))
    at, offsets = [start.timestamp()], [offset]
    for day in range((datetime(last + 1, 1, 1, tzinfo=UTC) - start).days):
        moment = start + timedelta(days=day)
        after = _seconds((moment + timedelta(days=1)).astimezone(zone))
        if after != offset:
            change = next(
                hour for hour in range(25) if _seconds((moment + timedelta(hours=hour)).astimezone(zone)) == after
            )
            turn = (moment + timedelta(hours=change)).timestamp()
            at += [turn - _SETTLING / 2, turn + _SETTLING / 2]
            offsets += [offset, after]
            offset = after
    return np.array(at), np.array(offsets)


def _seconds(moment: datetime) -> float:
    shift = moment.utcoffset()
    return shift.total_seconds() if shift is not None else 0.0
