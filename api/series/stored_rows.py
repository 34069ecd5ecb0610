"""The rows of a plan's files as its request wants them (one side, no withheld feeds, means), and their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from api.documents.catalogue import Catalogue
from api.series.paging import Order
from api.series.query import SeriesRequest, ZonePlan
from warehouse.figures import marts
from warehouse.figures.resample import LONGEST, Interval, Sums, bounds, chunks, interval_at, means, sums
from warehouse.figures.resample import joined as joined_sums
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.market.metrics import YEARLY
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Ints
from warehouse.series.reader import MonthFile, MonthFileSide, Reader, RowColumns, joined

_MONTHS_WORTH_A_MART = 4
"""Fewer month files are read as soon as the mart."""


def wanted(reader: Reader, plan: ZonePlan, order: Order, window: Window) -> Iterator[RowColumns]:
    """The rows of each file, one after the other in the direction of `order`, as the request wants them.

    Those in the window, or more. Raises StorageError, FileReplaced.
    """
    if plan.request.interval is None:
        return stored(reader, plan, order, window)
    return _means(reader, plan, plan.request.interval, order)


def stored(reader: Reader, plan: ZonePlan, order: Order, window: Window) -> Iterator[RowColumns]:
    """As `wanted`, never as means. Raises StorageError, FileReplaced."""
    request = plan.request
    for file in plan.files if order == "asc" else plan.files[::-1]:
        rows = _allowed(_read(reader, plan, file, window), plan.catalogue)
        yield _of_years(rows, request.start) if request.metric in YEARLY else rows


def known_since(reader: Reader, plan: ZonePlan) -> int | None:
    """From when on the rows of a window were known, where the request's `as_of` lies before it; else None.

    What had been published by `as_of` nobody knows then. Raises StorageError, FileReplaced.
    """
    at = plan.request.as_of
    if at is None:
        return None
    sinces = [reader.known_since(file) for file in plan.files if clock.month_window(file.month).start <= at]
    return max((since for since in sinces if since > at), default=None)


def _side(request: SeriesRequest) -> MonthFileSide:
    return "borders" if request.borders else "net"


def _read(reader: Reader, plan: ZonePlan, file: MonthFile, window: Window | None = None) -> RowColumns:
    request = plan.request
    if request.pick is not None:
        return reader.vintages(file, request.pick._replace(known_at=request.as_of), plan.catalogue.ranks)
    if request.as_of is None:
        return reader.rows(file, _side(request), window)
    return reader.known(file, request.as_of, plan.catalogue.ranks)[_side(request)]


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
    labelled = zip(rows.ts.tolist(), rows.label.tolist(), strict=True)
    return rows.take(np.array([clock.interval_end(ts, rows.labels[code].resolution) for ts, code in labelled]) > start)


def _means(reader: Reader, plan: ZonePlan, interval: Interval, order: Order) -> Iterator[RowColumns]:
    """The means of the request's window, a month's or a year's at a time."""
    request, tz = plan.request, ZONES[plan.zone].tz
    if not plan.files:
        return
    first, last = (clock.month_window(plan.files[place].month) for place in (0, -1))
    start, end = max(request.start, first.start - LONGEST[interval]), min(request.end, last.end)
    if start >= end:
        return
    spans = [*chunks(Window(start, end), interval, tz)]
    for span in spans if order == "asc" else spans[::-1]:
        within = bounds(span, interval, tz)
        parts = [_sums(reader, plan, span, within)] if interval in ("1h", "1d") else _daily(reader, plan, span, tz)
        yield means(joined_sums(parts), within, interval)


def _daily(reader: Reader, plan: ZonePlan, span: Window, tz: str) -> Iterator[Sums]:
    """The sums of the civil days of a span, month by month: of the mart, or of the rows where it is out of date."""
    request = plan.request
    from_rows = request.as_of is not None or request.borders or len(plan.files) < _MONTHS_WORTH_A_MART
    mart = None if from_rows else marts.days(reader, plan.zone, plan.stored)
    for month in chunks(span, "1d", tz):
        days = Window(max(month.start, span.start), min(month.end, span.end))
        part = None
        if mart is not None:
            files = [(file.month, file.identity) for file in reader.files(plan.zone, plan.stored, month)]
            name = f"{clock.local_date(month.start, tz):%Y-%m}"
            part = mart.month(name, month, files, plan.catalogue.withheld)
        yield _sums(reader, plan, days, bounds(days, "1d", tz)) if part is None else part.between(days)


def _sums(reader: Reader, plan: ZonePlan, span: Window, within: Ints) -> Sums:
    """The sums of the rows that begin in a span, over the intervals between the bounds `within`."""
    months = ((clock.month_window(file.month), file) for file in plan.files)
    files = [file for month, file in months if month.start < span.end and span.start < month.end]
    return sums(joined(_allowed(_read(reader, plan, file), plan.catalogue) for file in files), within)


def sources_of_window(reader: Reader, plan: ZonePlan, window: Window) -> tuple[str, ...]:
    """The sources of all rows of a window, whatever page of it is given, and of those of its last mean.

    Codes in the order of the catalogue. Raises StorageError, FileReplaced.
    """
    request = plan.request
    if request.interval is not None:  # up to the end of the last mean that begins in it
        last = interval_at(window.end - 1, request.interval, ZONES[plan.zone].tz)
        window = Window(window.start, max(window.end, last.end)) if last.start >= window.start else window
    if request.as_of is not None or request.pick is not None or request.metric in YEARLY:
        parts = (rows.take(slice(*rows.between(window))) for rows in stored(reader, plan, "asc", window))
        return sources_of_rows(plan.catalogue, parts)
    side, codes = _side(request), set[str]()
    for file in plan.files:
        month = clock.month_window(file.month)
        if window.start <= month.start and month.end <= window.end:
            carriers = reader.carriers(file, side)
        else:
            carriers = frozenset((label.source, label.feed) for label in reader.labels(file, side, window))
        served = [source for source, feed in carriers if feed not in plan.catalogue.withheld]
        codes |= {code for source in served for code in source.split(", ")}
    return _served(codes, plan.catalogue)


def sources_of_rows(catalogue: Catalogue, parts: Iterable[RowColumns]) -> tuple[str, ...]:
    """The sources of these rows alone."""
    codes: set[str] = set()
    for rows in parts:
        if len(rows):
            every = {code for label in rows.labels for code in label.source.split(", ")}
            if len(every) > 1:
                used = (rows.labels[label] for label in np.unique(rows.label))
                every = {code for label in used for code in label.source.split(", ")}
            codes |= every
    return _served(codes, catalogue)


def _served(codes: set[str], catalogue: Catalogue) -> tuple[str, ...]:
    return tuple(code for code, source in catalogue.sources.items() if code in codes and not source["withheld"])
