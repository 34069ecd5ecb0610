"""Compute statistics of a series over a window, weighted by time, for `?stats=true`. No files, no clock.

Every row counts for the part of its interval inside the window. Quantiles are of time: p10 is the lowest value such
that the series is at or below it for at least a tenth of the covered time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warehouse.rows.versions import Flags, Floats, Ints

FIRST_SPANS = 10
"""Number of listed periods beyond a threshold."""
_TENTHS = (1, 5, 9)


@dataclass(frozen=True, slots=True)
class TimeBeyond:
    """The time that a series spends above or below a threshold."""

    threshold: float
    hours: float
    intervals: int
    spans: int
    """Runs of adjoining intervals that are all beyond the threshold."""
    first: tuple[tuple[int, int], ...]
    """The first runs as `(start, end)`, Unix seconds UTC, cut to the window; at most FIRST_SPANS."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a series over a window, in the series' unit. `*_ts` is the earliest interval with the value."""

    count: int
    coverage: float
    """The covered part of the window, 0..1."""
    mean: float
    std: float
    """Standard deviation over time (of the population, which is the covered time)."""
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
    """Return the statistics of the rows `[ts, ts + seconds)` over `[start, end)`; None if no row overlaps it.

    Rows ascend by `ts` and do not overlap.
    """
    gathered = Gathered(start, end, above, below)
    gathered.add(ts, seconds, values)
    return gathered.statistics()


class Gathered:
    """The rows of one series over `[start, end)`, gathered month by month: 8 to 12 bytes per row."""

    def __init__(self, start: int, end: int, above: float | None = None, below: float | None = None) -> None:
        self._start, self._end = start, end
        self._values: list[Floats] = []
        self._weights: list[NDArray[np.uint32]] = []
        """A single number for a part whose rows have equal weights."""
        self._least: tuple[float, int] | None = None
        self._most: tuple[float, int] | None = None
        self._above = None if above is None else _Runs(above)
        self._below = None if below is None else _Runs(below)

    def add(self, ts: Ints, seconds: Ints, values: Floats) -> None:
        """Add the rows `[ts, ts + seconds)`, which follow the rows added before; they ascend and do not overlap."""
        begin, until = np.maximum(ts, self._start), np.minimum(ts + seconds, self._end)
        inside = until > begin
        if not inside.any():
            return
        if not inside.all():
            ts, values, begin, until = ts[inside], values[inside], begin[inside], until[inside]
        weights = (until - begin).astype(np.uint32)
        self._values.append(values.copy())  # a copy, since a view would keep its base in memory
        self._weights.append(weights[:1].copy() if (weights == weights[0]).all() else weights)
        low, high = int(values.argmin()), int(values.argmax())
        if self._least is None or values[low] < self._least[0]:
            self._least = float(values[low]), int(ts[low])
        if self._most is None or values[high] > self._most[0]:
            self._most = float(values[high]), int(ts[high])
        if self._above is not None:
            self._above.add(values > self._above.threshold, begin, until)
        if self._below is not None:
            self._below.add(values < self._below.threshold, begin, until)

    def statistics(self) -> Statistics | None:
        """Return the statistics and forget the rows; None without rows."""
        if self._least is None or self._most is None:
            return None
        parts = [*zip(self._values, self._weights, strict=True)]
        count = sum(map(len, self._values))
        covered = sum(int(weights.sum()) * (len(values) if len(weights) == 1 else 1) for values, weights in parts)
        mean = sum(_dot(values, weights) for values, weights in parts) / covered
        square = sum(_dot((values - mean) ** 2, weights) for values, weights in parts)
        values, weights = np.concatenate(self._values), self._joined_weights()
        parts, self._values, self._weights = [], [], []
        (p10, _), (p50, _), (p90, _) = quantiles(values, weights)
        return Statistics(
            count,
            covered / (self._end - self._start),
            mean,
            float(np.sqrt(square / covered)),
            *self._least,
            *self._most,
            p10,
            p50,
            p90,
            None if self._above is None else self._above.beyond(),
            None if self._below is None else self._below.beyond(),
        )

    def _joined_weights(self) -> Ints | NDArray[np.uint32]:
        """Return the weight of each row; a single number if they are equal."""
        if len({int(weights[0]) for weights in self._weights if len(weights) == 1}) == 1 and all(
            len(weights) == 1 for weights in self._weights
        ):
            return self._weights[0]
        pairs = zip(self._weights, self._values, strict=True)
        return np.concatenate([np.broadcast_to(weights, len(values)) for weights, values in pairs])


def _dot(values: Floats, weights: NDArray[np.uint32]) -> float:
    """Return the sum of values times weights. `weights` has one number for each value, or one for all."""
    return float(values.sum() * weights[0]) if len(weights) == 1 else float(np.dot(values, weights))


class _Runs:
    """The runs of rows beyond a threshold, part by part."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._seconds = self._rows = self._spans = 0
        self._first: list[tuple[int, int]] = []
        self._until: int | None = None
        """The end of the last row, if it is beyond the threshold."""

    def add(self, mask: Flags, begin: Ints, until: Ints) -> None:
        """Add rows; those of `mask` are beyond the threshold."""
        rows = np.flatnonzero(mask)
        if not len(rows):
            self._until = None
            return
        opens = np.ones(len(rows), dtype=bool)
        # A run continues if the next row adjoins it in time.
        opens[1:] = (np.diff(rows) > 1) | (begin[rows[1:]] != until[rows[:-1]])
        starts = begin[rows[opens]]
        ends = until[rows[np.append(np.flatnonzero(opens)[1:] - 1, len(rows) - 1)]]
        goes_on = rows[0] == 0 and self._until == starts[0]
        if goes_on and self._spans <= FIRST_SPANS:
            self._first[-1] = self._first[-1][0], int(ends[0])
        new = slice(int(goes_on), int(goes_on) + FIRST_SPANS - len(self._first))
        self._first += zip(starts[new].tolist(), ends[new].tolist(), strict=True)
        self._spans += len(starts) - int(goes_on)
        self._seconds += int((until[rows] - begin[rows]).sum())
        self._rows += len(rows)
        self._until = int(ends[-1]) if rows[-1] == len(mask) - 1 else None

    def beyond(self) -> TimeBeyond:
        """Return the result over all rows."""
        return TimeBeyond(self.threshold, self._seconds / 3600, self._rows, self._spans, tuple(self._first))


def quantiles(values: Floats, weights: Ints | NDArray[np.uint32]) -> tuple[tuple[float, float], ...]:
    """Return the two values around the p10, median and p90 of some weight (whole seconds, above 0).

    The two are equal unless the quantile falls exactly between two rows. `weights` has one number if all are equal.
    """
    if (weights == weights[0]).all():  # the usual case: a million values are only partly sorted
        tenths = len(values) * np.array(_TENTHS)
        places = np.stack([(tenths - 1) // 10, tenths // 10], axis=1)
        return tuple(map(tuple, np.partition(values, places.ravel())[places].tolist()))
    order = np.argsort(values)
    # In whole numbers: the value at which ten times the weight reaches the given tenths of the total.
    reached = np.cumsum(weights[order], dtype=np.int64)
    reached *= 10
    cuts = reached[-1] // 10 * np.array(_TENTHS)
    around = zip(np.searchsorted(reached, cuts), np.searchsorted(reached, cuts, side="right"), strict=True)
    return tuple((float(values[order[left]]), float(values[order[right]])) for left, right in around)
