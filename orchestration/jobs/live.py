"""Define the jobs that fetch from several publishers in one run: `live` every five minutes, `fill_gaps` once a day.

Each publisher has its own thread, so that a slow publisher does not delay the others. Its rate-limit file also covers a
simultaneous backfill. Each feed is followed by the steps of a partition's own run: `ingest_days`, events, documents. No
`from __future__ import annotations`: Dagster reads the annotations.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

import dagster as dg

from assets import checks, events
from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher, PipelineContext
from assets.ingest.refresh import refresh
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from assets.series_assets import words
from orchestration.work import gaps
from orchestration.work.backfill import Task
from warehouse.bookkeeping import logged
from warehouse.errors import CredentialsMissing, FeedUnavailable, NotPublished, OutOfReach
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Request, Source
from warehouse.market.metrics import define

LIVE, FILL_GAPS = "live", "fill_gaps"
LIVE_MINUTES = 15
"""Feeds that are fetched at least this often are `live`; the others have partitioned jobs."""
TICK = "emds/tick"
"""The tag of a scheduled run: its scheduled time, which decides which feeds are due."""
LIVE_S, GAPS_S = 240.0, 3000.0
"""Seconds after which a publisher's thread sends no more requests; the next run continues."""
SETTLING_S = 7200
"""A market day is fetched at every tick until this many seconds after its end; older revisable days once an hour."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A session that sends no more requests after `end`, a time of `time.monotonic`."""

    session: Fetcher
    end: float

    def ask(self, request: Request) -> Fetched:
        """Send a request through the session. Raises FeedUnavailable after `end`."""
        if time.monotonic() >= self.end:
            raise FeedUnavailable("the run has no time left; the next run fetches this feed", kind="paused")
        return self.session.ask(request)


@dataclass(slots=True)
class Asked:
    """The outcome of one publisher."""

    reports: list[RunReport] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    """Dagster events in order."""
    faults: list[str] = field(default_factory=list)
    """Faults that need manual action; an outage of the publisher is not among them."""


def live_feeds(source: Source) -> list[Feed]:
    """Return the feeds of a source that `live` fetches: frequent feeds, and forecasts, which would be lost."""
    return [
        feed
        for feed in source.feeds
        if feed.every_minutes <= LIVE_MINUTES or any(define(metric).due == "vintages" for metric in feed.metrics)
    ]


def due_tasks(sources: Mapping[str, Source], tick: datetime | None) -> list[Task]:
    """Return what `live` fetches at a scheduled time, or all that it ever fetches at a manual start (None)."""
    return [
        Task(feed.id, tuple(_days(feed, tick)))
        for source in sources.values()
        for feed in live_feeds(source)
        if tick is None or (tick.hour * 60 + tick.minute) % feed.every_minutes == 0
    ]


def _days(feed: Feed, tick: datetime | None) -> Iterator[date]:
    now = clock.now()
    today, settling = clock.local_date(now, feed.tz), clock.local_date(now - SETTLING_S, feed.tz)
    back = feed.revised_days if tick is None or tick.minute == 0 else 0
    first = min(today - timedelta(days=back), settling)
    days = (first + timedelta(days=number) for number in range((today - first).days + feed.ahead_days + 1))
    return (day for day in days if feed.out_of_reach(day, today) is None)


def ask(pipeline: PipelineContext, tasks: Sequence[Task], seconds: float) -> Iterator[Asked]:
    """Fetch from publishers in parallel threads and yield each as it ends, except those without credentials."""
    limited = replace(pipeline, session=TimeLimit(pipeline.session, time.monotonic() + seconds))
    by_source: dict[str, list[Task]] = {}
    for task in tasks:
        by_source.setdefault(task.feed.split(".")[0], []).append(task)
    wanted = {code: own for code, own in by_source.items() if code in pipeline.configured}
    with ThreadPoolExecutor(max_workers=max(1, len(wanted)), thread_name_prefix="publisher") as threads:
        started = [threads.submit(_ask_one, limited, pipeline.sources[code], own) for code, own in wanted.items()]
        for done in as_completed(started):
            yield done.result()


def _ask_one(pipeline: PipelineContext, source: Source, tasks: Sequence[Task]) -> Asked:
    asked = Asked()
    for task in tasks:
        with logged(task.name) as attempt:
            feed = source.feed(task.feed)
            report = ingest_days(pipeline, feed, [MarketDay(day, feed.tz) for day in task.days])
            asked.reports.append(report)
            for day in events.of_run(pipeline, feed, report):
                asked.events += day
            asked.events += [checks.freshness(pipeline, feed), *events.raw_events(source, report)]
            asked.faults += _faults(report)
        asked.faults += filter(None, [attempt.failure])
    with logged(f"documents of {source.code}") as attempt:
        asked.faults += refresh(pipeline, {zone for report in asked.reports for zone in report.zones})
    asked.faults += filter(None, [attempt.failure])
    return asked


def _faults(report: RunReport) -> Iterator[str]:
    """Yield the failures that need manual action: a changed format, a rejected key, a local file error."""
    for error in report.failures:
        unset = isinstance(error, CredentialsMissing) and not error.refused
        if not (unset or isinstance(error, FeedUnavailable | NotPublished | OutOfReach)):
            yield f"{report.feed}: {type(error).__name__}: {error}"


def live_jobs(sources: Mapping[str, Source]) -> tuple[Any, Any]:
    """Return `live` and `fill_gaps`."""

    def due(tick: str | None, pipeline: PipelineContext) -> list[Task]:
        return due_tasks(sources, datetime.fromisoformat(tick) if tick else None)

    def holes(_: str | None, pipeline: PipelineContext) -> list[Task]:
        return gaps.to_fill(pipeline)

    live = _job(LIVE, due, LIVE_S, "Fetches the feeds that update at least every 15 minutes, if new data is due.")
    fill = _job(FILL_GAPS, holes, GAPS_S, f"Fetches missing data of the last {gaps.BACK_DAYS} days.")
    return live, fill


def _job(name: str, wanted: Callable[[str | None, PipelineContext], list[Task]], seconds: float, text: str) -> Any:
    @dg.op(name=f"ask_{name}", description=text)
    def ask_publishers(context: dg.OpExecutionContext, warehouse: dg.ResourceParam[PipelineContext]) -> None:
        faults: list[str] = []
        for asked in ask(warehouse, wanted(context.run.tags.get(TICK), warehouse), seconds):
            for event in asked.events:
                context.log_event(event)
            for report in asked.reports:
                context.log.info(words(report))
                for day in report.failed:
                    context.log.warning(f"{report.feed} {day.day}: {day.reason}")
            faults += asked.faults
        if faults:
            reasons = "; ".join(dict.fromkeys(faults))
            raise dg.Failure(f"manual action needed: {reasons}"[:2000], allow_retries=False)

    @dg.job(name=name, description=text, tags={"dagster/max_runtime": str(int(seconds) + 660)})
    def job() -> None:
        ask_publishers()

    return job
