"""Define jobs and schedules, active by default: `live`, `fill_gaps`, a partitioned job per slow feed group, documents.

One run of a partitioned schedule fetches the market days that the publisher may still revise, today, and tomorrow if it
is published ahead. No `from __future__ import annotations`: Dagster reads the annotations.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets.analyst import KEY as WAREHOUSE_DUCKDB
from assets.document_assets import GEO, LAYERS, MEASURED, OF_ALL_ZONES
from assets.mart_assets import KEYS as MART_KEYS
from assets.mart_assets import first_stale_month
from assets.partitions import asset_key, last_day
from assets.sources import feed as known_feed
from orchestration.jobs.live import LIVE, TICK, due_tasks, live_feeds, live_jobs
from orchestration.jobs.retention import retention
from orchestration.jobs.service_assets import DELIVER, PAYMENTS, UNDER_WAY, WEBHOOKS
from orchestration.work.environment import configured, opened
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.feeds import Feed, Source
from warehouse.store import modes

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
PRIORITY, MAX_RUNTIME = "dagster/priority", "dagster/max_runtime"
SCHEDULED = {PRIORITY: "10", MAX_RUNTIME: "900"}
"""Tags of a scheduled run: its priority is above that of a manual run (0) and of a backfill."""
MARTS = "marts"
"""The name of the job of the marts."""
Decide = Callable[[dg.ScheduleEvaluationContext], dg.RunRequest | dg.SkipReason]


def schedules_and_jobs(
    sources: Mapping[str, Source],
    mode: str,
    firsts: Mapping[str, date],
    first_of_marts: str,
    takes_payments: bool = False,
) -> tuple[list[Any], list[dg.ScheduleDefinition]]:
    """Return the jobs and schedules. A recorded warehouse does not fetch from publishers.

    `firsts` gives the first market day of each feed, and `first_of_marts` the first month (`2026-10`) of the marts.
    """
    asks, runs = mode != "recorded", True
    live, fill_gaps = live_jobs(sources)
    jobs: list[Any] = [live, fill_gaps, retention]
    schedules = [
        _live(sources, mode),
        _schedule(fill_gaps.name, "10 4 * * *", asks, fill_gaps.description),
        _schedule(retention.name, "50 * * * *", runs, retention.description or ""),
    ]
    for source in sources.values():
        for name, feeds in schedule_groups(source, firsts).items():
            text = f"{source.name}: {', '.join(f.id for f in feeds)}"
            jobs.append(_job(name, [*map(asset_key, feeds)], text, source=source.code))
            schedules.append(_look_back(name, feeds, firsts[feeds[0].id], mode))
    geo_layers = [dg.AssetKey([GEO, layer]) for layer in LAYERS]
    # Documents also follow the clock: an hour passes without new rows. A release may contain other layers.
    for name, keys, cron_line, running, text in (
        ("publish_documents", [*OF_ALL_ZONES], "*/15 * * * *", runs, "Publishes all documents."),
        ("publish_geo_layers", geo_layers, "30 3 * * 1", runs, "Publishes the map layers of this release."),
        ("compare_feeds", [WAREHOUSE_DUCKDB], "35 * * * *", runs, "Compares feeds and refreshes warehouse.duckdb."),
        ("measure_publishers", [MEASURED], "20 3 * * *", runs, "Measures the delays and completeness of each feed."),
        (
            "reconcile_payments",
            [PAYMENTS],
            "20 * * * *",
            takes_payments,
            "Compares payments with transfers on the chain.",
        ),
    ):
        jobs.append(_job(name, keys, text))
        schedules.append(_schedule(name, cron_line, running, text))
    jobs.append(_job(DELIVER, [WEBHOOKS], "Delivers pending messages to subscribers once."))
    jobs.append(
        _job(
            MARTS,
            [*MART_KEYS],
            "Rebuilds marts of days, hours, borders and revisions by month; records follow automatically.",
        )
    )
    schedules.append(_marts(first_of_marts))
    return jobs, schedules


def _job(name: str, keys: Sequence[dg.AssetKey], text: str, **tags: str) -> Any:
    return dg.define_asset_job(name, keys, tags={MAX_RUNTIME: SCHEDULED[MAX_RUNTIME], **tags}, description=text)


def _schedule(
    job: str, cron_line: str, running: bool, text: str, tz: str = "UTC", decide: Decide | None = None
) -> dg.ScheduleDefinition:
    """Return a job's schedule. `decide` returns the run request for a scheduled time."""
    return dg.ScheduleDefinition(
        name=f"{job}_schedule",
        job_name=job,
        cron_schedule=cron_line,
        execution_timezone=tz,
        default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
        description=text,
        execution_fn=decide,
        tags=None if decide else {PRIORITY: SCHEDULED[PRIORITY]},
    )


def _marts(first: str) -> dg.ScheduleDefinition:
    def decide(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        months = mart_months(first)
        if months is None:
            return dg.SkipReason("No monthly file changed.")
        return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat(), tags={**months, **SCHEDULED})

    text = "Rebuilds the marts of all months whose monthly files changed."
    return _schedule(MARTS, "50 3 * * *", True, text, decide=decide)


