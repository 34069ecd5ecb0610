"""Counts over many series at once: the current row, how much of its 30 days lies below it, where the quantiles lie.

Weights are whole seconds and nothing is rounded: every count is exact. What they mean: see `warehouse.figures.context`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from warehouse.figures import local_hours
from warehouse.market.clock import DAY, SPREAD
from warehouse.rows.versions import Flags, Floats, Ints

WINDOW_S = 30 * DAY
_TENTHS = (1, 5, 9)


class SeriesHistory(NamedTuple):
    """The rows of one series as they became known: a later row of the same interval corrects an earlier one."""

    ts: Ints
    """Interval starts, Unix seconds UTC."""
    seconds: Ints
    """Interval lengths, above 0."""
    value: Floats
    """NaN where a publisher stated no value."""
    tz: str
    """Civil time, for the hour of the day."""


class Share(NamedTuple):
    """How much of some rows lies below the current value: seconds, but `samples` is a count of rows."""

    samples: int
    total: int
    below: int
    equal: int


@dataclass(frozen=True, slots=True)
class WindowStats:
    """The counts of one series at an instant. `row` and `reference` index its history; -1 where there is none."""

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


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of all series, ascending by series and start."""

    series: Ints
    ts: Ints
    seconds: Ints
    value: Floats
    row: Ints

    @property
    def at(self) -> Ints:
        """One ascending number per row: its series and its start."""
        return self.series * SPREAD + self.ts

    def take(self, chosen: Flags | Ints) -> _Rows:
        return _Rows(self.series[chosen], self.ts[chosen], self.seconds[chosen], self.value[chosen], self.row[chosen])


class _Window(NamedTuple):
    """The rows of every series' window one after the other; `place` numbers the series that have a current row."""

    place: Ints
    weight: Ints
    value: Floats
    same_hour: Flags


def window_stats(histories: Sequence[SeriesHistory], as_of: int) -> list[WindowStats | None]:
    """The counts of each series at an instant (Unix seconds); None where no row has begun."""
    rows = _finest(_corrected(_joined(histories)))
    at = rows.at
    current = _current(at, len(histories), as_of)
    begun = np.flatnonzero(current >= 0)
    counted = _counted(rows, at, current[begun], [histories[number].tz for number in begun.tolist()])
    by_number = dict(zip(begun.tolist(), counted, strict=True))
    return [by_number.get(number) for number in range(len(histories))]


def _current(at: Ints, count: int, as_of: int) -> Ints:
    """Per series the index of its last row that has begun; -1 where none has."""
    first = np.arange(count, dtype=np.int64) * SPREAD
    last = np.searchsorted(at, first + as_of, side="right") - 1
    return np.where(last >= np.searchsorted(at, first), last, -1)


def _joined(histories: Sequence[SeriesHistory]) -> _Rows:
    """All rows that have a value, by series, in the order in which they became known."""
    none = np.empty(0, np.int64)
    lengths = [len(history.ts) for history in histories]
    rows = _Rows(
        np.repeat(np.arange(len(histories), dtype=np.int64), lengths),
        np.concatenate([none, *(history.ts for history in histories)]),
        np.concatenate([none, *(history.seconds for history in histories)]),
        np.concatenate([np.empty(0), *(history.value for history in histories)]),
        np.concatenate([none, *(np.arange(n, dtype=np.int64) for n in lengths)]),
    )
    return rows.take(np.isfinite(rows.value))


def _corrected(rows: _Rows) -> _Rows:
    """The rows by series and start; of two of one interval the later."""
    at = rows.at
    if (at[1:] > at[:-1]).all():
        return rows
    rows = rows.take(np.lexsort((rows.row, rows.seconds, at)))
    at = rows.at
    replaced = (at[1:] == at[:-1]) & (rows.seconds[1:] == rows.seconds[:-1])
    return rows.take(np.append(~replaced, True)[: len(at)])


def _finest(rows: _Rows) -> _Rows:
    """The rows that no finer row of their series overlaps, even in part."""
    keep = np.ones(len(rows.ts), np.bool_)
    starts, ends = rows.at[:0], rows.at[:0]
    for seconds in np.unique(rows.seconds):
        level = np.flatnonzero(rows.seconds == seconds)
        start = rows.at[level]
        covered = np.searchsorted(starts, start + seconds) > np.searchsorted(ends, start, side="right")
        keep[level[covered]] = False
        starts = np.sort(np.concatenate([starts, start[~covered]]))
        ends = np.sort(np.concatenate([ends, start[~covered] + seconds]))
    return rows.take(keep)


