"""Jobs and schedules: one job and one look-back schedule per schedule group of a source, running by default.

A schedule asks in one run for the market days that the publisher may still revise, today's, and where published
tomorrow's. All documents are published every quarter hour too: the current day-ahead hour changes without new rows. No
`from __future__ import annotations`: Dagster reads the annotations.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets.document_events import OF_ALL_ZONES
from assets.giving_way import LIVE_PRIORITY, PRIORITY
from assets.partitions import asset_key, calendar
from warehouse.market import Feed, Source

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


def schedules_and_jobs(
    sources: Mapping[str, Source], mode: str, firsts: Mapping[str, date], takes_payments: bool = False
) -> tuple[list[Any], list[dg.ScheduleDefinition]]:
    """Jobs and schedules of every source, the documents and retention. A recorded warehouse has no publisher to ask."""
    status = dg.DefaultScheduleStatus.STOPPED if mode == "recorded" else dg.DefaultScheduleStatus.RUNNING
    jobs: list[Any] = []
    schedules: list[dg.ScheduleDefinition] = []
    for source in sources.values():
        for name, feeds in schedule_groups(source).items():
            job = dg.define_asset_job(
                name,
                selection=dg.AssetSelection.assets(*map(asset_key, feeds)).without_checks(),
                tags={"source": source.code},
                description=f"{source.name}: {', '.join(f.id for f in feeds)}",
            )
            jobs.append(job)
            schedules.append(_look_back(name, feeds, firsts[feeds[0].id], status))
    documents = dg.define_asset_job("documents", selection=dg.AssetSelection.assets(*OF_ALL_ZONES))
    geo = dg.define_asset_job("geo", selection=dg.AssetSelection.groups("geo"))
    analyst = dg.define_asset_job("analyst", selection=dg.AssetSelection.groups("analyst"))
    publishers = dg.define_asset_job("publishers", selection=dg.AssetSelection.groups("publishers"))
    payments = dg.define_asset_job("payments", selection=dg.AssetSelection.groups("accounts"))
    webhooks = dg.define_asset_job("webhooks", selection=dg.AssetSelection.groups("webhooks"))
    jobs += [documents, geo, analyst, publishers, payments, webhooks]
    running = dg.DefaultScheduleStatus.RUNNING
    schedules += [
        dg.ScheduleDefinition(job=geo, cron_schedule="30 3 2 1 *", execution_timezone="UTC", default_status=running),
        dg.ScheduleDefinition(
            job_name="retention",
            name="retention_schedule",
            cron_schedule="50 * * * *",
            execution_timezone="UTC",
            default_status=running,
        ),
        dg.ScheduleDefinition(
            job=publishers, cron_schedule="20 3 * * *", execution_timezone="UTC", default_status=running
        ),
        dg.ScheduleDefinition(
            job=payments,
            cron_schedule="20 * * * *",
            execution_timezone="UTC",
            default_status=running if takes_payments else dg.DefaultScheduleStatus.STOPPED,
        ),
    ]
    return jobs, schedules


def schedule_groups(source: Source) -> dict[str, list[Feed]]:
    """Job name -> the feeds of one run: same partitions (a run has one partitions definition), same interval."""
    groups: dict[tuple[object, ...], list[Feed]] = defaultdict(list)
    for feed in source.feeds:
        groups[feed.every_minutes, *calendar(feed)].append(feed)
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
    """A cron line of that interval; `offset` minutes spread the sources over it."""
    if every_minutes >= 1440:
        return f"{offset % 60} {6 + offset % 12} * * *"
    if every_minutes >= 60:
        return f"{offset % 60} */{every_minutes // 60} * * *"
    return f"{offset % every_minutes}-59/{every_minutes} * * * *"


def _look_back(
    name: str, feeds: list[Feed], first_day: date, status: dg.DefaultScheduleStatus
) -> dg.ScheduleDefinition:
    feed, back = feeds[0], max(f.revised_days for f in feeds)

    @dg.schedule(
        name=f"{name}_schedule",
        job_name=name,
        cron_schedule=cron(feed.every_minutes, sum(map(ord, name))),
        execution_timezone=feed.tz,
        default_status=status,
        description=f"{', '.join(f.id for f in feeds)}: {back} days back"
        + (" and tomorrow" if feed.ahead_days else ""),
    )
    def look_back(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        at = context.scheduled_execution_time.astimezone(ZoneInfo(feed.tz))
        first, last = look_back_keys(feeds, at.date(), first_day)
        return dg.RunRequest(
            run_key=at.isoformat(), tags={RANGE[0]: first, RANGE[1]: last, PRIORITY: str(LIVE_PRIORITY)}
        )

    return look_back


def look_back_keys(feeds: list[Feed], today: date, first_day: date) -> tuple[str, str]:
    """First and last partition key that a scheduled run asks for: no older ones than the feeds' first partition."""
    feed = feeds[0]
    if feed.yearly:
        return str(max(today.year - 1, first_day.year)), str(today.year)
    back = max(f.revised_days for f in feeds)
    first, last = max(today - timedelta(days=back), first_day), today + timedelta(days=feed.ahead_days)
    return first.isoformat(), last.isoformat()
