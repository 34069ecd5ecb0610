"""Turn a series request into a page of rows, of one zone or merged by `ts`, then zone. REST and MCP share it.

A page ends between instants, over all zones; its cursor goes on exactly there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from api.documents.catalogue import Catalogue, LicenceTerms
from api.series import query as queries
from api.series.gaps import holes, last_end
from api.series.paging import Cursor, Order, PageSlice, cut, first_rows, has_passed, resume
from api.series.query import SAMPLE_ROWS, SeriesRequest, ZonePlan
from api.series.stored_rows import known_since, sources_of_rows, sources_of_window, stored, wanted
from warehouse.figures.resample import LONGEST
from warehouse.market.clock import Window
from warehouse.market.metrics import YEARLY
from warehouse.market.zones import ZONES
from warehouse.series.reader import Reader, RowColumns, joined, read_again


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of an answer and what its envelope says of them; `start` and `end` are the effective ones."""

    plans: tuple[ZonePlan, ...]
    rows: RowColumns
    """In the request's order."""
    place: Any
    """Of several zones the place in `request.zones` of each row; None for one."""
    start: int
    end: int
    truncated: bool
    following: Cursor | None
    sources: tuple[str, ...]
    """Codes of the sources of the window's rows; rows name theirs where there are several."""
    gaps: tuple[tuple[str, Window], ...]
    """Zone and span of each hole of the page's own window: no row where one was due. None of forecasts."""
    known_since: Mapping[str, int]
    """Of each zone whose `as_of` cannot be reached, from when on its rows were known; such a zone has no holes."""

    @property
    def request(self) -> SeriesRequest:
        return self.plans[0].request

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def cursor_only(self) -> bool:
        """Whether the limit is below the rows of one instant: going on with `end` would give the same page again."""
        return self.following is not None and self.following.ts == self.rows.ts[-1]

    @property
    def terms(self) -> dict[str, LicenceTerms]:
        """Licence and attribution by zone: of the rows' own sources for one, of the series' sources for several."""
        codes = frozenset() if self.request.several else frozenset(self.sources)
        return {plan.zone: plan.catalogue.terms(plan.zone, plan.stored, codes) for plan in self.plans}


