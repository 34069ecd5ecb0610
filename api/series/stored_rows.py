"""The rows of a plan's files as its question wants them: of one side, without withheld feeds, as means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from api.documents.catalogue import Catalogue
from api.series.paging import Order
from api.series.query import Plan, Query
from warehouse import clock
from warehouse.clock import Window
from warehouse.market import Metric
from warehouse.reader import MonthFile, MonthFileSide, Reader, RowColumns, joined
from warehouse.resample import Interval, chunks, means
from warehouse.zones import ZONES

Part = TypeVar("Part")


def wanted(reader: Reader, plan: Plan, order: Order, window: Window) -> Iterator[RowColumns]:
    """The rows of each file, one after the other in the direction of `order`, as the question wants them.

    Those in the window, or more. Raises StorageError, FileReplaced.
    """
    query = plan.query
    if query.interval is not None:
        yield from _means(reader, plan, query.interval, order)
        return
    yield from stored(reader, plan, order, window)


def stored(reader: Reader, plan: Plan, order: Order, window: Window) -> Iterator[RowColumns]:
    """As `wanted`, never as means. Raises StorageError, FileReplaced."""
    query = plan.query
    for file in _directed(plan.files, order):
        rows = _allowed(_read(reader, plan, file, window), plan.catalogue)
        yield _of_years(rows, query.start) if query.metric is Metric.CAPACITY else rows


def known_since(reader: Reader, plan: Plan) -> int | None:
    """From when on the rows of a window were known, where the question's `as_of` lies before it; else None.

    What had been published by `as_of` nobody knows then. Raises StorageError, FileReplaced.
    """
    at = plan.query.as_of
    if at is None:
        return None
    sinces = [reader.known_since(file) for file in plan.files if clock.month_window(file.month).start <= at]
    return max((since for since in sinces if since > at), default=None)


def _directed(parts: tuple[Part, ...], order: Order) -> tuple[Part, ...]:
    return parts if order == "asc" else parts[::-1]


def side(query: Query) -> MonthFileSide:
    """Which rows of a month file the question is about."""
    return "borders" if query.borders else "net"


def _read(reader: Reader, plan: Plan, file: MonthFile, window: Window | None = None) -> RowColumns:
    query = plan.query
    if query.as_of is None:
        return reader.rows(file, side(query), window)
    return reader.known(file, query.as_of, plan.catalogue.ranks)[side(query)]


def _allowed(rows: RowColumns, catalogue: Catalogue) -> RowColumns:
    """Drops rows of withheld feeds, which an older month file may still hold until it is rebuilt."""
    if not catalogue.withheld or catalogue.withheld.isdisjoint(label.feed for label in rows.labels):
        return rows
    allowed = np.array([label.feed not in catalogue.withheld for label in rows.labels])
    return rows.take(allowed[rows.label])


def _of_years(rows: RowColumns, start: int) -> RowColumns:
    """The rows whose interval reaches past `start`."""
    if not len(rows):
        return rows
    ends = [
        clock.interval_end(int(ts), rows.labels[code].resolution) for ts, code in zip(rows.ts, rows.label, strict=True)
    ]
    return rows.take(np.array(ends) > start)


def _means(reader: Reader, plan: Plan, interval: Interval, order: Order) -> Iterator[RowColumns]:
    query, tz = plan.query, ZONES[plan.query.zone].tz
    windows = [clock.month_window(file.month) for file in plan.files]
    if not windows:
        return
    spans = {span for month in windows for span in chunks(month, interval, tz)}
    for span in _directed(tuple(sorted(spans)), order):
        if span.end <= query.start or span.start >= query.end:
            continue
        parts = [
            file
            for file, month in zip(plan.files, windows, strict=True)
            if month.start < span.end and span.start < month.end
        ]
        yield means(joined(_allowed(_read(reader, plan, file), plan.catalogue) for file in parts), span, interval, tz)
