"""Turn a series request into a page of rows, of one zone or merged by `ts`, then zone. REST and MCP share it.

A page ends between instants, over all zones, where at least one whole instant fits into its limit; its cursor goes on
exactly there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from api.documents.catalogue_reader import Catalogue
from api.series import stored_rows
from api.series.query import SAMPLE_ROWS, WHOLE, Cursor, DueSpan, Order, SeriesRequest, ZonePlan, plan_request
from warehouse.figures.resample import CIVIL, LONGEST, Interval, interval_at
from warehouse.judge import coverage
from warehouse.market.clock import HOUR, RESOLUTIONS, Window
from warehouse.market.metrics import YEARLY
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Ints
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns, joined


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of an answer and what its envelope says of them; `start` and `end` are the effective ones."""

    request: SeriesRequest
    rows: RowColumns
    """In the request's order."""
    place: Ints
    """The place in `request.zones` of each row's zone."""
    start: int
    end: int
    truncated: bool
    following: Cursor | None
    sources: tuple[str, ...]
    """Codes of the sources of the window's rows; rows name theirs where there are several."""
    terms: Mapping[str, dict[str, str]]
    """Licence and attribution by zone: of the rows' own sources for one, of the series' sources for several."""
    gaps: Sequence[tuple[str, Window]]
    """Zone and span of each hole of the page's own window: no row where one was due. None of forecasts."""
    known_since: Mapping[str, int]
    """Of each zone with months whose rows at `as_of` are lost, the time since when they are known; no gap is listed in
    these months."""


