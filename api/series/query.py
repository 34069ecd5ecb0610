"""Check a series request, encode its cursor, and plan the files with its rows, which `api.series.page` reads."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from api.documents.catalogue_reader import Catalogue
from api.http import parameters
from api.http.parameters import conflict
from api.http.problems import ParameterFault, Problem
from api.http.times import Moment, first_instant, is_midnight, to_unix
from warehouse.documents import health
from warehouse.figures.resample import CIVIL, LONGEST, Interval
from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import DAY, HOUR, LAST_INSTANT, RESOLUTIONS, Window, local_midnight
from warehouse.market.metrics import BY_FUEL, YEARLY, define
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import Pick
from warehouse.series.reader import MonthFile, Reader
from warehouse.series.row_columns import MonthFileSide

Order = Literal["asc", "desc"]
TimeStyle = Literal["utc", "local"]
Key = tuple[str, str, str]
"""A row's sort key besides `ts`: fuel, counterparty and link; for a forecast fuel, `published_at` and feed."""
WHOLE: Key = ("", "", "")
"""The key of a cursor at the first row of a time."""
DEFAULT_LIMIT, MOST_ROWS = 1000, 5000
SAMPLE_ROWS = 50
SETTLED_S = 10
"""The seconds after which every reader sees the files that name a time. A later `as_of` is moved back to this age, so
that equal requests always get equal responses."""
LONGEST_OF_VINTAGES = 3 * DAY
"""The longest window with all vintages, since a publisher may issue a vintage each half hour."""
_OF_VINTAGES = ("published_before", "lead", "vintages")
"""The parameters for forecasts only; a request may have at most one of them."""
_OF_READINGS = ("interval", "market", "basis", "stats", "above", "below")
"""The parameters for actual values only; a mean of forecasts has no publication time."""
_YEAR = 367 * DAY
"""The longest time from the start of a yearly row to a time in its year."""


class Cursor(NamedTuple):
    """The sort key of the first row that is left out. The row itself may be gone at the next request."""

    order: Order
    ts: int
    key: Key = WHOLE
    given_down_to: int | None = None
    """In descending order the `ts` down to which pages are complete; None within the rows of a time."""
    zone: str | None = None
    """For several zones the row's zone, empty at the first row of a time; None for a page of a single zone."""

    @property
    def until(self) -> int:
        """The end of the remaining window in descending order."""
        return self.ts + 1 if self.given_down_to is None else self.given_down_to

    def rest(self, window: Window, zone: str) -> tuple[Window, Cursor | None]:
        """Return the rest of a zone's window, and this cursor if its `key` cuts the rows of its time."""
        own = self if self.zone in (None, zone) and self.given_down_to is None else None
        passed = bool(self.zone) and (zone < str(self.zone) if self.order == "asc" else zone > str(self.zone))
        if self.order == "asc":
            return Window(min(max(window.start, self.ts + passed), window.end), window.end), own
        return Window(window.start, max(min(window.end, self.ts + 1 - passed), window.start)), own

    def to_text(self) -> str:
        """Return text that is opaque to clients and safe in a URL."""
        down_to = () if self.given_down_to is None else (self.given_down_to,)
        text = _encoded((self.order, self.ts, *self.key, *down_to))
        return text if self.zone is None else _encoded((self.zone, text))

    @classmethod
    def from_text(cls, text: str) -> Cursor:
        """Return the cursor of a text. Raises ValueError unless `to_text` wrote it."""
        parts, zone = _decoded(text), None
        if _is(parts, str, str):
            zone, parts = parts[0], _decoded(parts[1])
        if _is(parts, str, int, str, str, str) or _is(parts, str, int, str, str, str, int):
            cursor = cls(parts[0], parts[1], tuple(parts[2:5]), *parts[5:])._replace(zone=zone)
            is_instant = 0 <= cursor.ts < cursor.until <= LAST_INSTANT + 1
            if cursor.order in ("asc", "desc") and is_instant and (not zone or zone in ZONES):
                return cursor
        raise ValueError("is not a valid cursor; take it from the `Link` header of the previous page, or send `first`")


