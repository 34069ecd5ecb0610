"""A checked series request, and the plan of the files that hold its rows. `api.series.page` reads the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from api.documents.catalogue import Catalogue
from api.http import parameters
from api.http.parameters import conflict
from api.http.problems import ParameterFault, Problem
from api.http.times import to_unix
from api.series.gaps import DueSpan, due_span
from api.series.paging import Cursor, Order
from warehouse.figures.resample import LONGEST, Interval
from warehouse.market import clock
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.metrics import BY_FUEL, YEARLY, Metric, is_forecast
from warehouse.rows.forecasts import Pick
from warehouse.series.reader import MonthFile, Reader

TimeStyle = Literal["utc", "local"]
DEFAULT_LIMIT, MOST_ROWS = 1000, 5000
SAMPLE_ROWS = 50
SETTLED_S = 10
"""Seconds after which every reader sees the files that name an instant."""
LONGEST_OF_VINTAGES = 3 * DAY
"""Of a window with all vintages: a publisher may issue one each half hour."""
_OF_VINTAGES = ("published_before", "lead", "vintages")
"""Parameters that only forecasts take, at most one of them."""
_OF_READINGS = ("interval", "market", "stats", "above", "below")
"""Parameters that only readings take: a mean of forecasts was published at no instant."""
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
    pick: Pick | None = None
    """Which vintages of the publisher's forecast, of those known by `as_of`; None for readings."""

    @property
    def window(self) -> Window:
        """Where the rows of an answer begin; a year's row begins long before a window that its year overlaps."""
        return Window(0 if self.metric in YEARLY else self.start, self.end)


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
        longest = LONGEST[self.request.interval or "1h"]
        return max(self.request.start, min(self.due.until, self.request.end + longest))


def series_request(
    metric: Metric, zones: tuple[str, ...], stored: tuple[str, ...], query: Mapping[str, Any], several: bool
) -> SeriesRequest:
    """The request that checked parameters make up. Raises Problem 400 for those that do not fit each other."""
    now, ahead = clock.now(), _asks_forecast(query)
    start, end, as_of = [to_unix(name, query[name], zones, now) for name in ("start", "end", "as_of")]
    if ahead and start is None and end is None:
        start = now - now % HOUR
        end = start + DAY
    if end is None:  # 24 hours before now, or after a start in the future
        end = now if start is None or start < now else min(start + DAY, clock.LAST_INSTANT)
    start = max(0, end - DAY) if start is None else start
    if start >= end:
        detail = f"{clock.iso(start)} is not before end, {clock.iso(end)}, which is exclusive: give a later end"
        raise _out_of_range("start", detail)
    if as_of is not None and as_of > now:
        raise _out_of_range("as_of", f"{clock.iso(as_of)} is later than now, {clock.iso(now)}")
    as_of = None if as_of is None else settled(as_of, now)
    published_before = to_unix("published_before", query.get("published_before"), zones, now)
    pick = Pick(None, published_before, query.get("lead"), query.get("vintages") is not None) if ahead else None
    if pick is not None and pick.every and end - start > LONGEST_OF_VINTAGES:
        raise _out_of_range("start", "vintages=all takes at most three days")
    request = SeriesRequest(
        metric, zones, stored, start, end, query["limit"], query["order"], query.get("by") is not None,
        query.get("market") is not None, query.get("interval"), as_of, query.get("cursor"), query["sample"],
        query["time"], several, pick,
    )  # fmt: skip
    _check_cursor(request)
    return request


def _asked(query: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if query.get(name) is not None and query[name] is not False]


def _asks_forecast(query: Mapping[str, Any]) -> bool:
    """Whether a query asks for a forecast. Raises Problem 400 for parameters that do not fit its kind or each other."""
    wanted = query.get("kind") == "forecast"
    unfit, detail = (_OF_READINGS, "not with kind=forecast") if wanted else (_OF_VINTAGES, "only with kind=forecast")
    if faults := [ParameterFault(name, "conflict", detail) for name in _asked(query, unfit)]:
        raise parameters.invalid(faults)
    picks = _asked(query, _OF_VINTAGES)
    if len(picks) > 1:
        raise conflict(picks[1], f"not with {picks[0]}")
    return wanted


def _check_cursor(request: SeriesRequest) -> None:
    cursor = request.cursor
    if cursor is None:
        return
    if cursor.order != request.order:
        raise conflict("cursor", f"belongs to order={cursor.order}")
    # It names the zone, fuel, border, tie or vintage of a row as this request's rows do.
    fuel, *border = cursor.key
    fits = (not fuel or request.metric in BY_FUEL) and (request.borders or not any(border))
    if (cursor.zone is not None) != request.several or not (fits or request.pick is not None):
        raise conflict("cursor", "belongs to another question")
    if not request.window.start <= cursor.ts < request.end:
        raise _out_of_range("cursor", "lies outside start..end: a cursor goes on within its own window")


def _out_of_range(name: str, detail: str) -> Problem:
    return parameters.invalid([ParameterFault(name, "out-of-range", detail)])


def settled(as_of: int, now: int) -> int:
    """Return the instant as of which to answer a request, so that it always gets the same answer.

    Move one of the last SETTLED_S seconds back: a file that names it may still be on its way.
    """
    return min(as_of, now - SETTLED_S)


def plan(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[ZonePlan, ...]:
    """Find the files that hold the rows of a request now, zone by zone: enough for an ETag. Raises StorageError."""
    known_at = clock.now() if request.as_of is None else request.as_of
    # A year's row begins long before the window, a mean spans its interval.
    after = LONGEST[request.interval] if request.interval else 0
    before = _YEAR if request.metric in YEARLY else after
    reach = Window(max(0, request.start - before), min(request.end + after, clock.LAST_INSTANT + 1))
    return tuple([
        ZonePlan(
            request, zone, stored, tuple(reader.files(zone, stored, reach)), catalogue,
            _due(catalogue, zone, stored, known_at),
        )
        for zone, stored in zip(request.zones, request.stored, strict=True)
    ])  # fmt: skip


def _due(catalogue: Catalogue, zone: str, stored: str, known_at: int) -> DueSpan:
    """Return what is due at an instant; cache the last answer, since a second sees many requests.

    Of yearly feeds nothing is due, nor of a forecast: what its publisher owes are vintages.
    """
    key = ("due", zone, stored)
    last: tuple[int, DueSpan] | None = catalogue.document.derived.get(key)
    if last is None or last[0] != known_at:
        feeds = [] if is_forecast(stored) else catalogue.entry(zone, stored).get("feeds", [])
        members = [(catalogue.feeds[f["id"]], catalogue.sources[f["source"]]) for f in feeds if not f["withheld"]]
        due = due_span(((feed, source["configured"]) for feed, source in members if not feed["yearly"]), known_at)
        last = catalogue.document.derived[key] = known_at, due
    return last[1]