@read_again
def answer(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Page:
    """Return the page of a request; plan again where a file was replaced meanwhile. Raises StorageError."""
    return page(reader, plan_request(reader, catalogue, request))


@read_again
def whole_window(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> RowColumns:
    """Return all stored rows of one zone's window, ascending. Raises StorageError."""
    (plan,) = plan_request(reader, catalogue, request)
    window = Window(request.start, request.end)
    return joined(rows.take(slice(*rows.between(window))) for rows in stored_rows.stored(reader, plan, "asc", window))


def newest(rows: RowColumns, request: SeriesRequest) -> RowColumns:
    """Return the rows of one zone that a sample holds, ascending: the newest, with whole instants."""
    return _cut([rows], request, "desc", SAMPLE_ROWS).parts[0]


def page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    """Return the page of a plan. Raises StorageError; FileReplaced where a file was replaced since: plan again."""
    request, catalogue, sample = plans[0].request, plans[0].catalogue, None
    whole, cursor, parts = request.window, request.cursor, []
    if request.sample:  # the newest rows of the window, whatever page of them is asked for
        rows = [_first_rows(reader, plan, whole, "desc", SAMPLE_ROWS + 1) for plan in plans]
        sample = _cut(rows, request, "desc", SAMPLE_ROWS)
    for place, plan in enumerate(plans):
        window, own = cursor.rest(whole, plan.zone) if cursor else (whole, None)
        months = [sample.parts[place]] if sample else stored_rows.wanted(reader, plan, request.order, window)
        parts.append(stored_rows.first_rows(months, window, request.order, request.limit + 1, own))
    chosen = _cut(parts, request, request.order, request.limit)
    truncated = chosen.following is not None or (sample is not None and sample.following is not None)
    start, end = _effective_window(request, chosen, sample)
    if sample and not request.several:
        labels = sample.parts[0].labels_in(whole)
    else:
        labels = {label for plan in plans for label in stored_rows.labels_of_window(reader, plan, whole)}
    codes = stored_rows.sources(catalogue, labels)
    of_rows = frozenset() if request.several else frozenset(codes)
    terms = {plan.zone: catalogue.terms(plan.zone, plan.stored, of_rows) for plan in plans}
    restored = {plan.zone: found for plan in plans if (found := stored_rows.unknown_months(reader, plan))}
    since = {zone: max(at for _, at in found) for zone, found in restored.items()}
    unknown = {zone: [month for month, _ in found] for zone, found in restored.items()}
    gaps = [*_holes_of_page(reader, plans, chosen.parts, Window(start, max(start, end)), unknown)]
    return Page(request, chosen.rows, chosen.place, start, end, truncated, chosen.following, codes, terms, gaps, since)


class _PageSlice(NamedTuple):
    """The rows of one page in its order, and the first row left out."""

    rows: RowColumns
    place: Ints
    """The place of each row's zone among the parts."""
    parts: Sequence[RowColumns]
    """The rows of each zone, ascending."""
    following: Cursor | None


def _cut(parts: Sequence[RowColumns], request: SeriesRequest, order: Order, limit: int) -> _PageSlice:
    """Merge the rows of each zone by `ts`, then zone, and cut them to a page.

    `parts` hold the first `limit` rows of each zone and, where there is one, the row after them, ascending.
    """
    rows = joined(parts)
    place = np.zeros(len(rows), np.int64)
    if len(parts) > 1:
        by_ts = np.argsort(rows.ts, kind="stable")
        rows, place = rows.take(by_ts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])[by_ts]
    if order == "desc":
        rows, place = rows.take(slice(None, None, -1)), place[::-1]
    if len(rows) <= limit:
        return _PageSlice(rows, place, parts, None)
    ts = rows.ts
    count = int((ts[: limit + 1] == ts[limit]).argmax()) or limit
    is_split = ts[count - 1] == ts[count]
    whole = None if is_split or order == "asc" else int(ts[count - 1])
    key = stored_rows.row_key(rows, count) if is_split else WHOLE
    zone = None if not request.several else request.zones[place[count]] if is_split else ""
    following = Cursor(order, int(ts[count]), key, whole, zone)
    counts = zip(parts, np.bincount(place[:count], minlength=len(parts)).tolist(), strict=True)
    of_zones = [part.take(slice(n) if order == "asc" else slice(len(part) - n, None)) for part, n in counts]
    return _PageSlice(rows.take(slice(count)), place[:count], of_zones, following)


def _first_rows(reader: Reader, plan: ZonePlan, window: Window, order: Order, count: int) -> RowColumns:
    return stored_rows.first_rows(stored_rows.wanted(reader, plan, order, window), window, order, count)


def _effective_window(request: SeriesRequest, chosen: _PageSlice, sample: _PageSlice | None) -> tuple[int, int]:
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
    return int(ts[-1]) if chosen.following else start, end


def _holes_of_page(
    reader: Reader,
    plans: Sequence[ZonePlan],
    parts: Sequence[RowColumns],
    window: Window,
    unknown: Mapping[str, Sequence[Window]],
) -> Iterator[tuple[str, Window]]:
    """Yield the holes of each zone in a page's window, but for its `unknown` months; none of forecasts."""
    request = plans[0].request
    if request.pick is not None:
        return
    if request.order == "desc" and request.cursor is not None and request.cursor.zone:
        # The page before lists that instant's holes.
        window = Window(window.start, max(window.start, min(window.end, request.cursor.ts)))
    for plan, rows in zip(plans, parts, strict=True):
        begin = min(request.start, window.start)
        found = holes(rows, window, plan.due, ZONES[plan.zone].tz, request.interval, begin)
        if found and not (len(rows) and rows.ts[0] <= found[0].start):
            # A row may cover its begin that starts before the window, or with it on another page.
            head = found.pop(0)
            start = max(head.start, _covered_until(reader, plan, window.start + 1))
            found = [Window(start, head.end), *found] if start < head.end else found
        months = [_whole_intervals(month, request.interval, plan.zone) for month in unknown.get(plan.zone, ())]
        yield from ((plan.zone, part) for hole in found for part in _outside(hole, months))


def _whole_intervals(month: Window, interval: Interval | None, zone: str) -> Window:
    """Extend a month to the intervals of means that it is a part of."""
    if interval is None:
        return month
    first, last = (interval_at(ts, interval, ZONES[zone].tz) for ts in (month.start, month.end - 1))
    return Window(first.start, last.end)


def _outside(hole: Window, months: Sequence[Window]) -> Iterator[Window]:
    """Yield the parts of a hole that lie in none of some months, which ascend."""
    start = hole.start
    for month in months:
        if start < min(month.start, hole.end):
            yield Window(start, min(month.start, hole.end))
        start = max(start, month.end)
    if start < hole.end:
        yield Window(start, hole.end)


def _covered_until(reader: Reader, plan: ZonePlan, at: int) -> int:
    """Return the end of the last row that begins before an instant; 0 where there is none."""
    request, zone = plan.request, plan.zone
    window = Window(max(0, at - LONGEST[request.interval or "1d"]), at)
    request = request._replace(zones=(zone,), stored=(plan.stored,), start=window.start, end=window.end)
    (before,) = plan_request(reader, plan.catalogue, request)
    last = _first_rows(reader, before, window, "desc", 1)
    return int(stored_rows.ends(last, request.interval, ZONES[zone].tz)[-1]) if len(last) else 0


def holes(
    rows: RowColumns, window: Window, due: DueSpan, tz: str, interval: Interval | None = None, begin: int | None = None
) -> list[Window]:
    """The spans of a window without a row that was due, in order. `rows` ascend and start inside the window.

    Fuels and borders of one instant stand for each other: a hole is where no row is at all. `interval`: the rows are
    means over it, also where there are none. `begin`: of the window of which this is a page: a hole that began on the
    page before goes on.
    """
    since = min(max(window.start, due.since), window.end)
    begun = max(window.start if begin is None else begin, due.since)

    def around(span: Window, step: int, phase: int) -> list[Window]:
        """The part of a span whose intervals have begun at `begun` or later and are due as a whole.

        They start every `step` seconds from `phase` on, or where civil ones do.
        """
        if span.start >= due.until:  # also where the civil calendar ends
            return []
        running, last = (
            interval_at(at, interval, tz)
            if interval is not None and interval in CIVIL
            else Window(at - (at - phase) % step, at - (at - phase) % step + step)
            for at in (span.start, due.until)
        )
        start = span.start if running.start >= begun or running.start == span.start else running.end
        until = min(span.end, last.start)
        return [Window(start, until)] if start < until else []

    if not len(rows):
        return around(Window(since, window.end), HOUR if interval == "1h" else due.step, 0)
    first, last = int(rows.ts[0]), int(rows.ts[-1])
    if rows.run:  # rows that follow each other leave no room for one more, before or behind: most windows' are such
        step = RESOLUTIONS[rows.labels[rows.label[0]].resolution]
        if (first == since or first - begun < step) and last + step >= window.end:
            return []
    ends = stored_rows.ends(rows, interval, tz)
    until = int(ends.max())
    begins, finishes, _ = coverage.uncovered(rows.ts, ends, Window(first, until))
    return [
        *around(Window(min(since, first), first), int(ends[0]) - first, first),
        *(Window(begin, end) for begin, end in zip(begins.tolist(), finishes.tolist(), strict=True)),
        *around(Window(min(until, window.end), window.end), until - last, until),
    ]
