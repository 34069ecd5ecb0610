"""Recreate rows from the raw archive or from recordings with a MANIFEST: `emds rebuild` and `emds replay FOLDER`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from assets.fetch.recorded import recorded_requests
from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport, window_of
from assets.ingest.runs import ingest_days
from assets.sources import feed as feed_of
from assets.sources import feeds
from orchestration.work import commands
from orchestration.work.backfill import Task, days_of, monthly_tasks
from orchestration.work.environment import open_context
from warehouse.bookkeeping import logged
from warehouse.errors import FeedError
from warehouse.market.clock import MarketDay, Window, local_date, months
from warehouse.market.feeds import Feed, Request
from warehouse.series import damaged, folding, month_versions, raw
from warehouse.series.month_versions import Month
from warehouse.store import layout


def rebuild(feeds: Sequence[Feed], first: date | None, last: date | None) -> int:
    """Rebuild absent months, apply the current ranks and permissions, and parse the raw archive."""
    pipeline = open_context()
    tasks = plan(pipeline, feeds, first, last)
    absent = rebuild_absent(pipeline, tasks)
    changed, unreadable = resolve(pipeline, feeds, first, last)
    code = commands.run(tasks, from_raw=True, history=True)
    print(f"{len(tasks)} runs over the raw archive, {absent} months rebuilt, ranks changed in {changed} monthly files")
    for line in unreadable:
        sys.stderr.write(f"emds: {line}\n")
    return 1 if unreadable else code


def plan(pipeline: PipelineContext, feeds: Sequence[Feed], first: date | None, last: date | None) -> list[Task]:
    """Return runs over the market days for which the raw archive has responses of these feeds."""
    tasks = []
    for feed in feeds:
        asked = {d for stored in raw.find(pipeline.storage, feed.id, first, last) for d in stored.request.days}
        tasks += monthly_tasks(
            feed, (d for d in asked if (first is None or d >= first) and (last is None or d <= last))
        )
    return tasks


def rebuild_absent(pipeline: PipelineContext, tasks: Sequence[Task]) -> int:
    """Rebuild months without a served file, response by response, so that `as_of` holds; return their number."""
    places = set[Month]()
    for task in tasks:
        feed, days = feed_of(task.feed), days_of(task)
        span = Window(window_of(feed, days[0]).start, window_of(feed, days[-1]).end)
        places.update(
            Month(m.value, zone, month) for month in months(span) for m in feed.metrics for zone in feed.zones
        )
    absent = [place for place in places if damaged.is_gone(pipeline.storage, layout.series(*place))]
    return sum(rows > 0 for _, rows in repair.rebuild_months(pipeline, absent))


def resolve(
    pipeline: PipelineContext, feeds: Sequence[Feed], first: date | None, last: date | None
) -> tuple[int, list[str]]:
    """Resolve the monthly files of these feeds' zones from `first` to `last`, by the current ranks and permissions.

    Return the number of changed files, and a line for each unreadable file.
    """
    changed, unreadable = 0, []
    zones = {zone for feed in feeds for zone in feed.zones}
    begin = str(first - timedelta(days=1))[:7] if first else ""  # a market day may start in the previous UTC month
    end = str(last + timedelta(days=1))[:7] if last else "9999"
    for place in (Month(*place) for place in folding.places(pipeline.storage)):
        if place.zone in zones and begin <= place.month <= end:
            with logged("/".join(place)) as attempt:
                changed += month_versions.update(
                    pipeline.storage,
                    place,
                    lambda stored: stored.versions,
                    pipeline.ranks,
                    pipeline.mode,
                    terms=pipeline.terms,
                )
            if attempt.error is not None:
                unreadable.append(attempt.failure)
    return changed, unreadable


def replay(folder: Path) -> int:
    """Ingest every recorded response as if its publisher returned it now; list days and typed failures.

    Each market day with recorded rows becomes a materialisation; the warehouse's mode becomes `recorded`. Responses of
    unknown feeds are skipped. A recorded error is not a failure of the replay: return 0.
    """
    pipeline = open_context(recordings=folder)
    by_feed, failed = defaultdict[str, list[Request]](list), 0
    for request in recorded_requests(folder):
        try:
            if request.kind == "rows" and (dated := _dated(pipeline, request)).days:
                by_feed[request.feed].append(dated)
        except FeedError as error:
            failed += 1
            print(f"{request.feed:28} {request.url.rpartition('#')[2]}: {type(error).__name__}: {error}")
    tasks = [
        Task(feed, tuple(sorted({day for request in requests for day in request.days})))
        for feed, requests in sorted(by_feed.items())
    ]
    runs = ((task, _ingest(pipeline, task, by_feed[task.feed])) for task in tasks)
    reports, failures = commands.conclude(pipeline, tasks, runs)
    rows = sum(day.rows for report in reports for day in report.days)
    print(f"replayed {rows} rows of {len(tasks)} feeds; {failed} recorded responses are failures")
    return commands.list_unpublished(failures)


def _ingest(pipeline: PipelineContext, task: Task, requests: Sequence[Request]) -> RunReport:
    """Run a feed once. If two responses cover an interval, the later one in the manifest stays, at every replay."""

    def choose(days: Sequence[MarketDay], now: int) -> list[Request]:
        wanted = {day.day for day in days}
        return [request for request in requests if wanted.intersection(request.days)]

    return ingest_days(pipeline, replace(feed_of(task.feed), requests=choose), days_of(task))


def _dated(pipeline: PipelineContext, request: Request) -> Request:
    """Return the request with the market days of its rows. Raises the errors of fetching and parsing."""
    feed = feeds()[request.feed]
    rows = feed.parse(pipeline.session.ask(request).body, request)
    stamps = {ts // 900 * 900 for readings in rows.readings.values() for ts in readings.ts}
    days = {local_date(ts, feed.tz) for ts in stamps}
    if feed.yearly:
        days = {date(local_date(ts + 86400, feed.tz).year, 1, 1) for ts in stamps}
    return replace(request, days=tuple(sorted(days or set(request.days))))
