"""Rows of one metric for several zones at once: each zone's own page, merged by `ts`, then zone. No Flask here.

A page ends between instants, over all zones, as that of one zone does; its cursor goes on exactly there.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from api.documents.catalogue import Catalogue
from api.series import page as pages
from api.series import page_gaps, row_sources
from api.series import query as queries
from api.series.gaps import MOST as MOST_GAPS
from api.series.paging import Cursor, Order, RowSlice, identity_of
from api.series.query import SAMPLE_ROWS, Plan, Query
from api.series.row_text import Notation, Pieces, csv_header, rows_of_zones
from api.series.rows import Shape, arrow_columns, plain_columns
from api.series.stored_rows import known_since
from warehouse.clock import Window
from warehouse.market import Metric
from warehouse.reader import FileReplaced, Reader, RowColumns, joined
from warehouse.zones import ZONES


class ZonesCursor(NamedTuple):
    """Where a page of several zones goes on: at a row of a zone, or where `zone` is empty at an instant of all."""

    zone: str
    row: Cursor

    def to_text(self) -> str:
        """Opaque to clients, safe in a URL."""
        return base64.urlsafe_b64encode(orjson.dumps([self.zone, self.row.to_text()])).rstrip(b"=").decode()

    @classmethod
    def from_text(cls, text: str) -> ZonesCursor:
        """Raises ValueError for anything that `to_text` did not write."""
        try:
            parts = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, orjson.JSONDecodeError, ValueError):
            parts = None
        if not isinstance(parts, list) or [type(part) for part in parts] != [str, str]:
            raise ValueError("is not a cursor of this service")
        if parts[0] and parts[0] not in ZONES:
            raise ValueError("is not a cursor of this service")
        return cls(parts[0], Cursor.from_text(parts[1]))


class ZonesQuery(NamedTuple):
    """One question about several zones: `of` is that about the first; its own cursor stays empty."""

    zones: tuple[str, ...]
    """Sorted, each once."""
    of: Query
    cursor: ZonesCursor | None = None

    def about(self, zone: str) -> Query:
        """The question about one of the zones."""
        return self.of._replace(zone=zone)


@dataclass(frozen=True, slots=True)
class ZonesPage:
    """The answer's rows: `zone[i]` is the place in `query.zones` of row i of `rows`."""

    query: ZonesQuery
    plans: tuple[Plan, ...]
    rows: RowColumns
    zone: Any
    gaps: tuple[tuple[str, Window], ...]
    """The holes of each zone in the page's window."""
    known_since: Mapping[str, int]
    """Of each zone whose `as_of` cannot be reached, from when on its rows were known; such a zone has no holes."""
    start: int
    end: int
    following: ZonesCursor | None
    truncated: bool
    sources: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.rows)


def find(reader: Reader, catalogue: Catalogue, query: ZonesQuery) -> tuple[Plan, ...]:
    """Where the rows of each zone lie. Raises UnknownZone, MetricNotAvailable, Withheld."""
    return tuple(queries.find(reader, catalogue, query.about(zone)) for zone in query.zones)


def answer(reader: Reader, catalogue: Catalogue, query: ZonesQuery) -> ZonesPage:
    """A query's page, found again where a writer came between. Raises as `find`, and StorageError."""
    while True:
        try:
            return page(reader, query, find(reader, catalogue, query))
        except FileReplaced:
            continue


class _Merged(NamedTuple):
    """Rows in the order of an answer with the place of each one's zone, and what comes next."""

    rows: RowColumns
    zone: Any
    following: ZonesCursor | None

    def first(self, count: int) -> tuple[RowColumns, Any]:
        return self.rows.take(slice(count)), self.zone[:count]


def page(reader: Reader, query: ZonesQuery, plans: tuple[Plan, ...]) -> ZonesPage:
    """The rows of a query's plans. Raises StorageError; FileReplaced where a file was replaced: find again."""
    of = query.of
    sampled = _sample(reader, query, plans) if of.sample else None
    parts = _of_zones(reader, query, plans, of.order, of.limit, query.cursor, sampled)
    made = _cut(query.zones, parts, of.order, of.limit)
    start, end = _effective(query, made, sampled)
    truncated = made.following is not None or (sampled is not None and sampled.following is not None)
    window = Window(0 if of.metric is Metric.CAPACITY else of.start, of.end)
    if made.following is None and query.cursor is None and sampled is None and of.interval is None:  # all rows
        sources = row_sources.of_slices(plans[0].catalogue, [RowSlice.of(rows) for rows, _ in parts])
    else:
        codes = {code for plan in plans for code in row_sources.of_window(reader, plan, window)}
        sources = tuple(code for code in plans[0].catalogue.sources if code in codes)
    counts = np.bincount(made.zone, minlength=len(plans)).tolist()
    of_zone = [_given(rows, count, of.order) for (rows, _), count in zip(parts, counts, strict=True)]
    known = zip(query.zones, (known_since(reader, plan) for plan in plans), strict=True)
    sinces = {zone: since for zone, since in known if since is not None}
    holes = _gaps(reader, query, plans, of_zone, Window(start, max(start, end)), made.following)
    gaps = tuple(hole for hole in holes if hole[0] not in sinces)
    return ZonesPage(query, plans, made.rows, made.zone, gaps, sinces, start, end, made.following, truncated, sources)


