"""What a run adds to a feed's health, zone by zone: how far its rows reach, and what went wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assets.ingest.reports import NOTHING_PUBLISHED, DayReport, Failures
from warehouse.documents.health import Health
from warehouse.errors import UNKNOWN_MEMBER, NotPublished
from warehouse.judge.coverage import Pair
from warehouse.market import clock
from warehouse.market.market import Feed
from warehouse.market.metrics import is_forecast
from warehouse.rows.schema import Rows, SeriesKey


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run over market days of a feed brought."""

    days: Sequence[DayReport]
    rows: Rows
    """The rows that were believed."""
    failures: Failures
    quarantined: int
    """Rows set aside."""
    answered_at: int
    """When the publisher answered, Unix seconds."""
    judging: bool
    """Whether failures count. Those of kept bodies, and of days that no schedule asks for any more, say nothing about
    the feed today: its last error stays as it is."""


def of_zones(feed: Feed, outcome: Outcome, known: Mapping[str, Health]) -> list[Health]:
    """The zones of a feed of which a run learnt something; `known` is the feed's health so far, by zone."""
    zones, metrics = _reached(feed, outcome.rows)
    changes = (_of_zone(feed, zone, outcome, zones.get(zone, 0), known.get(zone)) for zone in feed.zones)
    return [
        replace(change, reached={metric.value: metrics.get((change.zone, metric), 0) for metric in feed.metrics})
        for change in changes
        if change is not None
    ]


def _of_zone(feed: Feed, zone: str, outcome: Outcome, until: int, known: Health | None) -> Health | None:
    """The change of one zone, but for its metrics; None where the run says nothing about it."""
    failure = _failure(zone, outcome) if outcome.judging else ""
    waiting = outcome.judging and any(day.status == "waiting" for day in outcome.days)
    answered = until > 0 or (waiting and not failure)
    if not answered and not failure:
        return None
    at = outcome.answered_at
    last_error = failure if outcome.judging or known is None else known.last_error
    return Health(feed.id, zone, at if answered else 0, last_error, at if failure else 0, until, outcome.quarantined)


def _reached(feed: Feed, rows: Rows) -> tuple[dict[str, int], dict[Pair, int]]:
    """The end of the newest interval by zone, and by zone and metric. Border rows do not count as a metric's total,
    nor forecasts that a feed of readings holds besides."""
    zones: dict[str, int] = defaultdict(int)
    metrics: dict[Pair, int] = defaultdict(int)
    for key, readings in rows.readings.items():
        if not readings.ts or (is_forecast(key.metric) and key.metric not in feed.metrics):
            continue
        end = _end(feed, key, max(readings.ts))
        zones[key.zone] = max(zones[key.zone], end)
        if key.counterparty is None and key.link is None:
            metrics[key.zone, key.metric] = max(metrics[key.zone, key.metric], end)
    return zones, metrics


def _end(feed: Feed, key: SeriesKey, last: int) -> int:
    """Until where a feed has come with readings: the end of the last one; with a vintage, its moment or market day."""
    if key.published_at is None:
        return clock.interval_end(last, key.resolution)
    if feed.publication.daily_at is None:
        return key.published_at
    return clock.MarketDay.at(key.published_at, feed.tz).end


def _failure(zone: str, outcome: Outcome) -> str:
    """Why rows of the zone did not come; empty where nothing went wrong."""
    unknown = sorted({member.name for member in outcome.rows.unknown if member.zone in ("", zone)})
    named = UNKNOWN_MEMBER + ", ".join(unknown) if unknown else ""
    return "; ".join(filter(None, [named, _outage(zone, outcome)]))[:300]


def _outage(zone: str, outcome: Outcome) -> str:
    """Why nothing of the zone came where something should have."""
    for request, error in outcome.failures:
        if request.zone in (None, zone) and not isinstance(error, NotPublished):
            return str(error)[:300]
    for day in outcome.days:
        if day.status == "failed" and day.reason.startswith(NOTHING_PUBLISHED):
            return f"{day.day}: {day.reason}"[:300]
    return ""