@read_again
def answer(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Page:
    """Return the page of a request; plan again where a file was replaced meanwhile. Raises StorageError."""
    return page(reader, queries.plan(reader, catalogue, request))


def page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    """Return the page of a plan. Raises StorageError; FileReplaced where a file was replaced since: plan again."""
    request = plans[0].request
    zones = request.zones if request.several else None
    sample = None
    if request.sample:  # the newest rows of the window, whatever page of them is asked for
        newest = [_first_rows(reader, plan, request.window, "desc", SAMPLE_ROWS + 1) for plan in plans]
        sample = cut(newest, zones, "desc", SAMPLE_ROWS)
    parts = _parts(reader, plans, sample)
    chosen = cut(parts, zones, request.order, request.limit)
    start, end = _effective_window(request, chosen, sample)
    following = chosen.following
    truncated = following is not None or (sample is not None and sample.following is not None)
    sources = _sources(reader, plans, parts, sample, following)
    since = {plan.zone: at for plan in plans if (at := known_since(reader, plan)) is not None}
    holes = tuple(_holes(reader, plans, parts, chosen, Window(start, max(start, end)), since))
    return Page(plans, chosen.rows, chosen.place, start, end, truncated, following, sources, holes, since)


@read_again
def whole_window(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[RowColumns, tuple[str, ...]]:
    """Return all stored rows of one zone's window, ascending, and the codes of their sources."""
    (plan,) = queries.plan(reader, catalogue, request)
    window = Window(request.start, request.end)
    parts = [rows.take(slice(*rows.between(window))) for rows in stored(reader, plan, "asc", window)]
    rows = joined(parts)
    return rows, sources_of_rows(catalogue, [rows])


def _first_rows(
    reader: Reader, plan: ZonePlan, window: Window, order: Order, count: int, cursor: Cursor | None = None
) -> RowColumns:
    """Return the first rows of a zone in a window, from a cursor on, ascending."""
    return first_rows(wanted(reader, plan, order, window), window, order, count, cursor)


def _parts(reader: Reader, plans: Sequence[ZonePlan], sample: PageSlice | None) -> list[RowColumns]:
    """Return the rows of each zone that the page may hold, and one more; out of the sample where there is one."""
    request, parts = plans[0].request, []
    for place, plan in enumerate(plans):
        window, own = resume(request.window, plan.zone, request.cursor)
        if sample is None:
            parts.append(_first_rows(reader, plan, window, request.order, request.limit + 1, own))
        else:
            rows = sample.of_zone(place).take(slice(None, None, -1))
            parts.append(first_rows([rows], window, request.order, request.limit + 1, own))
    return parts


def _effective_window(request: SeriesRequest, chosen: PageSlice, sample: PageSlice | None) -> tuple[int, int]:
    """Return the window that the page fills: `start` or `end` moves to the first row left out."""
    start, end, cursor, ts = request.start, request.end, request.cursor, chosen.rows.ts
    if sample is not None and sample.following is not None:
        start = int(sample.rows.ts[-1])
    if request.metric in YEARLY and len(ts):
        start = min(start, int(ts.min()))
    if request.order == "asc":
        start = start if cursor is None else max(start, cursor.ts)
        return start, chosen.following.ts if chosen.following else end
    end = end if cursor is None else min(end, cursor.until)
    return int(ts[-1]) if chosen.following and len(ts) else start, end


def _sources(
    reader: Reader, plans: Sequence[ZonePlan], parts: Sequence[RowColumns], sample: PageSlice | None,
    following: Cursor | None,
) -> tuple[str, ...]:  # fmt: skip
    """Return the sources of the window's rows; for a sample of one zone, of the sample's rows."""
    request, catalogue = plans[0].request, plans[0].catalogue
    if sample is not None and not request.several:
        return sources_of_rows(catalogue, [sample.rows])
    if sample is None and following is None and request.cursor is None and request.interval is None:  # all rows
        return sources_of_rows(catalogue, parts)
    codes = {code for plan in plans for code in sources_of_window(reader, plan, request.window)}
    return tuple(code for code in catalogue.sources if code in codes)


def _holes(
    reader: Reader, plans: Sequence[ZonePlan], parts: Sequence[RowColumns], chosen: PageSlice, window: Window,
    without: Collection[str],
) -> Iterator[tuple[str, Window]]:  # fmt: skip
    """Yield the holes of each zone in a page's window, except for the zones `without`; none of forecasts."""
    request = plans[0].request
    if request.pick is not None:
        return
    counts = [len(chosen.rows)]
    if request.several:
        counts = np.bincount(chosen.place, minlength=len(parts)).tolist()
    within, cursor = window, request.cursor
    if cursor is not None and cursor.zone and request.order == "desc":  # the page before lists that instant's holes
        within = Window(window.start, max(window.start, min(window.end, cursor.ts)))
    for plan, rows, count in zip(plans, parts, counts, strict=True):
        if plan.zone in without:
            continue
        if count < len(rows):
            rows = rows.take(slice(count) if request.order == "asc" else slice(len(rows) - count, None))
        elsewhere = _is_first_elsewhere(request, plan.zone, chosen.following)
        yield from ((plan.zone, hole) for hole in _holes_of_zone(reader, plan, rows, within, elsewhere))


def _holes_of_zone(
    reader: Reader, plan: ZonePlan, rows: RowColumns, window: Window, without_first: bool
) -> list[Window]:
    """The holes of one zone, less what the row covers that runs when the window begins.

    `rows` ascend and are all of the series that begin in the window; `without_first`: but for those that begin at its
    very start, which stand on another page.
    """
    request, tz = plan.request, ZONES[plan.zone].tz
    found = holes(rows, window, plan.due, tz, request.interval, min(request.start, window.start))
    if not found or (len(rows) and found[0].start >= rows.ts[0]):
        return found
    head, *others = found
    start = max(head.start, _covered_until(reader, plan, window.start + without_first))
    return [Window(start, head.end), *others] if start < head.end else others


def _covered_until(reader: Reader, plan: ZonePlan, at: int) -> int:
    """Return the end of the last row that begins before an instant; 0 where there is none."""
    window = Window(max(0, at - LONGEST[plan.request.interval or "1d"]), at)
    request = plan.request._replace(
        zones=(plan.zone,), stored=(plan.stored,), start=window.start, end=window.end, cursor=None, sample=False
    )
    (before,) = queries.plan(reader, plan.catalogue, request)
    last = _first_rows(reader, before, window, "desc", 1)
    return last_end(last, ZONES[plan.zone].tz) if len(last) else 0


def _is_first_elsewhere(request: SeriesRequest, zone: str, following: Cursor | None) -> bool:
    """Whether another page holds a zone's rows of the instant with which this page's window begins."""
    if not request.several:
        return False
    if request.order == "asc":
        return request.cursor is not None and has_passed(zone, request.cursor)
    return following is not None and zone <= str(following.zone)