def _given(rows: RowColumns, count: int, order: Order) -> RowColumns:
    """The first `count` of a zone's ascending rows in the direction of `order`."""
    if count == len(rows):
        return rows
    return rows.take(slice(count) if order == "asc" else slice(len(rows) - count, None))


def _sample(reader: Reader, query: ZonesQuery, plans: Sequence[Plan]) -> _Merged:
    """The newest rows of the window, whatever page of them is asked for."""
    parts = _of_zones(reader, query, plans, "desc", SAMPLE_ROWS, None, None)
    return _cut(query.zones, parts, "desc", SAMPLE_ROWS)


def _of_zones(
    reader: Reader,
    query: ZonesQuery,
    plans: Sequence[Plan],
    order: Order,
    limit: int,
    cursor: ZonesCursor | None,
    sampled: _Merged | None,
) -> list[tuple[RowColumns, Cursor | None]]:
    """Of each zone its first rows in `order` from the cursor on, ascending, and its own next row."""
    made = []
    for place, (zone, plan) in enumerate(zip(query.zones, plans, strict=True)):
        window = Window(0 if query.of.metric is Metric.CAPACITY else query.of.start, query.of.end)
        window, own = _resumed(window, zone, order, cursor)
        if sampled is None:
            rows, following = pages.first_rows(reader, plan, window, order, limit, own)
        else:
            kept = sampled.rows.take(sampled.zone == place).take(slice(None, None, -1))
            rows, following = pages.first_of(kept, window, order, limit, own)
        made.append((rows, following))
    return made


def _resumed(window: Window, zone: str, order: Order, cursor: ZonesCursor | None) -> tuple[Window, Cursor | None]:
    """What is left of a window for a zone behind a cursor."""
    if cursor is None:
        return window, None
    at, ascending = cursor.row.ts, order == "asc"
    if zone == cursor.zone:
        return window, cursor.row
    passed = _is_passed(zone, order, cursor)
    if ascending:
        return Window(min(max(window.start, at + passed), window.end), window.end), None
    return Window(window.start, max(min(window.end, at + 1 - passed), window.start)), None


def _is_passed(zone: str, order: Order, cursor: ZonesCursor) -> bool:
    """Whether the rows that a zone has at the cursor's instant stood on the page before."""
    return bool(cursor.zone) and (zone < cursor.zone if order == "asc" else zone > cursor.zone)


def _cut(zones: Sequence[str], parts: Sequence[tuple[RowColumns, Cursor | None]], order: Order, limit: int) -> _Merged:
    """The first `limit` rows of all zones in `order`, whole instants where at least one fits."""
    every = joined(rows for rows, _ in parts)
    zone = np.repeat(np.arange(len(parts)), [len(rows) for rows, _ in parts])
    places = np.argsort(every.ts, kind="stable")
    places = places if order == "asc" else places[::-1]
    every, zone = every.take(places), zone[places]
    followings = {place: following for place, (_, following) in enumerate(parts) if following is not None}
    merged = _Merged(every, zone, None)
    ahead = 1 if order == "asc" else -1
    edge = min((following.ts * ahead for following in followings.values()), default=None)
    known = len(every) if edge is None else int(np.searchsorted(every.ts * ahead, edge, side="left"))
    if known <= limit and (known or edge is None):
        rows, of_zone = merged.first(known)
        following = None if edge is None else ZonesCursor("", _between(order, edge * ahead, int(rows.ts[-1])))
        return _Merged(rows, of_zone, following)
    if known > limit:
        begun = int(np.searchsorted(every.ts * ahead, every.ts[limit] * ahead, side="left"))
        if begun:
            rows, of_zone = merged.first(begun)
            return _Merged(rows, of_zone, ZonesCursor("", _between(order, int(every.ts[limit]), int(rows.ts[-1]))))
    return _within_instant(zones, merged, followings, order, limit)


def _between(order: Order, ts: int, given: int) -> Cursor:
    """The cursor between the instant that a page ends with and the next one."""
    return Cursor(order, ts, "", "", "", given if order == "desc" else None)


def _within_instant(
    zones: Sequence[str], merged: _Merged, followings: dict[int, Cursor], order: Order, limit: int
) -> _Merged:
    """Part of one instant, which has more rows than `limit`. A zone's own next row comes before the next zone's."""
    at = int(merged.rows.ts[0])
    there = int(np.count_nonzero(merged.rows.ts == at))
    unfinished = {place for place, following in followings.items() if following.ts == at}
    count = 0
    while count < min(limit, there):
        count += 1
        last = int(merged.zone[count - 1])
        if last in unfinished and (count == there or int(merged.zone[count]) != last):
            rows, of_zone = merged.first(count)
            return _Merged(rows, of_zone, ZonesCursor(zones[last], followings[last]))
    place = int(merged.zone[count])
    identity = identity_of(merged.rows.labels[merged.rows.label[count]])
    rows, of_zone = merged.first(count)
    return _Merged(rows, of_zone, ZonesCursor(zones[place], Cursor(order, at, *identity)))


