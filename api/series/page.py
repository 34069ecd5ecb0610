"""Turn a series request into a page of rows, of one zone or merged by `ts`, then zone. REST and MCP share it.

A page ends between instants, over all zones; its cursor goes on exactly there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from api.documents.catalogue import Catalogue, LicenceTerms
from api.series import query as queries
from api.series.gaps import holes, last_end
from api.series.paging import Cursor, Order, PageSlice, cut, identity_of
from api.series.query import SAMPLE_ROWS, Plan, SeriesRequest, ZonePlan
from api.series.stored_rows import known_since, sources_of_rows, sources_of_window, stored, wanted
from warehouse.clock import DAY, HOUR, Window
from warehouse.market import Metric
from warehouse.reader import FileReplaced, Reader, RowColumns, joined
from warehouse.zones import ZONES

_LONGEST = DAY + HOUR
"""Seconds of the longest interval, a civil day; years have no calendar of their feeds, and no holes."""


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of an answer and what its envelope says of them; `start` and `end` are the effective ones."""

    plan: Plan
    request: SeriesRequest
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
    """Zone and span of each hole of the page's own window: no row where one was due."""
    known_since: Mapping[str, int]
    """Of each zone whose `as_of` cannot be reached, from when on its rows were known; such a zone has no holes."""

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def terms(self) -> dict[str, LicenceTerms]:
        """Licence and attribution by zone: of the rows' own sources for one, of the series' sources for several."""
        codes = frozenset() if self.request.several else frozenset(self.sources)
        return {zone.zone: self.plan.catalogue.terms(zone.zone, zone.stored, codes) for zone in self.plan.zones}


class _Merged(NamedTuple):
    """Rows in the order of an answer with the place of each one's zone, and what comes next."""

    rows: RowColumns
    place: Any
    following: Cursor | None

    def first(self, count: int, following: Cursor | None) -> _Merged:
        return _Merged(self.rows.take(slice(count)), self.place[:count], following)

    def of_zone(self, place: int) -> RowColumns:
        """The rows of one zone, in the same order."""
        return self.rows if self.place is None else self.rows.take(self.place == place)


def answer(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Page:
    """Return the page of a request; plan again where a file was replaced meanwhile. Raises StorageError."""
    while True:
        try:
            return page(reader, queries.plan(reader, catalogue, request))
        except FileReplaced:
            continue


def page(reader: Reader, plan: Plan) -> Page:
    """Return the page of a plan. Raises StorageError; FileReplaced where a file was replaced since: plan again."""
    request, window = plan.request, plan.request.window
    sample = None
    if request.sample:  # the newest rows of the window, whatever page of them is asked for
        newest = [_first_rows(reader, zone, window, "desc", SAMPLE_ROWS, None) for zone in plan.zones]
        sample = _merge(request, newest, "desc", SAMPLE_ROWS)
    parts = _parts(reader, plan, sample)
    merged = _merge(request, parts, request.order, request.limit)
    start, end = _effective_window(request, merged, sample)
    following = merged.following
    truncated = following is not None or (sample is not None and sample.following is not None)
    sources = _sources(reader, plan, parts, sample, following)
    since = {zone.zone: at for zone in plan.zones if (at := known_since(reader, zone)) is not None}
    holes = tuple(_holes(reader, plan, parts, merged, Window(start, max(start, end)), since))
    return Page(plan, request, merged.rows, merged.place, start, end, truncated, following, sources, holes, since)


def whole_window(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[RowColumns, tuple[str, ...]]:
    """Return all stored rows of one zone's window, ascending, and the codes of their sources."""
    while True:
        try:
            (plan,) = queries.plan(reader, catalogue, request).zones
            window = Window(request.start, request.end)
            parts = [rows.take(slice(*rows.between(window))) for rows in stored(reader, plan, "asc", window)]
            rows = joined(parts)
            return rows, sources_of_rows(catalogue, [rows])
        except FileReplaced:
            continue


def _first_rows(
    reader: Reader, plan: ZonePlan, window: Window, order: Order, limit: int, cursor: Cursor | None
) -> PageSlice:
    """Return the first rows of a zone in a window, from a cursor on."""
    return cut(wanted(reader, plan, order, window), window, order, limit, cursor)


def _parts(reader: Reader, plan: Plan, sample: _Merged | None) -> list[PageSlice]:
    """Return the first rows of each zone from the request's cursor on, out of the sample where there is one."""
    request, parts = plan.request, []
    for place, zone in enumerate(plan.zones):
        window, own = _resumed(request.window, zone.zone, request.order, request.cursor)
        if sample is None:
            parts.append(_first_rows(reader, zone, window, request.order, request.limit, own))
        else:
            rows = sample.of_zone(place).take(slice(None, None, -1))
            parts.append(cut([rows], window, request.order, request.limit, own))
    return parts


def _resumed(window: Window, zone: str, order: Order, cursor: Cursor | None) -> tuple[Window, Cursor | None]:
    """Return the rest of the window of a zone behind a cursor, and the cursor within that zone."""
    if cursor is None or cursor.zone in (None, zone):
        return window, cursor
    at, passed = cursor.ts, _is_passed(zone, order, cursor)
    if order == "asc":
        return Window(min(max(window.start, at + passed), window.end), window.end), None
    return Window(window.start, max(min(window.end, at + 1 - passed), window.start)), None


def _is_passed(zone: str, order: Order, cursor: Cursor) -> bool:
    """Whether the page before holds the zone's rows of the cursor's instant."""
    return bool(cursor.zone) and (zone < str(cursor.zone) if order == "asc" else zone > str(cursor.zone))


def _merge(request: SeriesRequest, parts: Sequence[PageSlice], order: Order, limit: int) -> _Merged:
    """Return the first `limit` rows of all zones in `order`, whole instants where at least one fits."""
    if not request.several:
        rows, following = parts[0]
        return _Merged(rows if order == "asc" else rows.take(slice(None, None, -1)), None, following)
    every = joined(part.rows for part in parts)
    place = np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts])
    places = np.argsort(every.ts, kind="stable")
    places = places if order == "asc" else places[::-1]
    merged = _Merged(every.take(places), place[places], None)
    ts, ahead = merged.rows.ts, 1 if order == "asc" else -1
    followings = {place: part.following for place, part in enumerate(parts) if part.following is not None}
    edge = min((following.ts * ahead for following in followings.values()), default=None)
    known = len(ts) if edge is None else int(np.searchsorted(ts * ahead, edge, side="left"))
    if known <= limit and (known or edge is None):
        return merged.first(known, None if edge is None else _between(order, edge * ahead, int(ts[known - 1])))
    if known > limit:
        begun = int(np.searchsorted(ts * ahead, ts[limit] * ahead, side="left"))
        if begun:
            return merged.first(begun, _between(order, int(ts[limit]), int(ts[begun - 1])))
    return _within_instant(request.zones, merged, followings, order, limit)