def mart_months(first: str) -> dict[str, str] | None:
    """Return the tags of a run of the marts since the first outdated partition; None if all partitions are current."""
    storage = opened(os.environ)
    mode = modes.get(storage)
    last = f"{clock.utc(int(time.time())):%Y-%m}"
    stale = None if mode is None else first_stale_month(storage, mode, first, last)
    return None if stale is None else {RANGE[0]: stale, RANGE[1]: last}


def _live(sources: Mapping[str, Source], mode: str) -> dg.ScheduleDefinition:
    def decide(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if context.instance.get_runs(dg.RunsFilter(job_name=LIVE, statuses=UNDER_WAY), limit=1):
            return dg.SkipReason("The previous run is still in progress.")
        at = context.scheduled_execution_time
        due = {task.feed.split(".")[0] for task in due_tasks(sources, at)} & configured(os.environ, mode)
        tags = {TICK: at.isoformat(), PRIORITY: SCHEDULED[PRIORITY], "publishers": ", ".join(sorted(due))}
        # A crashed tick is not retried: the next tick fetches the same days.
        return dg.RunRequest(run_key=at.isoformat(), tags={**tags, "dagster/max_retries": "0"})

    text = "Runs every five minutes; a tick is skipped while a run is in progress."
    return _schedule(LIVE, "*/5 * * * *", mode != "recorded", text, decide=decide)


def schedule_groups(source: Source, firsts: Mapping[str, date]) -> dict[str, list[Feed]]:
    """Return job name -> feeds of one run, which share an interval and the run's single partitions definition."""
    groups: dict[tuple[object, ...], list[Feed]] = defaultdict(list)
    asked_live = live_feeds(source)
    for feed in source.feeds:
        if feed not in asked_live:
            groups[feed.every_minutes, feed.tz, firsts[feed.id], feed.newest_offset, feed.yearly].append(feed)
    names: dict[str, list[Feed]] = {}
    for feeds in groups.values():
        name = f"{source.code}_every_{_spell(feeds[0].every_minutes)}"
        names[name if name not in names else f"{name}_{feeds[0].id.split('.', 1)[1]}"] = feeds
    return names


def _spell(minutes: int) -> str:
    if minutes % 1440 == 0:
        return f"{minutes // 1440}d"
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def cron(every_minutes: int, offset: int) -> str:
    """Return a cron line with this interval; `offset` minutes spread the sources over it."""
    if every_minutes >= 1440:
        return f"{offset % 60} {daily_hour(offset)} * * *"
    if every_minutes >= 60:
        return f"{offset % 60} */{every_minutes // 60} * * *"
    return f"{offset % every_minutes}-59/{every_minutes} * * * *"


def daily_hour(offset: int) -> int:
    """Return the local hour of a daily request, from 6 to 17."""
    return 6 + offset % 12


def is_behind(feed_id: str) -> bool:
    """Return whether a feed is late, down or not configured in any zone, by its own publication times."""
    feed = known_feed(feed_id)
    return health.feed_state(feed, health.load(opened(os.environ), feed.source), clock.now()).state != "ok"


def _look_back(name: str, feeds: list[Feed], first_day: date, mode: str) -> dg.ScheduleDefinition:
    feed, back, offset = feeds[0], max(f.revised_days for f in feeds), sum(map(ord, name))
    stands_in = [f.stands_in_for for f in feeds if f.stands_in_for]

    def decide(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if feed.source not in configured(os.environ, mode):
            return dg.SkipReason(f"{feed.source} is not configured: `emds doctor` says what to set")
        at = context.scheduled_execution_time.astimezone(ZoneInfo(feed.tz))
        if stands_in and at.hour != daily_hour(offset) and not any(map(is_behind, stands_in)):
            return dg.SkipReason(f"{', '.join(stands_in)} arrived in time; the fallback is fetched once a day")
        first, last = look_back_keys(feeds, at.date(), first_day)
        if first > last:
            return dg.SkipReason(f"the first partition, {first}, is not out yet")
        return dg.RunRequest(run_key=at.isoformat(), tags={RANGE[0]: first, RANGE[1]: last, **SCHEDULED})

    text = f"{', '.join(f.id for f in feeds)}: {back} days back" + (" and tomorrow" if feed.ahead_days else "")
    every = 60 if stands_in else feed.every_minutes
    return _schedule(name, cron(every, offset), mode != "recorded", text, feed.tz, decide)


def look_back_keys(feeds: list[Feed], today: date, first_day: date) -> tuple[str, str]:
    """Return the first and last partition key of a scheduled run, not before the feeds' first partition."""
    feed, last = feeds[0], last_day(feeds[0], today)
    if feed.yearly:
        return str(max(today.year - 1, first_day.year)), str(today.year)
    first = max(today - timedelta(days=max(f.revised_days for f in feeds)), first_day)
    return first.isoformat(), last.isoformat()
