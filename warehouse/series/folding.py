"""Merge rows into the monthly files of the series store.

`warehouse.rows.resolve` handles ranks and finest intervals, `warehouse.series.month_versions` the history of a month,
and `warehouse.series.reader` the reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from warehouse.errors import StorageError
from warehouse.market import clock
from warehouse.market.clock import Window, month_window, months
from warehouse.market.feeds import Terms
from warehouse.rows.merging import merging_of
from warehouse.rows.schema import Readings, Rows, SeriesKey
from warehouse.rows.versions import LIVE, NEVER, Floats, RowLabels, Versions, empty
from warehouse.series import month_versions
from warehouse.series.month_versions import Merge, Month, StoredMonth
from warehouse.store import layout, modes
from warehouse.store.storage import Storage


@dataclass(frozen=True, slots=True)
class Folded:
    """The effect of one merge on a month of a zone's metric, in numbers of rows."""

    zone: str
    metric: str
    month: str
    added: int
    changed: int
    evicted: int
    unchanged: int

    @property
    def wrote(self) -> bool:
        return bool(self.added or self.changed or self.evicted)


def fold(
    storage: Storage,
    feed: str,
    rows: Rows,
    covered: Mapping[tuple[str, str], Sequence[Window]],
    ranks: Mapping[str, int],
    known_at: int | None,
    mode: str,
    terms: Mapping[str, Terms] | None = None,
) -> list[Folded]:
    """Merge a feed's rows into the monthly files; return the effect on each month.

    `covered` names, per (zone, metric), the ranges that the responses cover completely. In these ranges, the feed's
    rows that the responses no longer contain are superseded. Outside them, rows are only added or corrected. Rows of
    other feeds do not change. A month without new rows is not written. A damaged month is marked and not changed: its
    rebuild reads these rows from the raw archive. If `known_at` is None, it is the time right before the month is
    written, so that no reader has used it yet. `mode` is the mode of the rows; raises WrongMode if the warehouse has
    another one. `terms` are the terms of each source, which the files state. Raises StorageError if a month cannot be
    merged, after the others.
    """
    modes.ensure(storage, mode)
    by_place: dict[tuple[str, str], list[tuple[SeriesKey, Readings]]] = defaultdict(list)
    for key, readings in rows.readings.items():
        by_place[key.metric, key.zone].append((key, readings))
    work: dict[Month, Versions] = {}
    for (metric, zone), series in by_place.items():
        versions = as_versions(feed, series, 0 if known_at is None else known_at)
        work |= {Month(metric, zone, month): part for month, part in _by_month(versions)}
    for (zone, metric), spans in covered.items():
        for month in (month for span in spans for month in months(span)):
            work.setdefault(Month(metric, zone, month), empty())
    write = partial(month_versions.update, storage, ranks=ranks, mode=mode, feed=feed, terms=terms)
    folded, failures = list[Folded](), list[StorageError]()
    for place, new in sorted(work.items(), key=itemgetter(0)):
        try:
            folded.append(_fold_month(write, feed, place, new, covered.get((place.zone, place.metric), ()), known_at))
        except StorageError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return folded


def _by_month(versions: Versions) -> Iterator[tuple[str, Versions]]:
    if len(versions):
        for month in months(Window(int(versions.ts.min()), int(versions.ts.max()) + 1)):
            window = month_window(month)
            inside = (versions.ts >= window.start) & (versions.ts < window.end)
            if inside.any():
                yield month, versions.take(inside)


def as_versions(feed: str, series: Sequence[tuple[SeriesKey, Readings]], known_at: int) -> Versions:
    """Return the readings of a metric as live versions without duplicates."""
    if not series:
        return empty()
    source = feed.split(".", 1)[0]
    labels = tuple(
        RowLabels(k.fuel, k.counterparty, k.link, k.unit, k.resolution, source, feed, k.basis, k.factors)
        for k, _ in series
    )
    ts = np.concatenate([np.asarray(readings.ts, np.int64) for _, readings in series])
    lengths = [len(readings.ts) for _, readings in series]
    statements = Versions(
        labels,
        np.repeat(np.arange(len(series)), lengths),
        ts,
        np.concatenate([np.asarray(readings.values, np.float64) for _, readings in series]),
        np.full(len(ts), known_at),
        np.full(len(ts), LIVE),
        np.repeat([NEVER if k.published_at is None else k.published_at for k, _ in series], lengths),
        _bounds([readings for _, readings in series]),
    )
    return merging_of(series[0][0].metric).distinct(statements)


def _bounds(series: Sequence[Readings]) -> Floats | None:
    """Return the bounds of all readings, series by series, None if no reading has bounds."""
    if not any(readings.bounds for readings in series):
        return None
    none = (np.nan, np.nan)
    return np.array([pair for each in series for pair in each.bounds or [none] * len(each.ts)], np.float64)


def _fold_month(
    write: Callable[[Month, Merge], bool],
    feed: str,
    place: Month,
    new: Versions,
    spans: Sequence[Window],
    known_at: int | None,
) -> Folded:
    folded = Folded(place.zone, place.metric, place.month, 0, 0, 0, 0)

    def merge(stored_month: StoredMonth) -> Versions | None:
        nonlocal folded
        at = clock.now() if known_at is None else known_at
        now_known = replace(new, known_at=np.full(len(new), at))
        merged, counts = merging_of(place.metric).fold(stored_month.versions, now_known, feed, spans, at)
        folded = Folded(place.zone, place.metric, place.month, *counts)
        return merged if folded.wrote else None

    write(place, merge)
    return folded


def served_months(storage: Storage, metric: str, zone: str) -> list[str]:
    """Return every month (`2026-11`) of a zone's metric with a served file, in ascending order."""
    keys = storage.keys(layout.series_prefix(metric, zone))
    return [layout.of_series(key)[2] for key in keys if layout.is_month_file(key)]


def places(storage: Storage, metric: str = "", zone: str = "") -> list[tuple[str, str, str]]:
    """Return every (metric, zone, month) with a file, either served or history."""
    keys = storage.keys(layout.series_prefix(metric, zone)) + storage.keys(layout.history_prefix(metric, zone))
    return sorted({layout.of_series(key)[:3] for key in keys if layout.is_month_file(key)})
