"""Read the rows of a plan's files as its request wants them (one side, no withheld feeds, means), and their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from api.documents.catalogue_reader import Catalogue
from api.series.query import Cursor, Key, Order, SeriesRequest, ZonePlan
from warehouse.figures import marts
from warehouse.figures.resample import (
    CIVIL,
    LEAST_COVERAGE,
    LONGEST,
    Interval,
    Sums,
    bounds,
    chunks,
    interval_at,
    means,
    merge,
    sums,
)
from warehouse.figures.resample import joined as joined_sums
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.market.metrics import BY_FUEL, YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Ints, RowLabels
from warehouse.series.reader import MonthFile, Reader
from warehouse.series.row_columns import RowColumns, joined


class Piece(NamedTuple):
    """The rows of a zone that start in a range. A zone's pieces follow each other in the direction of the request."""

    span: Window
    rows: RowColumns
    work: int
    """The cost of reading it, in bytes of monthly files (`work_of`)."""


_FILE_WORK = 40_000
"""The bytes whose reading costs as much as finding and opening a monthly file."""
_MART_WORK = 2_000
"""The work of a month's days from a mart."""
_PARQUET_WORK = 5
"""The cost of a month that is decoded as Parquet, as a multiple of a month that is read from its net part."""


def is_decoded(request: SeriesRequest) -> bool:
    """Return whether a request decodes its monthly files as Parquet, instead of reading only their net parts."""
    past = request.as_of is not None or request.pick is not None
    return past or request.borders or request.metric in BY_FUEL or Metric.CARBON_ESTIMATE in request.stored


def work_of(plan: ZonePlan, files: Iterable[MonthFile]) -> int:
    """Return the cost of reading `files` of a plan, in bytes of monthly files that are read from their net part."""
    times = _PARQUET_WORK if is_decoded(plan.request) else 1
    return sum(_FILE_WORK + times * file.identity.size for file in files)


def first_rows(
    columns: RowColumns, window: Window, order: Order, count: int, cursor: Cursor | None = None
) -> RowColumns:
    """Return the first `count` rows of a window, ascending; with `cursor`, from its row on."""
    first, last = columns.between(window)
    if cursor is not None:
        begin, end = columns.between(Window(cursor.ts, cursor.ts + 1))
        keys = [row_key(columns, place) for place in range(begin, end)]
        if order == "asc":
            first = max(first, begin + sum(key < cursor.key for key in keys))
        else:
            last = min(last, begin + sum(key <= cursor.key for key in keys))
    first, last = (first, min(last, first + count)) if order == "asc" else (max(first, last - count), last)
    return columns if last - first == len(columns) else columns.take(slice(first, max(first, last)))


def row_key(rows: RowColumns, place: int) -> Key:
    """Return the part of a row's sort key that a cursor names besides `ts`."""
    label = rows.labels[rows.label[place]]
    if rows.published_at is None:
        return label.fuel or "", label.counterparty or "", label.link or ""
    return label.fuel or "", f"{rows.published_at[place]:012d}", f"{label.resolution} {label.feed}"


def wanted(reader: Reader, plan: ZonePlan, order: Order, window: Window) -> Iterator[Piece]:
    """Yield the rows of each file as the request wants them, file by file in the direction of `order`.

    They include all rows in the window. Raises StorageError, FileReplaced.
    """
    if plan.request.interval is None:
        return stored(reader, plan, order, window)
    return _means(reader, plan, plan.request.interval, order, window)


def stored(reader: Reader, plan: ZonePlan, order: Order, window: Window) -> Iterator[Piece]:
    """Yield rows as `wanted` does, but never as means. Raises StorageError, FileReplaced."""
    for file in plan.files if order == "asc" else plan.files[::-1]:
        span = clock.month_window(file.month)
        if span.end <= window.start or window.end <= span.start:
            continue
        rows = _read(reader, plan, file, window)
        if plan.request.metric in YEARLY:  # only rows whose year overlaps the window
            rows = rows.take(ends(rows, None, "UTC") > plan.request.start)
        yield Piece(span, rows, work_of(plan, [file]))


