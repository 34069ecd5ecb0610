"""Whose rows an answer gives: the codes of their sources, in the order of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from api.documents.catalogue import Catalogue
from api.series import stored_rows
from api.series.paging import RowSlice
from api.series.query import Plan
from warehouse import clock
from warehouse.clock import DAY, HOUR, LAST_INSTANT, MarketDay, Window
from warehouse.market import Metric
from warehouse.reader import Reader, RowColumns
from warehouse.resample import Interval
from warehouse.zones import ZONES


def of_window(reader: Reader, plan: Plan, window: Window) -> tuple[str, ...]:
    """Those of all rows of a window, whatever page of it is given, and of those that its last mean is taken of.

    Raises StorageError, FileReplaced.
    """
    query = plan.query
    if query.interval is not None:
        window = _with_last_mean(window, query.interval, ZONES[query.zone].tz)
    codes: set[str] = set()
    if query.as_of is not None or query.metric is Metric.CAPACITY:
        for rows in stored_rows.stored(reader, plan, "asc", window):
            codes |= _named(rows, *rows.between(window))
        return _served(codes, plan.catalogue)
    side = stored_rows.side(query)
    for file in plan.files:
        month = clock.month_window(file.month)
        if window.start <= month.start and month.end <= window.end:
            carriers = reader.carriers(file, side)
        else:
            carriers = frozenset((label.source, label.feed) for label in reader.labels(file, side, window))
        served = [source for source, feed in carriers if feed not in plan.catalogue.withheld]
        codes |= {word for source in served for word in source.split(", ")}
    return _served(codes, plan.catalogue)


def _with_last_mean(window: Window, interval: Interval, tz: str) -> Window:
    """A window up to the end of the last interval that begins in it."""
    if interval == "1d":
        # The last two days of all have no civil end that Python can tell; no row lies there.
        last: Window | MarketDay = MarketDay.at(min(window.end - 1, LAST_INSTANT - 2 * DAY), tz)
    else:
        last = Window((begin := (window.end - 1) // HOUR * HOUR), begin + HOUR)
    return Window(window.start, max(window.end, last.end)) if last.start >= window.start else window


def of_slices(catalogue: Catalogue, slices: Iterable[RowSlice]) -> tuple[str, ...]:
    """Those of these rows alone."""
    codes: set[str] = set()
    for piece in slices:
        codes |= _named(piece.columns, piece.first, piece.last)
    return _served(codes, catalogue)


def _served(codes: set[str], catalogue: Catalogue) -> tuple[str, ...]:
    return tuple(code for code, source in catalogue.sources.items() if code in codes and not source["withheld"])


def _named(rows: RowColumns, first: int, last: int) -> set[str]:
    if first >= last:
        return set()
    every = {word for label in rows.labels for word in label.source.split(", ")}
    if len(every) == 1:
        return every
    return {word for code in np.unique(rows.label[first:last]) for word in rows.labels[code].source.split(", ")}
