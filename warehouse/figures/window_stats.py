"""Counts over one series: the current row, how much of its 30 days lies below it, where the quantiles lie.

Weights are whole seconds and nothing is rounded: every count is exact. What they mean: see `warehouse.figures.context`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from warehouse.figures import local_hours
from warehouse.market.clock import DAY
from warehouse.rows.versions import Flags, Floats, Ints
from warehouse.series.reader import RowColumns

WINDOW_S = 30 * DAY
TENTHS = (1, 5, 9)


class Share(NamedTuple):
    """How much of some rows lies below the current value: seconds, but `samples` is a count of rows."""

    samples: int
    total: int
    below: int
    equal: int


@dataclass(frozen=True, slots=True)
class WindowStats:
    """The counts of one series at an instant. `row` and `reference` index its rows; -1 where there is none."""

    row: int
    """The current row: the last that has begun."""
    next_ts: int | None
    """The start of the row after it, where already known."""
    reference: int
    """The row whose interval contains the instant 24 hours before the current row's start."""
    first_ts: int
    """The start of the first row of the window; the current row's where the window is empty."""
    window: Share
    """The rows of the 30 days before the current one."""
    same_hour: Share
    """Those of them that start in the same hour of civil time."""
    low: float
    high: float
    cuts: tuple[tuple[float, float], ...]
    """For p10, median and p90 the two values around it: equal unless the quantile falls exactly between two rows."""


def window_stats(rows: RowColumns, tz: str, as_of: int) -> WindowStats | None:
    """The counts of a series' served rows at an instant (Unix seconds); None where no row has begun.

    Rows ascend, none over another. `tz`: civil time, for the hour of the day.
    """
    ts, seconds, values = rows.ts, rows.seconds(), rows.value
    row = int(np.searchsorted(ts, as_of, side="right")) - 1
    if row < 0:
        return None
    current = int(ts[row])
    first = int(np.searchsorted(ts, current - WINDOW_S))
    before = slice(first, row)
    value, weight = values[before], np.minimum(seconds[before], current - ts[before])
    hours = local_hours.hours(ts[first : row + 1], tz)
    reference = int(np.searchsorted(ts, current - DAY, side="right")) - 1
    if reference >= 0 and ts[reference] + seconds[reference] <= current - DAY:
        reference = -1
    return WindowStats(
        row,
        int(ts[row + 1]) if row + 1 < len(ts) else None,
        reference,
        int(ts[first]),
        _share(value, weight, values[row], np.ones(len(value), np.bool_)),
        _share(value, weight, values[row], hours[:-1] == hours[-1]),
        float(value.min(initial=np.inf)),
        float(value.max(initial=-np.inf)),
        quantiles(value, weight),
    )


def _share(value: Floats, weight: Ints, x: float, chosen: Flags) -> Share:
    """How much of the chosen rows lies below a value."""

    def total(rows: Flags) -> int:
        return int(weight[chosen & rows].sum())

    return Share(int(chosen.sum()), total(chosen), total(value < x), total(value == x))


def quantiles(value: Floats, weight: Ints) -> tuple[tuple[float, float], ...]:
    """For p10, median and p90 of some weight (seconds) the two values around it; nothing without rows."""
    if not len(value):
        return ()
    order = np.argsort(value)
    # In whole numbers: the value at which ten times the weight reaches so many tenths of the whole.
    reached = 10 * np.cumsum(weight[order])
    cuts = reached[-1] // 10 * np.array(TENTHS)
    around = zip(np.searchsorted(reached, cuts), np.searchsorted(reached, cuts, side="right"), strict=True)
    return tuple((float(value[order[left]]), float(value[order[right]])) for left, right in around)
