"""Turn a series request into a page of rows, of one zone or merged by `ts`, then zone. REST and MCP share it.

A page ends between instants, over all zones, where at least one whole instant fits into its limit; its cursor goes on
exactly there. The zones are read abreast, and no further than the page reaches. A page that would take too much work
ends before its limit, with a cursor.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from api.documents.catalogue_reader import Catalogue
from api.series import expensive, stored_rows
from api.series.gap_reasons import Gap, explain
from api.series.query import SAMPLE_ROWS, WHOLE, Cursor, DueSpan, Order, SeriesRequest, ZonePlan, plan_request
from warehouse.figures.resample import CIVIL, LONGEST, Interval, interval_at
from warehouse.judge import coverage
from warehouse.market.clock import HOUR, RESOLUTIONS, Window
from warehouse.market.metrics import YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Ints
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns, joined

MOST_GAPS = 20
"""More are not listed."""


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
    gaps: Sequence[Gap]
    """The holes of the page's own window, one more than are listed: no row where one was due. None of forecasts."""
    known_since: Mapping[str, int]
    """Of each zone with months whose rows at `as_of` are lost, the time since when they are known; no gap is listed in
    these months."""
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By zone the ids of the sets of factors of the window's estimates."""


@read_again
def answer(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Page:
    """Return the page of a request; plan again where a file was replaced meanwhile. Raises StorageError."""
    return page(reader, plan_request(reader, catalogue, request))


@read_again
def whole_window(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> RowColumns:
    """Return all stored rows of one zone's window, ascending. Raises StorageError."""
    (plan,) = plan_request(reader, catalogue, request)
    return joined(months_of_window(reader, plan))


def months_of_window(reader: Reader, plan: ZonePlan) -> Iterator[RowColumns]:
    """Yield the stored rows of one zone's window, month by month. Raises StorageError, FileReplaced."""
    window = Window(plan.request.start, plan.request.end)
    for piece in stored_rows.stored(reader, plan, "asc", window):
        yield piece.rows.take(slice(*piece.rows.between(window)))


@read_again
def newest(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[RowColumns, bool]:
    """Return the stored rows of one zone that a sample holds, ascending, and whether the window has older ones.

    They are the newest, with whole instants. Raises StorageError.
    """
    plans = plan_request(reader, catalogue, request)
    parts, ended = _read_abreast(reader, plans, [(request.window, None)], "desc", SAMPLE_ROWS + 1)
    chosen = _cut(parts, request, "desc", SAMPLE_ROWS, ended)
    return chosen.parts[0], chosen.following is not None


def page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    """Return the page of a plan. Raises StorageError; FileReplaced where a file was replaced since: plan again.

    Raises Problem 503 while two expensive requests run, 400 for a window that is too long to be read whole.
    """
    with expensive.admitted(plans, expensive.reads_whole_window(plans)):
        return _page(reader, plans)


def _page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    request, catalogue, sample = plans[0].request, plans[0].catalogue, None
    whole, cursor = request.window, request.cursor
    if request.sample:  # the newest rows of the window, whatever page of them is asked for
        rows, ended = _read_abreast(reader, plans, [(whole, None)] * len(plans), "desc", SAMPLE_ROWS + 1)
        sample = _cut(rows, request, "desc", SAMPLE_ROWS, ended)
    rests = [cursor.rest(whole, plan.zone) if cursor else (whole, None) for plan in plans]
    if sample is None:
        parts, ended = _read_abreast(reader, plans, rests, request.order, request.limit + 1)
    else:
        pairs = zip(sample.parts, rests, strict=True)
        parts = [
            stored_rows.first_rows(rows, rest[0], request.order, request.limit + 1, rest[1]) for rows, rest in pairs
        ]
        ended = None
    chosen = _cut(parts, request, request.order, request.limit, ended)
    truncated = chosen.following is not None or (sample is not None and sample.following is not None)
    start, end = _effective_window(request, chosen, sample)
    if sample and not request.several:
        labels = [sample.parts[0].labels_in(whole)]
    else:
        labels = [stored_rows.labels_of_window(reader, plan, whole) for plan in plans]
    codes = stored_rows.sources(catalogue, set().union(*labels))
    of_rows = frozenset() if request.several else frozenset(codes)
    factors = {
        plan.zone: sorted({label.factors for label in own if label.factors})
        for plan, own in zip(plans, labels, strict=True)
        if plan.stored == Metric.CARBON_ESTIMATE
    }
    terms = {plan.zone: catalogue.terms(plan.zone, plan.stored, of_rows, factors.get(plan.zone, ())) for plan in plans}
    restored = {plan.zone: found for plan in plans if (found := stored_rows.unknown_months(reader, plan))}
    since = {zone: max(at for _, at in found) for zone, found in restored.items()}
    unknown = {zone: [month for month, _ in found] for zone, found in restored.items()}
    holes_of_zones = _holes_of_page(reader, plans, chosen.parts, Window(start, max(start, end)), unknown)
    gaps = [*islice(holes_of_zones, MOST_GAPS + 1)]
    return Page(
        request, chosen.rows, chosen.place, start, end, truncated, chosen.following, codes, terms, gaps, since, factors
    )


class _PageSlice(NamedTuple):
    """The rows of one page in its order, and the first row left out."""

    rows: RowColumns
    place: Ints
    """The place of each row's zone among the parts."""
    parts: Sequence[RowColumns]
    """The rows of each zone, ascending."""
    following: Cursor | None


class _ZoneRows:
    """What was read of one zone so far, in the direction of a page."""

    def __init__(self, pieces: Iterator[stored_rows.Piece], ascending: bool) -> None:
        self.rows: list[RowColumns] = []
        self.reached: float = -math.inf
        """All rows before it are there: an instant in ascending order, a negated one in descending order."""
        self._pieces, self._ascending, self._before = pieces, ascending, 0

    def read(self, first: Callable[[RowColumns], RowColumns], count: int) -> int:
        """Read the next piece, and keep what `first` leaves of it; return its work. `count`: more are not needed."""
        piece = next(self._pieces, None) if self._before + self._last() < count else None
        if piece is None:
            self.reached = math.inf
            return 0
        self._before += self._last()
        self.rows.append(first(piece.rows))
        self.reached = piece.span.end if self._ascending else -piece.span.start
        return piece.work

    def count_before(self, at: float) -> int:
        """Return how many rows lie before `at`, of which `reached` of no zone may be less."""
        if not self.rows or math.isinf(at):
            return self._before + self._last()
        place = bisect_left(self.rows[-1].ts, at if self._ascending else -at)
        return self._before + (place if self._ascending else self._last() - place)

    def joined(self, until: int | None) -> RowColumns:
        """Return the rows, ascending; `until`: only those before it, in descending order those from it on."""
        rows = joined(self.rows if self._ascending else reversed(self.rows))
        if until is None:
            return rows
        place = bisect_left(rows.ts, until)
        return rows.take(slice(place) if self._ascending else slice(place, None))

    def _last(self) -> int:
        return len(self.rows[-1]) if self.rows else 0


def _read_abreast(
    reader: Reader, plans: Sequence[ZonePlan], rests: Sequence[tuple[Window, Cursor | None]], order: Order, count: int
) -> tuple[list[RowColumns], int | None]:
    """Return rows of each zone, ascending, among which are the first `count` rows of all zones.

    And None, or the instant at which reading ended early, since it took too much work: all rows before it are there, in
    descending order all from it on. `rests`: each zone's window, and the cursor that cuts its rows.
    """
    ascending, settled = order == "asc", -math.inf
    end = max(window.end if ascending else -window.start for window, _ in rests)
    work = sum(expensive.work_of_labels(plan) for plan in plans)
    lines = [
        (_ZoneRows(stored_rows.wanted(reader, plan, order, window), ascending),
         partial(stored_rows.first_rows, window=window, order=order, count=count, cursor=own))
        for plan, (window, own) in zip(plans, rests, strict=True)
    ]  # fmt: skip
    while True:
        last, first = min(lines, key=lambda line: line[0].reached)
        if last.reached > settled:
            settled = last.reached
            if settled >= end or sum(line.count_before(settled) for line, _ in lines) >= count:
                return [line.joined(None) for line, _ in lines], None
            if work >= expensive.MOST_WORK:
                ended = int(settled if ascending else -settled)
                return [line.joined(ended) for line, _ in lines], ended
        work += last.read(first, count)


def _cut(
    parts: Sequence[RowColumns], request: SeriesRequest, order: Order, limit: int, ended: int | None = None
) -> _PageSlice:
    """Merge the rows of each zone by `ts`, then zone, and cut them to a page.

    `parts` hold, ascending, the first `limit` rows of all and the row after them, if there is one. `ended`: where
    reading ended early.
    """
    rows = joined(parts)
    place = np.zeros(len(rows), np.int64)
    if len(parts) > 1:
        by_ts = np.argsort(rows.ts, kind="stable")
        rows, place = rows.take(by_ts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])[by_ts]
    if order == "desc":
        rows, place = rows.take(slice(None, None, -1)), place[::-1]
    if len(rows) <= limit:
        following = None
        if ended is not None:
            at, down_to = (ended, None) if order == "asc" else (ended - 1, ended)
            following = Cursor(order, at, WHOLE, down_to, "" if request.several else None)
        return _PageSlice(rows, place, parts, following)
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


def _effective_window(request: SeriesRequest, chosen: _PageSlice, sample: _PageSlice | None) -> tuple[int, int]:
    """Return the window that the page fills: `start` or `end` moves to the first row left out."""
    start, end, cursor, ts = request.start, request.end, request.cursor, chosen.rows.ts
    if sample is not None and sample.following is not None:
        start = _given_down_to(sample.following)
    if request.metric in YEARLY and len(ts):
        start = min(start, int(ts.min()))
    if request.order == "asc":
        start = start if cursor is None else max(start, cursor.ts)
        return start, chosen.following.ts if chosen.following else end
    end = end if cursor is None else min(end, cursor.until)
    return _given_down_to(chosen.following) if chosen.following else start, end


def _given_down_to(following: Cursor) -> int:
    """Return the instant down to which a page in descending order holds rows."""
    return following.ts if following.given_down_to is None else following.given_down_to


def _holes_of_page(
    reader: Reader,
    plans: Sequence[ZonePlan],
    parts: Sequence[RowColumns],
    window: Window,
    unknown: Mapping[str, Sequence[Window]],
) -> Iterator[Gap]:
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
        short = [
            (span, share)
            for span, share in stored_rows.short_intervals(reader, plan, window, rows.ts)
            if [*_outside(span, months)] == [span]
        ]
        known = sorted([*months, *(span for span, _ in short)])
        empty = [(part, None) for hole in found for part in _outside(hole, known)]
        for span, share in sorted([*short, *empty], key=lambda pair: pair[0]):
            is_estimate = plan.stored == Metric.CARBON_ESTIMATE
            gaps = explain(reader, plan, [span]) if is_estimate else [Gap(plan.zone, span.start, span.end)]
            yield from (gap._replace(coverage=share) for gap in gaps)


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
    (last,), _ = _read_abreast(reader, (before,), [(window, None)], "desc", 1)
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
