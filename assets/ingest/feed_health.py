"""Record the result of a run in a feed's health, by zone: the end of its rows and any failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from assets.ingest.context import PipelineContext
from assets.ingest.gather import Gathered
from assets.ingest.reports import DayReport
from warehouse.documents import health
from warehouse.documents.health import Health
from warehouse.errors import FeedError, NotPublished, cause_of, name_unknown
from warehouse.judge import quality
from warehouse.judge.coverage import Pair
from warehouse.market import clock
from warehouse.market.feeds import Feed
from warehouse.market.metrics import define
from warehouse.rows.schema import Rows, SeriesKey


def note(
    pipeline: PipelineContext,
    gathered: Gathered,
    days: Sequence[DayReport],
    rows: Rows,
    quarantined: int,
    from_raw: bool,
) -> None:
    """Record the results of a run over market days in the source's health, by zone. Raises StorageError.

    `rows` are plausible, and `quarantined` is the number of other rows. `from_raw`: all are from the raw archive.
    """
    now, feed = clock.now(), gathered.feed
    oldest = clock.local_date(now - (feed.revised_days + 2) * clock.DAY, feed.tz)
    # Failures of raw responses, and of days that are no longer scheduled, do not show the feed's state today.
    judging = not from_raw and (pipeline.mode == "recorded" or any(day.day >= str(oldest) for day in days))
    # If nothing of a day is due, the day shows that the publisher is available only if the publisher responded.
    waiting = judging and gathered.answered_at > 0 and any(day.status == "pending" for day in days)
    at = gathered.answered_at if from_raw else now
    known = [] if judging else health.load(pipeline.storage, feed.source)
    errors = {h.zone: (h.error_kind, h.last_error) for h in known if h.feed == feed.id}
    zones, metrics = _reached(feed, rows)
    changes = []
    for zone in feed.zones:
        until, (kind, failure) = zones.get(zone, 0), _failure(zone, gathered, days, rows) if judging else ("", "")
        answered = until > 0 or (waiting and not failure)
        if answered or failure:
            error_kind, last_error = (kind, failure) if judging else errors.get(zone, ("", ""))
            reached = {metric.value: metrics.get((zone, metric), 0) for metric in feed.metrics}
            instants = at if answered else 0, last_error, at if failure else 0, until
            changes.append(Health(feed.id, zone, *instants, quarantined, reached, error_kind))
    if changes:
        last_start = max(quality.possible_time(feed, (), now, metric).end for metric in feed.metrics)
        health.note(pipeline.storage, feed.source, changes, clock.interval_end(last_start, feed.resolution))


def _reached(feed: Feed, rows: Rows) -> tuple[dict[str, int], dict[Pair, int]]:
    """Return the end of the newest interval by zone, and by zone and metric. Border rows do not count for a metric's
    total, and forecasts in a feed of actual values do not count at all.
    """
    zones: dict[str, int] = defaultdict(int)
    metrics: dict[Pair, int] = defaultdict(int)
    for key, readings in rows.readings.items():
        if not readings.ts or (define(key.metric).due == "vintages" and key.metric not in feed.metrics):
            continue
        end = _end(feed, key, max(readings.ts))
        zones[key.zone] = max(zones[key.zone], end)
        if key.counterparty is None and key.link is None:
            metrics[key.zone, key.metric] = max(metrics[key.zone, key.metric], end)
    return zones, metrics


def _end(feed: Feed, key: SeriesKey, last: int) -> int:
    """Return the end of a feed's rows: of the last interval, or for a forecast, its publication time or market day."""
    if key.published_at is None:
        return clock.interval_end(last, key.resolution)
    if feed.publication.daily_at is None:
        return key.published_at
    return clock.MarketDay.at(key.published_at, feed.tz).end


def _failure(zone: str, gathered: Gathered, days: Sequence[DayReport], rows: Rows) -> tuple[str, str]:
    """Return the error type and the text of a failure in a zone; both are empty if there is none."""
    unknown = sorted({member.name for member in rows.unknown if member.zone in ("", zone)})
    found = [("unknown_member", name_unknown(unknown))] if unknown else []
    outages = [
        *(
            (error.kind if isinstance(error, FeedError) else "storage", cause_of(error))
            for request, error in gathered.failures
            if request.zone in (None, zone) and not isinstance(error, NotPublished)
        ),
        *(
            ("nothing_published", f"{day.day}: {day.reason}")
            for day in days
            if day.status == "failed" and day.nothing_published
        ),
    ]
    found += outages[:1]
    return found[0][0] if found else "", "; ".join(text[:300] for _, text in found)[:300]