def _effective(query: ZonesQuery, made: _Merged, sampled: _Merged | None) -> tuple[int, int]:
    """The window that the rows given fill: `start` or `end` moves to the first row left out."""
    of, cursor = query.of, query.cursor.row if query.cursor else None
    start, end = of.start, of.end
    if sampled is not None and sampled.following is not None:
        start = int(sampled.rows.ts[-1])
    if of.metric is Metric.CAPACITY and made.rows.ts.size:
        start = min(start, int(made.rows.ts.min()))
    if of.order == "asc":
        start = start if cursor is None else max(start, cursor.ts)
        return start, made.following.row.ts if made.following else end
    end = end if cursor is None else min(end, cursor.until)
    return int(made.rows.ts[-1]) if made.following and len(made.rows) else start, end


def envelope(page: ZonesPage) -> dict[str, Any]:
    """Everything in an answer but its rows; licence and attribution by zone."""
    of, zones = page.query.of, page.query.zones
    members: dict[str, Any] = {"zones": list(zones), "metric": of.metric.value}
    given: dict[str, Any] = {"market": "day_ahead" if of.day_ahead else None, "by": "border" if of.borders else None}
    given |= {"interval": of.interval, "as_of": of.as_of, "known_since": page.known_since or None}
    members |= {name: value for name, value in given.items() if value is not None}
    terms = {z: plan.catalogue.terms(z, plan.stored, frozenset()) for z, plan in zip(zones, page.plans, strict=True)}
    gaps = page.gaps
    members |= {
        "start": page.start,
        "end": page.end,
        "count": page.count,
        "truncated": page.truncated,
        "attribution": {zone: of_zone.attribution for zone, of_zone in terms.items()},
        "license": {zone: of_zone.license for zone, of_zone in terms.items()},
        "sources": list(page.sources),
        "gaps": [{"zone": zone, "start": hole.start, "end": hole.end} for zone, hole in gaps[:MOST_GAPS]],
    }
    members |= {"gaps_truncated": True} if len(gaps) > MOST_GAPS else {}
    return members | ({"sample": True} if of.sample else {})


def _gaps(
    reader: Reader,
    query: ZonesQuery,
    plans: Sequence[Plan],
    of_zone: Sequence[RowColumns],
    window: Window,
    following: ZonesCursor | None,
) -> Iterator[tuple[str, Window]]:
    """The holes of each zone in a page's window; `of_zone`: the page's rows of each, ascending."""
    within = Window(window.start, _end_of_gaps(query, window))
    for rows, zone, plan in zip(of_zone, query.zones, plans, strict=True):
        elsewhere = _is_first_elsewhere(query, zone, following)
        yield from ((zone, hole) for hole in page_gaps.gaps(reader, plan, rows, within, elsewhere))


def _end_of_gaps(query: ZonesQuery, window: Window) -> int:
    """The end of a page's window, without an instant of which the page before told the holes."""
    cursor = query.cursor
    if cursor is None or not cursor.zone or query.of.order == "asc":
        return window.end
    return max(window.start, min(window.end, cursor.row.ts))


def _is_first_elsewhere(query: ZonesQuery, zone: str, following: ZonesCursor | None) -> bool:
    """Whether a zone's rows of the instant with which a page's window begins stand on the page before, or the next."""
    if query.of.order == "asc":
        return query.cursor is not None and _is_passed(zone, "asc", query.cursor)
    return following is not None and zone <= following.zone


def text_rows(page: ZonesPage, notation: Notation) -> Pieces:
    """The rows as JSON objects with commas between them, or as lines of CSV; `zone` first."""
    return rows_of_zones(page.rows, page.zone, page.query.zones, _shape(page), page.query.of, notation)


def header(page: ZonesPage) -> bytes:
    """The first line of CSV."""
    return csv_header(_shape(page), page.query.of, of_zones=True)


def columns(page: ZonesPage) -> dict[str, Any]:
    """The rows as Arrow columns, named as JSON names them; `zone` first."""
    named = arrow_columns(page.rows, _shape(page), page.query.of, _zones_of_time(page))
    return {"zone": pa.array(page.query.zones, pa.string()).take(pa.array(page.zone)), **named}


def plain(page: ZonesPage) -> dict[str, list[Any]]:
    """The rows as columns of plain values, named as JSON names them; `zone` first."""
    named = plain_columns(page.rows, _shape(page), page.query.of, _zones_of_time(page))
    return {"zone": [page.query.zones[at] for at in page.zone.tolist()], **named}


def _zones_of_time(page: ZonesPage) -> list[str]:
    """The time zone of each row."""
    each = [ZONES[zone].tz for zone in page.query.zones]
    return [each[at] for at in page.zone.tolist()]


def _shape(page: ZonesPage) -> Shape:
    return Shape.of_query(page.query.of, len(page.sources) > 1)