def _read(reader: Reader, plan: ZonePlan, file: MonthFile, window: Window | None = None) -> RowColumns:
    """Return the rows of a file without those of withheld feeds, which an older monthly file has until its rebuild."""
    request, catalogue = plan.request, plan.catalogue
    if request.pick is None and request.as_of is None:
        rows = reader.rows(file, request.side, window)
    else:
        rows = reader.past(file, request.pick, request.as_of, catalogue.ranks)[request.side]
    return rows.of_feeds(lambda feed: feed not in catalogue.withheld)


def ends(rows: RowColumns, interval: Interval | None, tz: str) -> Ints:
    """Return the end of each row's interval. Years have 365 or 366 days, civil days 23 to 25 hours.

    `interval` is that of rows that are means, in the civil time of `tz`.
    """
    if interval in CIVIL:
        return np.array([interval_at(ts, interval, tz).end for ts in rows.ts.tolist()], np.int64)
    if any(label.resolution == "1y" for label in rows.labels):
        pairs = zip(rows.ts.tolist(), rows.label.tolist(), strict=True)
        return np.array([clock.interval_end(ts, rows.labels[code].resolution) for ts, code in pairs], np.int64)
    return rows.ts + rows.seconds()


def unknown_months(reader: Reader, plan: ZonePlan) -> list[tuple[Window, int]]:
    """Return each month whose rows at the request's `as_of` are lost, with the time since when they are known.

    Such a month was restored from raw responses after those of that time were deleted. Raises StorageError,
    FileReplaced.
    """
    at = plan.request.as_of
    if at is None:
        return []
    months = [(clock.month_window(file.month), reader.known_since(file)) for file in plan.files]
    return [(month, since) for month, since in months if since is not None and month.start <= at < since]


def _means(reader: Reader, plan: ZonePlan, interval: Interval, order: Order, window: Window) -> Iterator[Piece]:
    """Yield the means of a window, by month or year."""
    tz = ZONES[plan.zone].tz
    if not plan.files:
        return
    first, last = (clock.month_window(plan.files[place].month) for place in (0, -1))
    start, end = max(window.start, first.start - LONGEST[interval]), min(window.end, last.end)
    if start >= end:
        return
    spans, read = [*chunks(Window(start, end), interval, tz)], set[MonthFile]()
    for span in spans if order == "asc" else spans[::-1]:
        within = bounds(span, interval, tz)
        whole, work = _sums_of_span(reader, plan, interval, span, within, read)
        yield Piece(span, means(whole, within, interval), work)


def _sums_of_span(
    reader: Reader, plan: ZonePlan, interval: Interval, span: Window, within: Ints, read: set[MonthFile]
) -> tuple[Sums, int]:
    """Return the sums of a range of `chunks`, by its hours or days, and their work."""
    hourly, tz = interval == "1h", ZONES[plan.zone].tz
    parts = [_sums(reader, plan, span, within, read)] if hourly else [*_daily(reader, plan, span, tz, read)]
    return joined_sums(part for part, _ in parts), sum(work for _, work in parts)


def running_start(plan: ZonePlan) -> int:
    """Return the start of the newest interval that has started, now or at the request's `as_of`."""
    interval = plan.request.interval
    return plan.known_at if interval is None else interval_at(plan.known_at, interval, ZONES[plan.zone].tz).start


