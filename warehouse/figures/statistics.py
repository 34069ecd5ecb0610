"""Statistics of one series over a window, weighted by time: what `?stats=true` answers. No files, no clock.

Every row counts for the part of its interval that lies inside the window. Quantiles are of time: p10 is the least value
such that at least a tenth of the covered time is at or below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.rows.versions import Flags, Floats, Ints

FIRST_SPANS = 10
"""How many of the spans beyond a threshold are named."""
_TENTHS = (1, 5, 9)


@dataclass(frozen=True, slots=True)
class TimeBeyond:
    """The time that a series spends above or below a threshold."""

    threshold: float
    hours: float
    intervals: int
    spans: int
    """Runs of adjoining intervals, all of them beyond the threshold."""
    first: tuple[tuple[int, int], ...]
    """The first of them as `(start, end)`, Unix seconds UTC, cut to the window; at most FIRST_SPANS."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """One series over one window, in the series' unit. `*_ts`: the earliest interval that has the value."""

    count: int
    coverage: float
    """The covered part of the window, 0..1."""
    mean: float
    std: float
    """Standard deviation over time (of the population: the covered time is all there is)."""
    min: float
    min_ts: int
    max: float
    max_ts: int
    p10: float
    p50: float
    p90: float
    above: TimeBeyond | None
    below: TimeBeyond | None


def statistics(
    ts: Ints,
    seconds: Ints,
    values: Floats,
    start: int,
    end: int,
    above: float | None = None,
    below: float | None = None,
) -> Statistics | None:
    """The statistics of the rows `[ts, ts + seconds)` over `[start, end)`; None where no row overlaps it.

    Rows ascend by `ts` and do not overlap.
    """
    begin, until = np.maximum(ts, start), np.minimum(ts + seconds, end)
    inside = until > begin
    if not inside.any():
        return None
    if not inside.all():
        ts, values, begin, until = ts[inside], values[inside], begin[inside], until[inside]
    weights = until - begin
    covered, shares = int(weights.sum()), weights.astype(np.float64)
    mean = float(np.dot(values, shares) / covered)
    deviation = values - mean
    low, high = int(values.argmin()), int(values.argmax())
    (p10, _), (p50, _), (p90, _) = quantiles(values, weights)
    return Statistics(
        len(values),
        covered / (end - start),
        mean,
        float(np.sqrt(np.dot(deviation * deviation, shares) / covered)),
        float(values[low]),
        int(ts[low]),
        float(values[high]),
        int(ts[high]),
        p10,
        p50,
        p90,
        None if above is None else _beyond(values > above, above, begin, until),
        None if below is None else _beyond(values < below, below, begin, until),
    )


def quantiles(values: Floats, weights: Ints) -> tuple[tuple[float, float], ...]:
    """For p10, median and p90 of some weight (whole seconds, more than none) the two values around it.

    They are equal unless the quantile falls exactly between two rows.
    """
    if (weights == weights[0]).all():  # the usual case: a million values are sorted in part alone
        tenths = len(values) * np.array(_TENTHS)
        places = np.stack([(tenths - 1) // 10, tenths // 10], axis=1)
        return tuple(map(tuple, np.partition(values, places.ravel())[places].tolist()))
    order = np.argsort(values)
    # In whole numbers: the value at which ten times the weight reaches so many tenths of the whole.
    reached = 10 * np.cumsum(weights[order])
    cuts = reached[-1] // 10 * np.array(_TENTHS)
    around = zip(np.searchsorted(reached, cuts), np.searchsorted(reached, cuts, side="right"), strict=True)
    return tuple((float(values[order[left]]), float(values[order[right]])) for left, right in around)


def _beyond(mask: Flags, threshold: float, begin: Ints, until: Ints) -> TimeBeyond:
    rows = np.flatnonzero(mask)
    if not len(rows):
        return TimeBeyond(threshold, 0.0, 0, 0, ())
    opens = np.ones(len(rows), dtype=bool)
    # A run goes on where the next row adjoins it in time.
    opens[1:] = (np.diff(rows) > 1) | (begin[rows[1:]] != until[rows[:-1]])
    starts = begin[rows[opens]]
    ends = until[rows[np.append(np.flatnonzero(opens)[1:] - 1, len(rows) - 1)]]
    hours = float((until[rows] - begin[rows]).sum() / 3600)
    first = tuple(zip(starts[:FIRST_SPANS].tolist(), ends[:FIRST_SPANS].tolist(), strict=True))
    return TimeBeyond(threshold, hours, len(rows), len(starts), first)
