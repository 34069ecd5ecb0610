"""Resample rows to time-weighted means over UTC hours and civil days, ISO weeks, months and years.

Nothing is interpolated. A row counts for the interval in which it starts, up to that interval's end. If rows cover less
than half of an interval, it has no mean. Sums are whole numbers (millionths of the unit times seconds), so that a mean
does not depend on the order of rows or on earlier sums of days.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warehouse.market import clock
from warehouse.market.clock import DAY, HOUR, LAST_INSTANT, Window
from warehouse.rows.versions import Floats, Ints, RowLabels
from warehouse.series.row_columns import RowColumns

Interval = Literal["1h", "1d", "1w", "1mo", "1y"]
LONGEST: dict[Interval, int] = {"1h": HOUR, "1d": 25 * HOUR, "1w": 169 * HOUR, "1mo": 31 * DAY + HOUR, "1y": 366 * DAY}
"""Seconds of the longest interval of each kind: the clock changes once in a day, week and month, twice in a year."""
CIVIL = frozenset(LONGEST.keys() - {"1h"})
"""The intervals of a zone's civil calendar; hours are in UTC."""
LEAST_COVERAGE = 0.5
MILLION = 1_000_000
"""Values and means have six decimals; a mean is rounded, ties to the even digit."""


def interval_at(ts: int, interval: Interval, tz: str) -> Window:
    """Return the interval that contains `ts`; the civil calendar of `tz` ends two days before the last valid time."""
    if interval == "1h":
        start = ts // HOUR * HOUR
        return Window(start, start + HOUR)
    return _civil(clock.local_date(min(ts, LAST_INSTANT - 2 * DAY), tz), interval, tz)


@lru_cache(maxsize=65536)
def _civil(day: date, interval: Interval, tz: str) -> Window:
    first = _first_day(day, interval)
    days = {"1d": 1, "1w": 7, "1mo": 31, "1y": 366}[interval]
    try:
        end = clock.local_midnight(_first_day(first + timedelta(days=days), interval), tz)
    except OverflowError:
        end = LAST_INSTANT + 1
    return Window(clock.local_midnight(first, tz), end)


def _first_day(day: date, interval: Interval) -> date:
    if interval == "1w":
        return day - timedelta(days=day.weekday())
    return day if interval == "1d" else day.replace(day=1) if interval == "1mo" else day.replace(month=1, day=1)


def first_start(at: int, interval: Interval, tz: str) -> int:
    """Return the first time, not before `at`, at which an interval starts."""
    around = interval_at(at, interval, tz)
    return at if around.start == at else around.end


def chunks(window: Window, interval: Interval, tz: str) -> list[Window]:
    """Return consecutive ranges of complete intervals that contain every interval that starts in a window.

    A range has the hours or days of a month, or the longer intervals that start within a civil year.
    """
    whole: Interval = "1mo" if interval in ("1h", "1d") else "1y"
    tz = "UTC" if interval == "1h" else tz
    around = interval_at(interval_at(window.start, interval, tz).start, whole, tz)
    spans: list[Window] = []
    while not spans or spans[-1].end < window.end:
        spans.append(Window(first_start(around.start, interval, tz), first_start(around.end, interval, tz)))
        around = interval_at(around.end, whole, tz)
    return spans


def bounds(span: Window, interval: Interval, tz: str) -> Ints:
    """Return the starts of all intervals of a range of complete ones, and its end."""
    if interval == "1h":
        return np.arange(span.start, span.end + 1, HOUR, dtype=np.int64)
    starts = [span.start]
    while starts[-1] < span.end:
        starts.append(interval_at(starts[-1], interval, tz).end)
    return np.array(starts, np.int64)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over intervals as parallel columns, ascending by `ts`; `label` indexes `labels`."""

    labels: tuple[RowLabels, ...]
    """A sum over rows of several sources or sets of factors names all of them, separated by commas."""
    label: NDArray[np.int32]
    ts: Ints
    """The interval's start, Unix seconds UTC."""
    total: Ints
    """Values times seconds, in millionths of the unit."""
    covered: Ints
    """Seconds that rows cover."""
    samples: Ints
    """The number of these rows."""
    bounds: Ints | None = None
    """For estimates, low and high times seconds, like `total`, in two columns."""

    def __len__(self) -> int:
        return len(self.ts)

    def between(self, window: Window) -> Sums:
        """Return the sums of the intervals that start in a window."""
        first, last = np.searchsorted(self.ts, [window.start, window.end])
        bounds = None if self.bounds is None else self.bounds[first:last]
        return replace(Sums(self.labels, *(getattr(self, name)[first:last] for name in _COLUMNS)), bounds=bounds)


_COLUMNS = ("label", "ts", "total", "covered", "samples")


def joined(parts: Iterable[Sums]) -> Sums:
    """Return the sums of several parts, in sequence, with one list of labels."""
    listed, none = list(parts), np.empty(0, np.int64)
    begins = np.cumsum([0, *(len(part.labels) for part in listed)])
    label = np.concatenate([none, *(part.label + begin for part, begin in zip(listed, begins, strict=False))])
    columns = (np.concatenate([none, *(getattr(part, name) for part in listed)]) for name in _COLUMNS[1:])
    of_estimates = [part.bounds for part in listed if part.bounds is not None]
    bounds = np.concatenate(of_estimates) if of_estimates else None
    labels = tuple(label for part in listed for label in part.labels)
    return replace(Sums(labels, label.astype(np.int32), *columns), bounds=bounds)


