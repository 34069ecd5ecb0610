"""Find level shifts that a parser cannot see: doubled demand, a price in another unit, a flow with the opposite sign.

A day's hourly means are compared with the same hours of the previous two weeks, by median and spread, and with the
stored values of those hours. If they disagree, another feed is compared. A shift is always reported: as a warning if
only the series' own past disagrees, as an error with quarantined rows if another feed disagrees too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from warehouse.market.clock import DAY, HOUR, Window, iso
from warehouse.market.metric_definition import Tolerance
from warehouse.market.metrics import define
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Floats, Ints

REFERENCE_DAYS = 14
_LEAST_DAYS = 5
"""With fewer past days, days are not compared."""
_LEAST_HOURS = 4
"""With fewer hours, a day is not compared."""
_AGREE = 1.25
"""Two feeds agree if their levels differ by at most this factor, since their scopes of a metric differ."""
_LEAST_STEPS = 5 * 24
_JUMP = 1.5
"""A step larger than this multiple of the largest in two weeks is not due to weather."""
_RESTATED = 1.6
"""An interval that is restated by more than this factor is not a revision."""


def tolerance(metric: str, zone: str) -> Tolerance | None:
    """Return how far a zone's metric may move, None if its days are not compared."""
    level = define(metric).level
    return None if level is None else level(ZONES[zone])


class Hourly(NamedTuple):
    """Means by UTC hour, ascending. `hour` counts hours since 1970."""

    hour: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Shift:
    """A day whose level differs from that of its series. `level` and `usual` are in the series' unit."""

    day: Window
    level: float
    usual: float
    hours: int
    reason: str

    def __str__(self) -> str:
        span = f"{self.hours} hours from {iso(self.day.start)}"
        return f"{self.reason}: {self.level:.6g} instead of about {self.usual:.6g}, for {span}"


def hourly(ts: Ints, values: Floats) -> Hourly:
    """Return the mean of each UTC hour of some readings, which can be in any order."""
    hour, code = np.unique(ts // HOUR, return_inverse=True)
    return Hourly(hour, np.bincount(code, values) / np.maximum(np.bincount(code), 1))


def shifts(metric: str, zone: str, days: Sequence[Window], new: Hourly, stored: Hourly) -> list[Shift]:
    """Return the days whose new hours do not fit the stored values of their series.

    `stored` begins two weeks earlier. Days are checked in order: each day that fits belongs to the past of the next.
    """
    allowed = tolerance(metric, zone)
    if allowed is None or not len(new.hour):
        return []
    base = int(new.hour[0]) - REFERENCE_DAYS * 24
    past, fresh = (_spread_out(series, base, int(new.hour[-1]) - base + 1) for series in (stored, new))
    shifted = []
    for day in sorted(days):
        inside = np.arange(max(day.start // HOUR - base, 0), min(-(-day.end // HOUR) - base, len(fresh)))
        at = inside[np.isfinite(fresh[inside])] if len(inside) else inside
        if len(at) < _LEAST_HOURS:
            continue
        shift = _shift(day, allowed, fresh[at], past, at)
        if shift is None:
            past[at] = fresh[at]
        else:
            shifted.append(shift)
    return shifted


def _spread_out(series: Hourly, base: int, length: int) -> Floats:
    """Return one cell per hour from `base`, NaN for missing hours."""
    cells = np.full(length, np.nan)
    inside = (series.hour >= base) & (series.hour < base + length)
    cells[series.hour[inside] - base] = series.value[inside]
    return cells


def _shift(day: Window, allowed: Tolerance, values: Floats, past: Floats, at: Ints) -> Shift | None:
    level = _median(values)
    before = past[at[None, :] - 24 * np.arange(1, REFERENCE_DAYS + 1)[:, None]]
    before = before[np.isfinite(before).sum(axis=1) * 2 >= len(at)]
    if len(before) < _LEAST_DAYS:
        return None
    levels = _medians(before)
    usual, size = _median(levels), _median(np.abs(before).ravel())
    spread = max(
        1.4826 * _median(np.abs(levels - usual)),
        float(np.ptp(levels)) / 4,
        allowed.share * size,
        allowed.amount,
    )
    if abs(level - usual) > allowed.spreads * spread:
        return Shift(day, level, usual, len(at), "the level differs from the previous two weeks")
    return _jumped(day, values, past, int(at[0]), allowed.amount) or _restated(
        day, values, past[at], max(0.5 * size, 2 * allowed.amount)
    )


def _medians(rows: Floats) -> Floats:
    """Return the median of each row without its NaN, in a tenth of np.nanmedian's time. Each row needs a value."""
    ordered, count = np.sort(rows, axis=1), np.isfinite(rows).sum(axis=1)
    row = np.arange(len(rows))
    middle: Floats = (ordered[row, (count - 1) // 2] + ordered[row, count // 2]) / 2
    return middle


def _median(values: Floats) -> float:
    return float(_medians(values[None, :])[0])


def _jumped(day: Window, values: Floats, past: Floats, first: int, amount: float) -> Shift | None:
    """Return a shift if the step from the previous hour to the day is larger than any in the previous two weeks."""
    recent = past[max(first - REFERENCE_DAYS * 24, 0) : first]
    steps = np.abs(np.diff(recent))
    steps = steps[np.isfinite(steps)]
    if len(steps) < _LEAST_STEPS or not np.isfinite(recent[-1]):
        return None
    before, after = float(recent[-1]), float(values[0])
    if abs(after - before) <= max(_JUMP * float(steps.max()), 4 * amount):
        return None
    return Shift(day, after, before, len(values), "the value jumps from the previous hour")


def _restated(day: Window, values: Floats, stored: Floats, floor: float) -> Shift | None:
    """Return a shift if stored hours are restated by a common factor."""
    known = np.isfinite(stored) & (np.abs(np.nan_to_num(stored)) >= floor)
    if known.sum() < _LEAST_HOURS:
        return None
    factor = float(np.median(values[known] / stored[known]))
    if 1 / _RESTATED <= factor <= _RESTATED:
        return None
    reason = f"the stored values are restated by a factor of {factor:.3g}"
    return Shift(day, float(np.median(values[known])), float(np.median(stored[known])), int(known.sum()), reason)


def agree(metric: str, zone: str, day: Window, new: Hourly, other: Hourly) -> bool | None:
    """Return whether another feed has the same level in the common hours of a day, None if there are too few."""
    hours = np.intersect1d(new.hour, other.hour)
    hours = hours[(hours * HOUR >= day.start) & (hours * HOUR < day.end)]
    if len(hours) < _LEAST_HOURS:
        return None
    mine, theirs = (float(np.median(series.value[np.isin(series.hour, hours)])) for series in (new, other))
    allowed = tolerance(metric, zone)
    amount = 2 * allowed.amount if allowed is not None else 0.0
    return abs(mine - theirs) <= max((_AGREE - 1) * abs(theirs), amount)


def reference_window(days: Sequence[Window]) -> Window:
    """Return the window of stored rows that is needed to check at least one day."""
    return Window(min(day.start for day in days) - REFERENCE_DAYS * DAY - HOUR, max(day.end for day in days))
