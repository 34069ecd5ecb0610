"""Rows for a question: the one way from a series query to a page. No Flask: REST and MCP share it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from api.documents.catalogue import Catalogue, LicenceTerms, stored_metric
from api.series.gaps import Calendar, DueSpan, calendar, due_span, holes
from api.series.paging import Cursor, Cut, Order, RowSlice, cut
from api.series.times import TimeStyle
from warehouse import clock
from warehouse.clock import DAY, Window
from warehouse.errors import BadWindow
from warehouse.market import Metric
from warehouse.reader import FileReplaced, MonthFile, MonthFileSide, Reader, RowColumns, joined
from warehouse.resample import Interval, chunks, means
from warehouse.storage import Identity
from warehouse.zones import ZONES

Part = TypeVar("Part")

DEFAULT_LIMIT, MOST_ROWS = 1000, 5000
SAMPLE_ROWS = 50
_YEAR = 367 * DAY
"""A capacity row began at most so long before an instant of its year."""


@dataclass(frozen=True, slots=True)
class Query:
    """A series question, checked and complete but for the zone's metric: `[start, end)` in Unix seconds."""

    zone: str
    metric: Metric
    start: int
    end: int
    limit: int = DEFAULT_LIMIT
    order: Order = "asc"
    borders: bool = False
    day_ahead: bool = False
    interval: Interval | None = None
    as_of: int | None = None
    cursor: Cursor | None = None
    sample: bool = False
    time: TimeStyle | None = None

    @property
    def stated(self) -> tuple[object, ...]:
        """All of the question as plain values: what an answer's validator is made of."""
        return (
            self.zone,
            self.metric.value,
            self.start,
            self.end,
            self.limit,
            self.order,
            self.borders,
            self.day_ahead,
            self.interval,
            self.as_of,
            self.cursor,
            self.sample,
            self.time,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A query's stored series and the files that its window touches: enough for a validator."""

    query: Query
    stored: str
    files: tuple[MonthFile, ...]
    catalogue: Catalogue
    due: DueSpan

    @property
    def due_until(self) -> int:
        """Until where the window's rows must be there: with it, holes come and go though no file changes."""
        return max(self.query.start, min(self.due.until, self.query.end))

    @property
    def identities(self) -> tuple[Identity, ...]:
        return tuple(file.identity for file in self.files)


@dataclass(frozen=True, slots=True)
class Page:
    """The answer's rows and what the envelope says of them; `start` and `end` are the effective ones."""

    query: Query
    pieces: tuple[RowSlice, ...]
    start: int
    end: int
    count: int
    truncated: bool
    following: Cursor | None
    sources: tuple[str, ...]
    """Codes of the sources of the window's rows; rows name theirs where there are several."""
    terms: LicenceTerms
    due: DueSpan

    @property
    def gaps(self) -> list[Window]:
        """The holes of the page's own window: spans without a row that was due."""
        rows = self.rows.take(slice(None, None, -1)) if self.query.order == "desc" else self.rows
        return holes(rows, Window(self.start, max(self.start, self.end)), self.due, ZONES[self.query.zone].tz)

    @property
    def parts(self) -> list[RowColumns]:
        """The rows of each file that the page touches, in the query's order."""
        parts = [piece.rows for piece in self.pieces]
        return [part.take(slice(None, None, -1)) for part in parts] if self.query.order == "desc" else parts

    @property
    def rows(self) -> RowColumns:
        """All rows as one `RowColumns`, in the query's order."""
        return joined(self.parts)


def window_of(start: int | None, end: int | None, now: int) -> tuple[int, int]:
    """A window with its defaults: the 24 hours before now, or those after a start in the future. Raises BadWindow."""
    if end is None:
        end = now if start is None or start < now else min(start + DAY, clock.LAST_INSTANT)
    start = max(0, end - DAY) if start is None else start
    if start >= end:
        raise BadWindow(f"start {start} is not before end {end}")
    return start, end


def find(reader: Reader, catalogue: Catalogue, query: Query) -> Plan:
    """Where the rows of a query lie. Raises UnknownZone, MetricNotAvailable, Withheld."""
    stored = stored_metric(catalogue, query.zone, query.metric, query.day_ahead)
    known = clock.now() if query.as_of is None else min(query.as_of, clock.now())
    due = _due(catalogue, query.zone, stored, known)
    return Plan(query, stored, tuple(reader.files(query.zone, stored, _reach(query))), catalogue, due)


def _due(catalogue: Catalogue, zone: str, stored: str, known: int) -> DueSpan:
    """What is due at an instant; the answer for the last one is kept, since a second sees many questions."""
    key = ("due", zone, stored)
    last: tuple[int, DueSpan] | None = catalogue.derived.get(key)
    if last is None or last[0] != known:
        last = catalogue.derived[key] = known, due_span(_calendars(catalogue, zone, stored), known)
    return last[1]


def _calendars(catalogue: Catalogue, zone: str, stored: str) -> tuple[Calendar, ...]:
    """Those of the feeds that may be served; none for yearly feeds, whose years come when they come."""
    key = ("calendars", zone, stored)
    made: tuple[Calendar, ...] | None = catalogue.derived.get(key)
    if made is None:
        carriers = [feed for feed in catalogue.entry(zone, stored).get("feeds", []) if not feed["withheld"]]
        members = [(catalogue.feeds[feed["id"]], catalogue.sources[feed["source"]]) for feed in carriers]
        made = tuple(calendar(feed, source["configured"]) for feed, source in members if not feed["yearly"])
        catalogue.derived[key] = made
    return made


def _reach(query: Query) -> Window:
    """Every `ts` that may matter: a year's row begins long before the window, a mean takes in all of its interval."""
    before = _YEAR if query.metric is Metric.CAPACITY else DAY if query.interval else 0
    after = DAY if query.interval else 0
    return Window(max(0, query.start - before), min(query.end + after, clock.LAST_INSTANT + 1))


def page(reader: Reader, plan: Plan) -> Page:
    """The rows of a query. Raises StorageError; Moved where a file was replaced meanwhile: find again."""
    query = plan.query
    window = Window(0 if query.metric is Metric.CAPACITY else query.start, query.end)
    start, end = query.start, query.end
    narrowed = None
    if query.sample:
        narrowed = cut(_parts(reader, plan, "desc", window), window, "desc", SAMPLE_ROWS)
        kept = joined(piece.rows for piece in reversed(narrowed.pieces))
        made = cut([kept], window, query.order, query.limit, query.cursor)
        if narrowed.following is not None:
            start = int(kept.ts[0])
    else:
        made = cut(_parts(reader, plan, query.order, window), window, query.order, query.limit, query.cursor)
    start, end = _effective(query, made, start, end)
    sources = _sources(reader, plan, made, window)
    terms = plan.catalogue.terms(query.zone, plan.stored, frozenset(sources))
    left_out = made.following is not None or (narrowed is not None and narrowed.following is not None)
    return Page(query, made.pieces, start, end, made.count, left_out, made.following, sources, terms, plan.due)


def first_rows(
    reader: Reader, plan: Plan, window: Window, order: Order, limit: int, cursor: Cursor | None
) -> tuple[RowColumns, Cursor | None]:
    """The first rows of a plan's series in a window from a cursor on, ascending, and the first row left out."""
    return _ascending(cut(_parts(reader, plan, order, window), window, order, limit, cursor), order)


def first_of(
    rows: RowColumns, window: Window, order: Order, limit: int, cursor: Cursor | None
) -> tuple[RowColumns, Cursor | None]:
    """As `first_rows`, of rows at hand."""
    return _ascending(cut([rows], window, order, limit, cursor), order)


def _ascending(made: Cut, order: Order) -> tuple[RowColumns, Cursor | None]:
    pieces = made.pieces if order == "asc" else made.pieces[::-1]
    return joined(piece.rows for piece in pieces), made.following


def sources_of(reader: Reader, plan: Plan, window: Window) -> tuple[str, ...]:
    """Codes of the sources of all rows of a window, whatever page of it is given."""
    whole = replace(plan, query=replace(plan.query, sample=False)) if plan.query.sample else plan
    return _sources(reader, whole, Cut((), None), window)


def answer(reader: Reader, catalogue: Catalogue, query: Query) -> Page:
    """A query's page, found again where a writer came between."""
    while True:
        try:
            return page(reader, find(reader, catalogue, query))
        except FileReplaced:
            continue


def columns(reader: Reader, catalogue: Catalogue, query: Query) -> tuple[RowColumns, LicenceTerms, tuple[str, ...]]:
    """All rows of a query's window, ascending, with their terms and the codes of their sources. Raises as `find`."""
    while True:
        try:
            return _columns(reader, find(reader, catalogue, query))
        except FileReplaced:
            continue


def _columns(reader: Reader, plan: Plan) -> tuple[RowColumns, LicenceTerms, tuple[str, ...]]:
    window = Window(plan.query.start, plan.query.end)
    parts = []
    for rows in _plain(reader, plan, "asc", window):
        first, last = rows.between(window)
        parts.append(rows.take(slice(first, last)))
    every = joined(parts)
    codes = frozenset(_named(every, 0, len(every)))
    sources = tuple(code for code, source in plan.catalogue.sources.items() if code in codes and not source["withheld"])
    return every, plan.catalogue.terms(plan.query.zone, plan.stored, frozenset(sources)), sources


def _effective(query: Query, made: Cut, start: int, end: int) -> tuple[int, int]:
    """The window that the rows given fill: `start` or `end` moves to the first row left out."""
    first = min((int(piece.columns.ts[piece.first]) for piece in made.pieces), default=start)
    if query.metric is Metric.CAPACITY:
        start = min(start, first)
    if query.order == "asc":
        if query.cursor is not None:
            start = max(start, query.cursor.ts)
        return start, made.following.ts if made.following else end
    if query.cursor is not None:
        end = min(end, query.cursor.ts + 1)
    return first if made.following else start, end


def _parts(reader: Reader, plan: Plan, order: Order, window: Window) -> Iterator[RowColumns]:
    """The rows of each file, one after the other in the direction of `order`, as the question wants them.

    Those in the window, or more.
    """
    query = plan.query
    if query.interval is not None:
        yield from _means(reader, plan, query.interval, order)
        return
    yield from _plain(reader, plan, order, window)


def _plain(reader: Reader, plan: Plan, order: Order, window: Window) -> Iterator[RowColumns]:
    query = plan.query
    for file in _directed(plan.files, order):
        rows = _allowed(_read(reader, plan, file, window), plan.catalogue)
        yield _of_years(rows, query.start) if query.metric is Metric.CAPACITY else rows


def _directed(parts: tuple[Part, ...], order: Order) -> tuple[Part, ...]:
    return parts if order == "asc" else parts[::-1]


def _side(query: Query) -> MonthFileSide:
    return "borders" if query.borders else "net"


def _read(reader: Reader, plan: Plan, file: MonthFile, window: Window | None = None) -> RowColumns:
    query = plan.query
    if query.as_of is None:
        return reader.rows(file, _side(query), window)
    return reader.known(file, query.as_of, plan.catalogue.ranks)[_side(query)]


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


def _sources(reader: Reader, plan: Plan, made: Cut, window: Window) -> tuple[str, ...]:
    """Whose rows lie in the window, whatever page of it is given; a sample is all of its window."""
    query = plan.query
    codes: set[str] = set()
    if query.sample:
        for piece in made.pieces:
            codes |= _named(piece.columns, piece.first, piece.last)
    elif query.as_of is not None or query.metric is Metric.CAPACITY:
        for rows in _plain(reader, plan, "asc", window):
            codes |= _named(rows, *rows.between(window))
    else:
        for place, file in enumerate(plan.files):
            if 0 < place < len(plan.files) - 1:
                codes |= reader.sources(file)[_side(query)]
            else:
                labels = reader.labels(file, _side(query), window)
                served = [label for label in labels if label.feed not in plan.catalogue.withheld]
                codes |= {word for label in served for word in label.source.split(", ")}
    return tuple(code for code, source in plan.catalogue.sources.items() if code in codes and not source["withheld"])


def _named(rows: RowColumns, first: int, last: int) -> set[str]:
    if first >= last:
        return set()
    every = {word for label in rows.labels for word in label.source.split(", ")}
    if len(every) == 1:
        return every
    return {word for code in np.unique(rows.label[first:last]) for word in rows.labels[code].source.split(", ")}