def _counted(rows: _Rows, at: Ints, current: Ints, tz: Sequence[str]) -> list[WindowStats]:
    """The counts of the series whose current rows have these indexes."""
    if not len(current):
        return []
    base = rows.series[current] * SPREAD
    first = np.searchsorted(at, base + np.maximum(rows.ts[current] - WINDOW_S, 0))
    window = _window(rows, first, current, tz)
    x = rows.value[current]
    every = _shares(window, x, np.ones(len(window.place), np.bool_))
    same_hour = _shares(window, x, window.same_hour)
    quantiles = _quantiles(window, len(current))
    references = _references(rows, at, base, current)
    following = np.append(rows.series, -1)[current + 1] == rows.series[current]
    return [
        WindowStats(
            int(rows.row[i]),
            int(rows.ts[i + 1]) if following[n] else None,
            int(rows.row[r]) if r >= 0 else -1,
            int(rows.ts[first[n]]),
            every[n],
            same_hour[n],
            *quantiles[n],
        )
        for n, (i, r) in enumerate(zip(current, references, strict=True))
    ]


def _window(rows: _Rows, first: Ints, current: Ints, tz: Sequence[str]) -> _Window:
    """The rows from `first` up to each current one; a row that reaches into the current one weighs only until there."""
    sizes = current - first
    place = np.repeat(np.arange(len(current), dtype=np.int64), sizes)
    index = np.arange(len(place), dtype=np.int64) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    weight = np.minimum(rows.seconds[index], rows.ts[current][place] - rows.ts[index])
    same_hour = [
        hours[:-1] == hours[-1]
        for a, b, name in zip(first, current, tz, strict=True)
        for hours in [local_hours.hours(rows.ts[a : b + 1], name)]
    ]
    return _Window(place, weight, rows.value[index], np.concatenate(same_hour))


def _shares(window: _Window, x: Floats, chosen: Flags) -> list[Share]:
    place, weight, value = window.place[chosen], window.weight[chosen], window.value[chosen]

    def seconds(rows: Flags) -> Ints:
        return np.bincount(place[rows], weight[rows], len(x)).astype(np.int64)

    every = np.ones(len(place), np.bool_)
    samples = np.bincount(place, minlength=len(x))
    columns = samples, seconds(every), seconds(value < x[place]), seconds(value == x[place])
    return [Share(*(int(part) for part in parts)) for parts in zip(*columns, strict=True)]


def _quantiles(window: _Window, count: int) -> list[tuple[float, float, tuple[tuple[float, float], ...]]]:
    """Lowest, highest and the three quantiles of each window; NaN and none where it is empty."""
    order = np.lexsort((window.value, window.place))
    value, place = window.value[order], window.place[order]
    total = np.bincount(place, window.weight[order], count).astype(np.int64)
    begin = np.searchsorted(place, np.arange(count))
    before = (np.cumsum(total) - total) * 10
    reached = np.cumsum(window.weight[order]) * 10
    cuts = []
    for tenth in _TENTHS:
        target = before + total * tenth
        left = np.searchsorted(reached, target)
        right = np.searchsorted(reached, target, side="right")
        cuts.append((left, right))
    last = np.searchsorted(place, np.arange(count), side="right") - 1
    return [
        (
            float(value[begin[n]]),
            float(value[last[n]]),
            tuple((float(value[a[n]]), float(value[b[n]])) for a, b in cuts),
        )
        if total[n]
        else (np.nan, np.nan, ())
        for n in range(count)
    ]


def _references(rows: _Rows, at: Ints, base: Ints, current: Ints) -> Ints:
    """Index of the row that contains the instant a day before each current start, or -1."""
    moment = rows.ts[current] - DAY
    index = np.searchsorted(at, base + np.maximum(moment, 0), side="right") - 1
    inside = (
        (index >= 0) & (rows.series[index] == rows.series[current]) & (rows.ts[index] + rows.seconds[index] > moment)
    )
    return np.where(inside & (rows.ts[index] <= moment), index, -1)