def _between(order: Order, ts: int, last: int) -> Cursor:
    """The cursor between the instant that a page ends with and the next one."""
    return Cursor(order, ts, "", "", "", last if order == "desc" else None, "")


def _within_instant(
    zones: Sequence[str], merged: _Merged, followings: dict[int, Cursor], order: Order, limit: int
) -> _Merged:
    """Return part of an instant that has more rows than `limit`. A zone's own next row precedes the next zone's."""
    at = int(merged.rows.ts[0])
    rows_of_instant = int(np.count_nonzero(merged.rows.ts == at))
    unfinished = {place for place, following in followings.items() if following.ts == at}
    count = 0
    while count < min(limit, rows_of_instant):
        count += 1
        last = int(merged.place[count - 1])
        if last in unfinished and (count == rows_of_instant or int(merged.place[count]) != last):
            return merged.first(count, followings[last]._replace(zone=zones[last]))
    identity = identity_of(merged.rows.labels[merged.rows.label[count]])
    return merged.first(count, Cursor(order, at, *identity, zone=zones[int(merged.place[count])]))


def _effective_window(request: SeriesRequest, merged: _Merged, sample: _Merged | None) -> tuple[int, int]:
    """Return the window that the page fills: `start` or `end` moves to the first row left out."""
    start, end, cursor, ts = request.start, request.end, request.cursor, merged.rows.ts
    if sample is not None and sample.following is not None:
        start = int(sample.rows.ts[-1])
    if request.metric is Metric.CAPACITY and len(ts):
        start = min(start, int(ts.min()))
    if request.order == "asc":
        start = start if cursor is None else max(start, cursor.ts)
        return start, merged.following.ts if merged.following else end
    end = end if cursor is None else min(end, cursor.until)
    return int(ts[-1]) if merged.following and len(ts) else start, end


def _sources(
    reader: Reader, plan: Plan, parts: Sequence[PageSlice], sample: _Merged | None, following: Cursor | None
) -> tuple[str, ...]:
    """Return the sources of the window's rows; for a sample of one zone, of the sample's rows."""
    request = plan.request
    if sample is not None and not request.several:
        return sources_of_rows(plan.catalogue, [sample.rows])
    if sample is None and following is None and request.cursor is None and request.interval is None:  # all rows
        return sources_of_rows(plan.catalogue, [part.rows for part in parts])
    codes = {code for zone in plan.zones for code in sources_of_window(reader, zone, request.window)}
    return tuple(code for code in plan.catalogue.sources if code in codes)


def _holes(
    reader: Reader, plan: Plan, parts: Sequence[PageSlice], merged: _Merged, window: Window, without: Collection[str]
) -> Iterator[tuple[str, Window]]:
    """Yield the holes of each zone in a page's window, except for the zones `without`."""
    request = plan.request
    counts = [len(merged.rows)]
    if request.several:
        counts = np.bincount(merged.place, minlength=len(parts)).tolist()
    within = Window(window.start, _end_of_holes(request, window))
    for zone, part, count in zip(plan.zones, parts, counts, strict=True):
        rows = part.rows
        if zone.zone in without:
            continue
        if count < len(rows):
            rows = rows.take(slice(count) if request.order == "asc" else slice(len(rows) - count, None))
        elsewhere = _is_first_elsewhere(request, zone.zone, merged.following)
        yield from ((zone.zone, hole) for hole in _holes_of_zone(reader, zone, rows, within, elsewhere))


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
    """Return the end of the last row that begins before an instant; 0 where the last day has none."""
    window = Window(max(0, at - _LONGEST), at)
    request = plan.request._replace(
        zones=(plan.zone,), stored=(plan.stored,), start=window.start, end=window.end, cursor=None, sample=False
    )
    (before,) = queries.plan(reader, plan.catalogue, request).zones
    last = cut(wanted(reader, before, "desc", window), window, "desc", 1).rows
    return last_end(last, ZONES[plan.zone].tz) if len(last) else 0


def _end_of_holes(request: SeriesRequest, window: Window) -> int:
    """Return the end of a page's window, without an instant whose holes the page before lists."""
    cursor = request.cursor
    if cursor is None or not cursor.zone or request.order == "asc":
        return window.end
    return max(window.start, min(window.end, cursor.ts))


def _is_first_elsewhere(request: SeriesRequest, zone: str, following: Cursor | None) -> bool:
    """Whether another page holds a zone's rows of the instant with which this page's window begins."""
    if not request.several:
        return False
    if request.order == "asc":
        return request.cursor is not None and _is_passed(zone, "asc", request.cursor)
    return following is not None and zone <= str(following.zone)