def _encoded(parts: Sequence[object]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([*parts])).rstrip(b"=").decode()


def _decoded(text: str) -> Any:
    try:
        return orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:  # from base64 or JSON
        return None


def _is(parts: Any, *types: type) -> bool:
    return isinstance(parts, list) and tuple(map(type, parts)) == types


class SeriesRequest(NamedTuple):
    """A checked series request for `[start, end)` in Unix seconds, of one or several zones."""

    metric: Metric
    zones: tuple[str, ...]
    """The zones, sorted and unique."""
    stored: tuple[str, ...]
    """The stored series of each zone (`api.documents.catalogue_reader.stored_metric`)."""
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
    several: bool = False
    """Whether the request has `zones=`, even with a single zone; its rows and gaps then name their zone."""
    pick: Pick | None = None
    """The selection of the publisher's forecast vintages known by `as_of`; None for actual values."""

    @property
    def window(self) -> Window:
        """The window of the starts of rows; a yearly row starts long before a window that its year overlaps."""
        return Window(0 if self.metric in YEARLY else self.start, self.end)

    @property
    def side(self) -> MonthFileSide:
        return "borders" if self.borders else "net"


class DueSpan(NamedTuple):
    """The range that must have rows by now, `[since, until)` in Unix seconds, and their step without rows."""

    since: int
    until: int
    step: int


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The stored series of a zone of a request, and the files in its window."""

    request: SeriesRequest
    zone: str
    stored: str
    files: tuple[MonthFile, ...]
    catalogue: Catalogue
    due: DueSpan
    known_at: int
    """Unix seconds: `as_of` of the request, or the time at which it was planned."""


def series_request(
    metric: Metric, zones: tuple[str, ...], stored: tuple[str, ...], query: Mapping[str, Any], several: bool
) -> SeriesRequest:
    """Return a request from checked parameters. Raises Problem 400 for parameters that contradict each other."""
    now, ahead = clock.now(), _asks_forecast(query)
    start, end = [_edge(name, query[name], zones, now, query.get("interval")) for name in ("start", "end")]
    as_of = to_unix("as_of", query["as_of"], zones, now)
    if ahead and start is None and end is None:
        start = now - now % HOUR
        end = start + DAY
    if end is None:  # 24 hours before now, or after a start in the future
        end = now if start is None or start < now else min(start + DAY, LAST_INSTANT)
    start = max(0, end - DAY) if start is None else start
    if start >= end:
        detail = f"must be before end, which is not included: got {clock.iso(start)} and {clock.iso(end)}"
        raise _out_of_range("start", detail)
    if as_of is not None and as_of > now:
        raise _out_of_range("as_of", f"must not be in the future: got {clock.iso(as_of)}, and it is {clock.iso(now)}")
    as_of = None if as_of is None else min(as_of, now - SETTLED_S)
    published_before = to_unix("published_before", query.get("published_before"), zones, now)
    pick = Pick(None, published_before, query.get("lead"), query.get("vintages") is not None) if ahead else None
    if pick is not None and pick.every and end - start > LONGEST_OF_VINTAGES:
        raise _out_of_range("start", "must be at most three days before end with vintages=all")
    request = SeriesRequest(
        metric, zones, stored, start, end, query["limit"], query["order"], query.get("by") is not None,
        query.get("market") is not None, query.get("interval"), as_of, query.get("cursor"), query["sample"],
        query["time"], several, pick,
    )  # fmt: skip
    if request.cursor is not None:
        _check_cursor(request, request.cursor)
    return request


def _edge(name: str, moment: Moment | None, zones: tuple[str, ...], now: int, interval: Interval | None) -> int | None:
    """Return `start` or `end` in Unix seconds. Raises Problem 400.

    With an interval of the civil calendar, a date means each zone's own day, and the time is that of the zone whose
    day starts first. No two zones are a day apart, so the window has the starts of just those days of each zone.
    """
    return (first_instant if interval in CIVIL and is_midnight(moment) else to_unix)(name, moment, zones, now)


def _asks_forecast(query: Mapping[str, Any]) -> bool:
    """Return whether a query requests a forecast. Raises Problem 400 for parameters that do not fit together."""
    sent = [name for name in (*_OF_READINGS, *_OF_VINTAGES) if query.get(name) is not None and query[name] is not False]
    wanted = query.get("kind") == "forecast"
    unfit, relation = (_OF_READINGS, "cannot be combined with") if wanted else (_OF_VINTAGES, "requires")
    if faults := [ParameterFault(name, "conflict", f"{relation} kind=forecast") for name in sent if name in unfit]:
        raise parameters.invalid(faults)
    if wanted and len(sent) > 1:
        raise conflict(sent[1], f"cannot be combined with {sent[0]}")
    return wanted


def _check_cursor(request: SeriesRequest, cursor: Cursor) -> None:
    if cursor.order != request.order:
        raise conflict("cursor", f"was issued for order={cursor.order}; use the same order")
    # Its zone, fuel, border, interconnector or vintage must be of the type that this request's rows have.
    fuel, *border = cursor.key
    fits = (not fuel or request.metric in BY_FUEL) and (request.borders or not any(border))
    if (cursor.zone is not None) != request.several or not (fits or request.pick is not None):
        raise conflict("cursor", "was issued for a different query; repeat the parameters of the previous page")
    if not request.window.start <= cursor.ts < request.end:
        raise _out_of_range("cursor", "is outside the window; send the same start and end as for the previous page")


def _out_of_range(name: str, detail: str) -> Problem:
    return parameters.invalid([ParameterFault(name, "out-of-range", detail)])


def plan_request(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[ZonePlan, ...]:
    """Find the files with the rows of a request, by zone, which suffices for an ETag. Raises StorageError."""
    known_at = clock.now() if request.as_of is None else request.as_of
    # A yearly row starts long before the window, and a mean spans its interval.
    after = LONGEST[request.interval] if request.interval else 0
    before = _YEAR if request.metric in YEARLY else after
    reach = Window(max(0, request.start - before), min(request.end + after, LAST_INSTANT + 1))
    return tuple([
        ZonePlan(
            request, zone, stored, tuple(reader.files(zone, stored, reach)), catalogue,
            _due(catalogue, zone, stored, known_at), known_at,
        )
        for zone, stored in zip(request.zones, request.stored, strict=True)
    ])  # fmt: skip


def _due(catalogue: Catalogue, zone: str, stored: str, known_at: int) -> DueSpan:
    """Return what is due at a time, and cache the last result, because many requests share a second.

    Nothing is due unless publishers are to publish every interval, which excludes years and vintages. A row may be due
    from the day on which the first feed starts, until the time up to which the earliest has published, grace included.
    """
    key = ("due", zone, stored)
    last: tuple[int, DueSpan] | None = catalogue.document.derived.get(key)
    if last is not None and last[0] == known_at:
        return last[1]
    served = catalogue.served_feeds(zone, stored) if define(stored).due == "intervals" else []
    configured = [feed for feed in served if catalogue.sources[feed.source].configured]
    feeds, due = configured or served, DueSpan(0, 0, DAY)
    if feeds:
        carriers = [health.carrier(feed, configured=True) for feed in feeds]
        due = DueSpan(
            min(local_midnight(feed.since, feed.tz) for feed in feeds),
            max(coverage.published_until(each.publication, each.tz, each.resolution, known_at) for each in carriers),
            min(RESOLUTIONS[each.resolution] for each in carriers),
        )
    catalogue.document.derived[key] = known_at, due
    return due
