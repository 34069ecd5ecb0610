"""The rows of a series question as a page: the one way from a query to its answer. No Flask: REST and MCP share it."""

from __future__ import annotations

from dataclasses import dataclass

from api.documents.catalogue import Catalogue, LicenceTerms
from api.series import page_gaps, row_sources
from api.series.paging import Cursor, Cut, Order, RowSlice, cut
from api.series.query import SAMPLE_ROWS, Plan, Query, find
from api.series.stored_rows import known_since, stored, wanted
from warehouse.clock import Window
from warehouse.market import Metric
from warehouse.reader import FileReplaced, Reader, RowColumns, joined


@dataclass(frozen=True, slots=True)
class Page:
    """The answer's rows and what the envelope says of them; `start` and `end` are the effective ones."""

    query: Query
    parts: tuple[RowColumns, ...]
    """The rows of each file that the page touches, in the query's order."""
    start: int
    end: int
    count: int
    truncated: bool
    following: Cursor | None
    sources: tuple[str, ...]
    """Codes of the sources of the window's rows; rows name theirs where there are several."""
    terms: LicenceTerms
    gaps: tuple[Window, ...]
    """The holes of the page's own window: spans without a row that was due; none where `known_since` stands."""
    known_since: int | None = None
    """From when on rows of the window were known, where the query's `as_of` lies before it."""

    @property
    def rows(self) -> RowColumns:
        """All rows as one `RowColumns`, in the query's order."""
        return joined(self.parts)


def page(reader: Reader, plan: Plan) -> Page:
    """The rows of a query. Raises StorageError; FileReplaced where a file was replaced meanwhile: find again."""
    query = plan.query
    window = Window(0 if query.metric is Metric.CAPACITY else query.start, query.end)
    start, end = query.start, query.end
    narrowed = None
    if query.sample:
        narrowed = cut(wanted(reader, plan, "desc", window), window, "desc", SAMPLE_ROWS)
        kept = joined(piece.rows for piece in reversed(narrowed.pieces))
        made = cut([kept], window, query.order, query.limit, query.cursor)
        if narrowed.following is not None:
            start = int(kept.ts[0])
        sources = row_sources.of_slices(plan.catalogue, narrowed.pieces)
    else:
        made = cut(wanted(reader, plan, query.order, window), window, query.order, query.limit, query.cursor)
        if made.following is None and query.cursor is None and query.interval is None:  # all rows of the window
            sources = row_sources.of_slices(plan.catalogue, made.pieces)
        else:
            sources = row_sources.of_window(reader, plan, window)
    start, end = _effective(query, made, start, end)
    terms = plan.catalogue.terms(query.zone, plan.stored, frozenset(sources))
    left_out = made.following is not None or (narrowed is not None and narrowed.following is not None)
    parts = tuple([piece.rows for piece in made.pieces])
    ascending = joined(parts if query.order == "asc" else parts[::-1])
    since = known_since(reader, plan)
    gaps = () if since else tuple(page_gaps.gaps(reader, plan, ascending, Window(start, max(start, end))))
    if query.order == "desc":
        parts = tuple([part.take(slice(None, None, -1)) for part in parts])
    return Page(query, parts, start, end, made.count, left_out, made.following, sources, terms, gaps, since)


def first_rows(
    reader: Reader, plan: Plan, window: Window, order: Order, limit: int, cursor: Cursor | None
) -> tuple[RowColumns, Cursor | None]:
    """The first rows of a plan's series in a window from a cursor on, ascending, and the first row left out."""
    return _ascending(cut(wanted(reader, plan, order, window), window, order, limit, cursor), order)


def first_of(
    rows: RowColumns, window: Window, order: Order, limit: int, cursor: Cursor | None
) -> tuple[RowColumns, Cursor | None]:
    """As `first_rows`, of rows at hand."""
    return _ascending(cut([rows], window, order, limit, cursor), order)


def _ascending(made: Cut, order: Order) -> tuple[RowColumns, Cursor | None]:
    pieces = made.pieces if order == "asc" else made.pieces[::-1]
    return joined(piece.rows for piece in pieces), made.following


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
    for rows in stored(reader, plan, "asc", window):
        first, last = rows.between(window)
        parts.append(rows.take(slice(first, last)))
    every = joined(parts)
    sources = row_sources.of_slices(plan.catalogue, [RowSlice.of(every)])
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
        end = min(end, query.cursor.until)
    return first if made.following else start, end
