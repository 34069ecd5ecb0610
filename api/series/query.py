"""A series question, checked, and where its rows lie. Reads no row (`api.series.page` does)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from api.documents.catalogue import Catalogue, stored_metric
from api.series.gaps import Calendar, DueSpan, calendar, due_span
from api.series.paging import Cursor, Order
from api.series.times import TimeStyle
from warehouse import clock
from warehouse.clock import DAY, HOUR, Window
from warehouse.errors import BadWindow
from warehouse.market import Metric
from warehouse.reader import MonthFile, Reader
from warehouse.resample import Interval
from warehouse.storage import Identity

DEFAULT_LIMIT, MOST_ROWS = 1000, 5000
SAMPLE_ROWS = 50
WITH_FUEL = frozenset({Metric.GENERATION, Metric.CAPACITY})
SETTLED_S = 10
"""Longer ago than this, every file that names an instant is in place and seen by every reader."""
_YEAR = 367 * DAY
"""A capacity row began at most so long before an instant of its year."""


class Query(NamedTuple):
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
        """Until where the window's rows must be there: with it, holes come and go though no file changes.

        The hole at the window's end is there once the whole interval that begins in it is due.
        """
        longest = 25 * HOUR if self.query.interval == "1d" else HOUR
        return max(self.query.start, min(self.due.until, self.query.end + longest))

    @property
    def identities(self) -> tuple[Identity, ...]:
        return tuple(file.identity for file in self.files)


def is_of_its_rows(cursor: Cursor, metric: Metric, borders: bool) -> bool:
    """Whether a cursor names no fuel, border or tie where the question's rows have none: it would skip some of them."""
    return (not cursor.fuel or metric in WITH_FUEL) and (not (cursor.counterparty or cursor.link) or borders)


def window_of(start: int | None, end: int | None, now: int) -> tuple[int, int]:
    """A window with its defaults: the 24 hours before now, or those after a start in the future. Raises BadWindow."""
    if end is None:
        end = now if start is None or start < now else min(start + DAY, clock.LAST_INSTANT)
    start = max(0, end - DAY) if start is None else start
    if start >= end:
        raise BadWindow(f"start {start} is not before end {end}")
    return start, end


def settled(as_of: int | None, now: int) -> int | None:
    """The instant as of which a question is answered: the same question then answers the same for ever.

    One of the last SETTLED_S seconds is put back: a file that names it may still be on its way. Raises BadWindow for
    one later than now.
    """
    if as_of is not None and as_of > now:
        raise BadWindow(f"as_of {as_of} is later than now, {now}")
    return None if as_of is None else min(as_of, now - SETTLED_S)


def find(reader: Reader, catalogue: Catalogue, query: Query) -> Plan:
    """Where the rows of a query lie. Raises UnknownZone, MetricNotAvailable, Withheld."""
    stored = stored_metric(catalogue, query.zone, query.metric, query.day_ahead)
    due = _due(catalogue, query.zone, stored, clock.now() if query.as_of is None else query.as_of)
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
