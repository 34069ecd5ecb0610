"""When each source is asked: one job and one look-back schedule per feed rhythm of a source, running by default.

A schedule asks for the market days that the publisher may still revise, today's, and where published tomorrow's, in one
run. Documents of all zones are published every quarter hour besides: a day-ahead hour turns without any new row.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from zoneinfo import ZoneInfo

import dagster as dg

from assets.series import asset_key
from warehouse.market import Feed, Source

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


def schedules_and_jobs(sources: Mapping[str, Source]) -> tuple[list[dg.JobDefinition], list[dg.ScheduleDefinition]]:
    """Jobs and schedules of every source, and those of the documents."""
    jobs, schedules = [], []
    for source in sources.values():
        for name, feeds in rhythms(source).items():
            job = dg.define_asset_job(
                name, selection=dg.AssetSelection.assets(*map(asset_key, feeds)), tags={"source": source.code},
                description=f"{source.name}: {', '.join(f.id for f in feeds)}",
            )
            jobs.append(job)
            schedules.append(_look_back(name, job, feeds))
    documents = dg.define_asset_job("documents", selection=dg.AssetSelection.groups("published"))
    geo = dg.define_asset_job("geo", selection=dg.AssetSelection.groups("geo"))
    analyst = dg.define_asset_job("analyst", selection=dg.AssetSelection.groups("analyst"))
    jobs += [documents, geo, analyst]
    running = dg.DefaultScheduleStatus.RUNNING
    schedules += [
        dg.ScheduleDefinition(job=documents, cron_schedule="*/15 * * * *", execution_timezone="UTC", default_status=running),
        dg.ScheduleDefinition(job=geo, cron_schedule="30 3 2 1 *", execution_timezone="UTC", default_status=running),
        dg.ScheduleDefinition(job=analyst, cron_schedule="40 3 * * *", execution_timezone="UTC", default_status=running),
    ]
    return jobs, schedules


def rhythms(source: Source) -> dict[str, list[Feed]]:
    """Job name -> the feeds asked together: same partitions, same rhythm (one run has one partitions definition)."""
    found: dict[tuple[object, ...], list[Feed]] = defaultdict(list)
    for feed in source.feeds:
        found[feed.tz, feed.since, feed.ahead_days, feed.yearly, feed.every_minutes, feed.revised_days].append(feed)
    named = {}
    for feeds in found.values():
        products = "_".join(f.id.split(".", 1)[1] for f in feeds)
        named[f"{source.code}__{products}"[:100]] = feeds
    return named


def cron(every_minutes: int, offset: int) -> str:
    """A cron line of that rhythm; `offset` minutes spread the sources over it."""
    if every_minutes >= 1440:
        return f"{offset % 60} {6 + offset % 12} * * *"
    if every_minutes >= 60:
        return f"{offset % 60} */{every_minutes // 60} * * *"
    return f"{offset % every_minutes}-59/{every_minutes} * * * *"


def _look_back(name: str, job: dg.UnresolvedAssetJobDefinition, feeds: list[Feed]) -> dg.ScheduleDefinition:
    feed = feeds[0]

    @dg.schedule(
        name=f"{name}_schedule", job=job, cron_schedule=cron(feed.every_minutes, sum(map(ord, name))),
        execution_timezone=feed.tz, default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"every {feed.every_minutes} min, {feed.revised_days} days back" + (" and tomorrow" if feed.ahead_days else ""),
    )
    def look_back(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        at = context.scheduled_execution_time.astimezone(ZoneInfo(feed.tz))
        first, last = look_back_keys(feed, at.date())
        return dg.RunRequest(run_key=at.isoformat(), tags={RANGE[0]: first, RANGE[1]: last})

    return look_back


def look_back_keys(feed: Feed, today) -> tuple[str, str]:
    """First and last partition key that a scheduled run asks for."""
    if feed.yearly:
        return str(max(today.year - 1, feed.since.year)), str(today.year)
    first = max(today - timedelta(days=feed.revised_days), feed.since)
    return first.isoformat(), (today + timedelta(days=feed.ahead_days)).isoformat()
