"""A checked series request, and the plan of the files that hold its rows. `api.series.page` reads the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

from api.documents.catalogue import Catalogue
from api.http import parameters
from api.http.parameters import conflict, to_unix
from api.http.problems import ParameterFault
from api.series.gaps import Calendar, DueSpan, calendar, due_span
from api.series.paging import Cursor, Order
from warehouse.errors import BadWindow
from warehouse.figures.resample import Interval
from warehouse.market import clock
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.metrics import BY_FUEL, YEARLY, Metric
from warehouse.series.reader import MonthFile, Reader

TimeStyle = Literal["utc", "local"]
DEFAULT_LIMIT, MOST_ROWS = 1000, 5000
SAMPLE_ROWS = 50
SETTLED_S = 10
"""Seconds after which every reader sees the files that name an instant."""
_YEAR = 367 * DAY
"""A yearly row began at most so long before an instant of its year."""


class SeriesRequest(NamedTuple):
    """A series request, checked: `[start, end)` in Unix seconds, of one zone or of several."""

    metric: Metric
    zones: tuple[str, ...]
    """Sorted, each once."""
    stored: tuple[str, ...]
    """The stored series of each zone (`api.documents.catalogue.stored_metric`)."""
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
    """Asked for as `zones=`, also where that names one: rows and gaps say their zone."""

    @property
    def window(self) -> Window:
        """Where the rows of an answer begin; a year's row begins long before a window that its year overlaps."""
        return Window(0 if self.metric in YEARLY else self.start, self.end)

    def takes(self, cursor: Cursor) -> bool:
        """Whether a cursor names the zone, fuel, border or tie of a row as this request's rows do."""
        return (
            (cursor.zone is not None) == self.several
            and (not cursor.fuel or self.metric in BY_FUEL)
            and (not (cursor.counterparty or cursor.link) or self.borders)
        )


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The stored series of one zone of a request, and the files that its window touches."""

    request: SeriesRequest
    zone: str
    stored: str
    files: tuple[MonthFile, ...]
    catalogue: Catalogue
    due: DueSpan

    @property
    def due_until(self) -> int:
        """Until where the window's rows must be there: with it, holes come and go though no file changes.

        The hole at the window's end is there once the whole interval that begins in it is due.
        """
        longest = 25 * HOUR if self.request.interval == "1d" else HOUR
        return max(self.request.start, min(self.due.until, self.request.end + longest))


@dataclass(frozen=True, slots=True)
class Plan:
    """The files that hold a request's rows, zone by zone: enough for an ETag."""

    request: SeriesRequest
    catalogue: Catalogue
    zones: tuple[ZonePlan, ...]


def series_request(
    metric: Metric, zones: tuple[str, ...], stored: tuple[str, ...], query: Mapping[str, Any], several: bool
) -> SeriesRequest:
    """The request that checked parameters make up. Raises Problem 400 for those that do not fit each other."""
    start, end, as_of = [_instant(name, query[name], zones) for name in ("start", "end", "as_of")]
    name, now = "start", clock.now()
    try:
        start, end = _window_of(start, end, now)
        name = "as_of"
        as_of = settled(as_of, now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault(name, "out-of-range", str(fault))]) from None
    request = SeriesRequest(
        metric, zones, stored, start, end, query["limit"], query["order"], query.get("by") is not None,
        query.get("market") is not None, query.get("interval"), as_of, query.get("cursor"), query["sample"],
        query["time"], several,
    )  # fmt: skip
    _check_cursor(request)
    return request


def _instant(name: str, moment: parameters.Moment | None, zones: tuple[str, ...]) -> int | None:
    if not isinstance(moment, date):
        return moment
    if len(zones) > 1:
        raise conflict(name, "a date takes one zone: give Unix seconds or RFC 3339 with an offset")
    return to_unix(moment, zones[0])


def _check_cursor(request: SeriesRequest) -> None:
    cursor = request.cursor
    if cursor is None:
        return
    if cursor.order != request.order:
        raise conflict("cursor", f"belongs to order={cursor.order}")
    if not request.takes(cursor):
        raise conflict("cursor", "belongs to another question")
    if not request.window.start <= cursor.ts < request.end:
        detail = "lies outside start..end: a cursor goes on within its own window"
        raise parameters.invalid([ParameterFault("cursor", "out-of-range", detail)])


def _window_of(start: int | None, end: int | None, now: int) -> tuple[int, int]:
    """Fill in a window's defaults: 24 hours before now, or after a start in the future. Raises BadWindow."""
    if end is None:
        end = now if start is None or start < now else min(start + DAY, clock.LAST_INSTANT)
    start = max(0, end - DAY) if start is None else start
    if start >= end:
        raise BadWindow(f"start {start} is not before end {end}")
    return start, end


def settled(as_of: int | None, now: int) -> int | None:
    """Return the instant as of which to answer a request, so that it always gets the same answer.

    Move one of the last SETTLED_S seconds back: a file that names it may still be on its way. Raises BadWindow for
    one later than now.
    """
    if as_of is not None and as_of > now:
        raise BadWindow(f"as_of {as_of} is later than now, {now}")
    return None if as_of is None else min(as_of, now - SETTLED_S)


def plan(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Plan:
    """Find the files that hold the rows of a request now. Raises StorageError."""
    known_at = clock.now() if request.as_of is None else request.as_of
    reach = _reach(request)
    return Plan(
        request,
        catalogue,
        tuple([
            ZonePlan(
                request, zone, stored, tuple(reader.files(zone, stored, reach)), catalogue,
                _due(catalogue, zone, stored, known_at),
            )
            for zone, stored in zip(request.zones, request.stored, strict=True)
        ]),
    )  # fmt: skip


def _due(catalogue: Catalogue, zone: str, stored: str, known_at: int) -> DueSpan:
    """Return what is due at an instant; cache the last answer, since a second sees many requests."""
    key = ("due", zone, stored)
    last: tuple[int, DueSpan] | None = catalogue.derived.get(key)
    if last is None or last[0] != known_at:
        last = catalogue.derived[key] = known_at, due_span(_calendars(catalogue, zone, stored), known_at)
    return last[1]


def _calendars(catalogue: Catalogue, zone: str, stored: str) -> tuple[Calendar, ...]:
    """Return the calendars of the feeds that may be served; yearly feeds have none."""
    key = ("calendars", zone, stored)
    calendars: tuple[Calendar, ...] | None = catalogue.derived.get(key)
    if calendars is None:
        carriers = [feed for feed in catalogue.entry(zone, stored).get("feeds", []) if not feed["withheld"]]
        members = [(catalogue.feeds[feed["id"]], catalogue.sources[feed["source"]]) for feed in carriers]
        calendars = tuple(calendar(feed, source["configured"]) for feed, source in members if not feed["yearly"])
        catalogue.derived[key] = calendars
    return calendars


def _reach(request: SeriesRequest) -> Window:
    """Return every `ts` that may matter: a year's row begins long before the window, a mean spans its interval."""
    before = _YEAR if request.metric in YEARLY else DAY if request.interval else 0
    after = DAY if request.interval else 0
    return Window(max(0, request.start - before), min(request.end + after, clock.LAST_INSTANT + 1))