def short_intervals(reader: Reader, plan: ZonePlan, window: Window, with_mean: Ints) -> list[tuple[Window, float]]:
    """Return the intervals of means that are omitted for low coverage, and their coverage.

    They start in `window`, have started, and have some row; `with_mean` has the starts of those with a mean. Raises
    StorageError, FileReplaced.
    """
    interval, tz = plan.request.interval, ZONES[plan.zone].tz
    if interval is None or not plan.files:
        return []
    first, last = (clock.month_window(plan.files[place].month) for place in (0, -1))
    start = max(window.start, first.start - LONGEST[interval])
    end = min(window.end, last.end, running_start(plan) + 1)
    found: list[tuple[Window, float]] = []
    for span in chunks(Window(start, end), interval, tz) if start < end else ():
        within = bounds(span, interval, tz)
        starts = within[:-1]
        is_missing = (starts >= start) & (starts < end) & ~np.isin(starts, with_mean)
        if not is_missing.any():
            continue
        whole = merge(_sums_of_span(reader, plan, interval, span, within, set())[0], within)
        covered = np.zeros(len(starts), np.int64)
        np.maximum.at(covered, np.searchsorted(starts, whole.ts), whole.covered)
        share = np.round(covered / np.diff(within), 4)
        chosen = np.flatnonzero(is_missing & (covered > 0) & (covered < LEAST_COVERAGE * np.diff(within)))
        found += [(Window(int(within[at]), int(within[at + 1])), float(share[at])) for at in chosen.tolist()]
    return found


def _daily(reader: Reader, plan: ZonePlan, span: Window, tz: str, read: set[MonthFile]) -> Iterator[tuple[Sums, int]]:
    """Yield the sums of the civil days of a range, month by month, and their work.

    They come from the mart, or from the rows if the mart is out of date; it has no bounds of estimates.
    """
    request = plan.request
    from_rows = request.as_of is not None or request.borders or plan.stored == Metric.CARBON_ESTIMATE
    mart = None if from_rows else marts.days(reader, plan.zone, plan.stored)
    for month in chunks(span, "1d", tz):
        days = Window(max(month.start, span.start), min(month.end, span.end))
        part = None
        if mart is not None:
            files = [(file.month, file.identity) for file in reader.files(plan.zone, plan.stored, month)]
            name = f"{clock.local_date(month.start, tz):%Y-%m}"
            part = mart.month(name, month, files, plan.catalogue.withheld)
        yield (
            _sums(reader, plan, days, bounds(days, "1d", tz), read)
            if part is None
            else (part.between(days), _MART_WORK)
        )


def _sums(reader: Reader, plan: ZonePlan, span: Window, within: Ints, read: set[MonthFile]) -> tuple[Sums, int]:
    """Return the sums and work of rows that start in a range, over the intervals between the bounds `within`.

    `read` has the files that were already read, as for a neighbouring range; these files are added.
    """
    months = ((clock.month_window(file.month), file) for file in plan.files)
    files = [file for month, file in months if month.start < span.end and span.start < month.end]
    work = work_of(plan, [file for file in files if file not in read])
    read.update(files)
    return sums(joined(_read(reader, plan, file) for file in files), within), work


def labels_of_window(reader: Reader, plan: ZonePlan, window: Window) -> set[RowLabels]:
    """Return the labels of all rows of a window, whichever page is returned, and of the rows of its last mean.

    Raises StorageError, FileReplaced.
    """
    request = plan.request
    if request.interval is not None:  # up to the end of the last mean that starts in it
        last = interval_at(window.end - 1, request.interval, ZONES[plan.zone].tz)
        window = Window(window.start, max(window.end, last.end)) if last.start >= window.start else window
    if request.as_of is not None or request.pick is not None or request.metric in YEARLY:
        return {label for piece in stored(reader, plan, "asc", window) for label in piece.rows.labels_in(window)}
    return {label for file in plan.files for label in reader.labels(file, request.side, window)}


def sources(catalogue: Catalogue, labels: Iterable[RowLabels]) -> tuple[str, ...]:
    """Return the codes of the sources of `labels`, in the catalogue's order, without withheld sources."""
    codes = {code for label in labels if label.feed not in catalogue.withheld for code in label.source.split(", ")}
    return tuple(code for code, source in catalogue.sources.items() if code in codes and not source.withheld)