def sums(rows: RowColumns, bounds: Ints) -> Sums:
    """Return the sums of rows over the intervals between `bounds`; rows ascend by ts, fuel, counterparty, link."""
    rows = rows.take(slice(*rows.between(Window(int(bounds[0]), int(bounds[-1])))))
    covered = np.minimum(rows.ts + rows.seconds(), bounds[np.searchsorted(bounds, rows.ts, side="right")]) - rows.ts
    total = np.rint(rows.value * MILLION).astype(np.int64) * covered
    limits = None if rows.bounds is None else np.rint(rows.bounds * MILLION).astype(np.int64) * covered[:, None]
    return merge(Sums(rows.labels, rows.label, rows.ts, total, covered, np.ones(len(rows), np.int64), limits), bounds)


def merge(parts: Sums, bounds: Ints) -> Sums:
    """Return sums over longer intervals: one per interval, fuel, border, interconnector and unit.

    Each part must be within one of these intervals.
    """
    if not len(parts):
        return parts
    keys = [(label.fuel, label.counterparty, label.link, label.unit) for label in parts.labels]
    identities = sorted(set(keys), key=lambda key: tuple(part or "" for part in key))
    names = [[*_named("source", label), *_named("factors", label)] for label in parts.labels]
    words = sorted({word for each in names for word in each})
    identity = np.array([identities.index(key) for key in keys])[parts.label]
    bits = np.array([sum(1 << words.index(word) for word in each) for each in names], np.int64)  # one per word
    bucket = np.searchsorted(bounds, parts.ts, side="right") - 1
    cell, code = np.unique(bucket * len(identities) + identity, return_inverse=True)
    total, covered, samples, among = np.zeros((4, len(cell)), np.int64)
    for column, addend in ((total, parts.total), (covered, parts.covered), (samples, parts.samples)):
        np.add.at(column, code, addend)
    np.bitwise_or.at(among, code, bits[parts.label])
    bucket, identity = np.divmod(cell, len(identities))
    kinds, label = np.unique(identity * (1 << len(words)) + among, return_inverse=True)
    labels = []
    for kind in kinds.tolist():
        number, chosen = divmod(kind, 1 << len(words))
        there = [word for place, word in enumerate(words) if chosen >> place & 1]
        source, factors = (", ".join(name for of, name in there if of == field) for field in ("source", "factors"))
        fuel, counterparty, link, unit = identities[number]
        labels.append(RowLabels(fuel, counterparty, link, unit, "", source, "", factors=factors or None))
    limits = None
    if parts.bounds is not None:
        limits = np.zeros((len(cell), 2), np.int64)
        np.add.at(limits, code, parts.bounds)
    return Sums(tuple(labels), label.astype(np.int32), bounds[bucket], total, covered, samples, limits)


def _named(field: Literal["source", "factors"], label: RowLabels) -> list[tuple[str, str]]:
    """Return the sources or sets of factors that a label names, each with the field's name."""
    return [(field, name) for name in (getattr(label, field) or "").split(", ") if name]


def means(parts: Sums, bounds: Ints, interval: Interval) -> RowColumns:
    """Return the mean of each interval between `bounds`, from sums that are each within one interval."""
    whole = merge(parts, bounds)
    length = np.diff(bounds)[np.searchsorted(bounds, whole.ts)]
    good = (whole.covered >= LEAST_COVERAGE * length) & _one_unit(whole)
    labels = tuple(
        label._replace(resolution=interval, factors=None if "," in (label.factors or "") else label.factors)
        for label in whole.labels
    )
    seconds = np.maximum(whole.covered, 1)
    value = rounded(whole.total, seconds) / MILLION
    limits = None if whole.bounds is None else rounded(whole.bounds, seconds[:, None]) / MILLION
    coverage: Floats = np.asarray(np.round(np.minimum(whole.covered / length, 1.0), 4), np.float64)
    return RowColumns(labels, whole.label, whole.ts, value, whole.samples, coverage, bounds=limits).take(good)


def rounded(numerator: Ints, denominator: Ints) -> Ints:
    """Return the whole number nearest to each quotient, ties to the even number; exact."""
    quotient, rest = np.divmod(numerator, denominator)
    up = (2 * rest > denominator) | ((2 * rest == denominator) & (quotient % 2 == 1))
    return np.asarray(quotient + up, np.int64)


def _one_unit(whole: Sums) -> NDArray[np.bool_]:
    """Return whether each interval of a series has only one unit: the hour of a currency change has no mean."""
    plain: dict[tuple[str | None, ...], int] = {}
    same = np.array([plain.setdefault(label[:3], len(plain)) for label in whole.labels], np.int64)[whole.label]
    _, back, count = np.unique(whole.ts * len(plain) + same, return_inverse=True, return_counts=True)
    return np.asarray(count[back] == 1)
