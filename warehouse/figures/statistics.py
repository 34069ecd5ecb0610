"""Statistics of one series over a window, weighted by time: what `?stats=true` answers. No files, no clock.

Every row counts for the part of its interval that lies inside the window. Quantiles are of time: p10 is the least value
such that at least a tenth of the covered time is at or below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.figures import window_stats
from warehouse.rows.versions import Flags, Floats, Ints

FIRST_SPANS = 10
"""How many of the spans beyond a threshold are named."""


@dataclass(frozen=True, slots=True)
class Beyond:
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
    above: Beyond | None
    below: Beyond | None


def statistics(
    ts: Ints,
    seconds: Ints | int,
    values: Floats,
    start: int,
    end: int,
    above: float | None = None,
    below: float | None = None,
) -> Statistics | None:
    """The statistics of the rows `[ts, ts + seconds)` over `[start, end)`; None where no row overlaps it.

    Rows ascend by `ts` and do not overlap. `seconds` of each row, or of all.
    """
    ts, values, begin, weights = _within(ts, seconds, values, start, end)
    if not len(values):
        return None
    covered = _sum(weights, len(values))
    mean, std = _moments(values, weights, covered)
    low, high = int(values.argmin()), int(values.argmax())
    return Statistics(
        len(values),
        covered / (end - start),
        mean,
        std,
        float(values[low]),
        int(ts[low]),
        float(values[high]),
        int(ts[high]),
        *_quantiles(values, weights),
        None if above is None else _beyond(values > above, above, begin, begin + weights),
        None if below is None else _beyond(values < below, below, begin, begin + weights),
    )


def _within(
    ts: Ints, seconds: Ints | int, values: Floats, start: int, end: int
) -> tuple[Ints, Floats, Ints, Ints | int]:
    """Starts and values of the rows inside a window, where each begins there, and its seconds there (or of all)."""
    # A million rows are eight megabytes a column: of whole rows of one length, the usual question, none is made.
    if isinstance(seconds, int) and len(ts) and start <= ts[0] and ts[-1] + seconds <= end:
        return ts, values, ts, seconds
    begin, until = np.maximum(ts, start), np.minimum(ts + seconds, end)
    inside = until > begin
    if not inside.all():
        ts, values, begin, until = ts[inside], values[inside], begin[inside], until[inside]
    return ts, values, begin, until - begin


def _sum(weights: Ints | int, count: int) -> int:
    return weights * count if isinstance(weights, int) else int(weights.sum())


def _moments(values: Floats, weights: Ints | int, covered: int) -> tuple[float, float]:
    """Mean and standard deviation over time."""
    if isinstance(weights, int):
        mean = float(values.mean())
        deviation = values - mean
        return mean, float(np.sqrt(np.dot(deviation, deviation) / len(values)))
    shares = weights.astype(np.float64)
    mean = float(np.dot(values, shares) / covered)
    deviation = values - mean
    return mean, float(np.sqrt(np.dot(deviation * deviation, shares) / covered))


def _quantiles(values: Floats, weights: Ints | int) -> tuple[float, float, float]:
    """p10, p50, p90 of time."""
    if not isinstance(weights, int):
        p10, p50, p90 = (least for least, _ in window_stats.quantiles(values, weights))
        return p10, p50, p90
    ranks = [-(-tenth * len(values) // 10) - 1 for tenth in window_stats.TENTHS]
    p10, p50, p90 = np.partition(values, ranks)[ranks].tolist()
    return p10, p50, p90


def _beyond(mask: Flags, threshold: float, begin: Ints, until: Ints) -> Beyond:
    rows = np.flatnonzero(mask)
    if not len(rows):
        return Beyond(threshold, 0.0, 0, 0, ())
    opens = np.ones(len(rows), dtype=bool)
    # A run goes on where the next row adjoins it in time.
    opens[1:] = (np.diff(rows) > 1) | (begin[rows[1:]] != until[rows[:-1]])
    starts = begin[rows[opens]]
    ends = until[rows[np.append(np.flatnonzero(opens)[1:] - 1, len(rows) - 1)]]
    hours = float((until[rows] - begin[rows]).sum() / 3600)
    first = tuple(zip(starts[:FIRST_SPANS].tolist(), ends[:FIRST_SPANS].tolist(), strict=True))
    return Beyond(threshold, hours, len(rows), len(starts), first)
