"""The factory: a source's feed becomes one partitioned asset, whose partition is a market day (a year where the feed is yearly).

What happens to a day is `assets.ingest.runs`'s business; here it is only asked for, told and drawn. No `from __future__ import
annotations`: Dagster reads the annotations (dagster-io/dagster#28342).
"""

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import CODE_VERSION_TAG

from assets import checks
from assets.ingest import plots
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh
from assets.ingest.reports import DayReport, RunReport, retry_after, together
from assets.ingest.runs import ingest_days, reparse_days
from warehouse.bookkeeping import logged
from warehouse.clock import MarketDay, iso
from warehouse.market import Feed, Source

OWNER = "team:market-feeds"


def partitions_of(source: Source, feed: Feed) -> dg.TimeWindowPartitionsDefinition:
    """Market days in the feed's own zone, today's and where published tomorrow's among them; calendar years for yearly feeds.

    They begin with the oldest feed of the source on the same calendar, so that one run can ask them together; a day before
    a feed's own first is out of its reach.
    """
    first = min(
        f.since for f in source.feeds if (f.tz, f.ahead_days, f.yearly) == (feed.tz, feed.ahead_days, feed.yearly)
    )
    if feed.yearly:
        return dg.TimeWindowPartitionsDefinition(
            start=str(first.year), fmt="%Y", cron_schedule="0 0 1 1 *", timezone=feed.tz, end_offset=1
        )
    return dg.DailyPartitionsDefinition(start_date=first.isoformat(), timezone=feed.tz, end_offset=1 + feed.ahead_days)


def days_of(feed: Feed, keys: Sequence[str]) -> list[MarketDay]:
    """The market days of partition keys; of a year, its first day."""
    return [MarketDay(date(int(key), 1, 1) if feed.yearly else date.fromisoformat(key), feed.tz) for key in keys]


def key_of(feed: Feed, day: str) -> str:
    """The partition key of a market day."""
    return day[:4] if feed.yearly else day


def asset_key(feed: Feed) -> dg.AssetKey:
    """`aemo/dispatch`: the feed's id."""
    return dg.AssetKey(feed.id.split("."))


def pool_of(source: Source) -> str:
    """One pool a host: runs of one publisher take turns."""
    return source.hosts[0].replace(".", "_").replace("-", "_")


def series_asset(source: Source, feed: Feed) -> dg.AssetsDefinition:
    """One feed as an asset: a whole backfill in one run, an event for each finished day, checks beside the rows."""
    key = asset_key(feed)

    @dg.asset(
        key=key,
        group_name=source.code,
        partitions_def=partitions_of(source, feed),
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=pool_of(source),
        code_version=feed.version,
        owners=[OWNER],
        kinds={"parquet"},
        output_required=False,
        tags={"source": source.code, "rank": str(feed.rank), "resolution": feed.resolution},
        description=describe(source, feed),
        metadata=_declared(source, feed),
        freshness_policy=freshness(feed),
        check_specs=checks.specs(key),
    )
    def series(
        context: dg.AssetExecutionContext, pipeline: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.AssetCheckResult]:
        again = context.run.tags.get("emds/from") == "raw"
        done = []
        # Month by month: what is done stays done if the run is killed, and a month file is written once.
        for days in _months(feed, days_of(feed, context.partition_keys)):
            done.append((reparse_days if again else ingest_days)(pipeline, feed, days))
            _tell(context, feed, done[-1])
        report = together(done)
        unpublished = refresh(pipeline, report)
        yield from checks.results(key, report)
        _raise(context, report, unpublished)

    return series


def _months(feed: Feed, days: Sequence[MarketDay]) -> list[list[MarketDay]]:
    if feed.yearly:
        return [list(days)]
    return [list(month) for _, month in groupby(sorted(days), key=lambda d: (d.day.year, d.day.month))]


def _tell(context: dg.AssetExecutionContext, feed: Feed, report: RunReport) -> None:
    for day in report.days:
        if day.finished:
            with logged(f"materialisation of {feed.id} {day.day}"):
                context.log_event(materialisation(feed, report, day))
        elif day.reason:
            context.log.info(f"{day.day} {day.status}: {day.reason}")


def freshness(feed: Feed) -> Any:
    """The UI's light: rows are due every lag and grace (rolling feeds) or once a day (daily ones)."""
    if feed.yearly:
        return dg.FreshnessPolicy.time_window(fail_window=timedelta(days=400))
    out = feed.publication
    late = timedelta(minutes=feed.every_minutes + out.lag_minutes + out.grace_minutes)
    window = late if out.daily_at is None else timedelta(days=1, minutes=out.grace_minutes + feed.every_minutes)
    return dg.FreshnessPolicy.time_window(fail_window=max(window, timedelta(minutes=15)))


def describe(source: Source, feed: Feed) -> str:
    """What the UI shows above an asset."""
    notes = "".join(f"\n- {note}" for note in source.notes)
    zones = ", ".join(feed.zones)
    return (
        f"{feed.title}.\n\nFrom [{source.name}]({source.homepage}): {', '.join(feed.metrics)} of {zones}, {feed.resolution}, "
        f"market days in {feed.tz}.\n\nLicence: {source.licence}. Attribution: {source.attribution}\n{notes}"
    )


def _declared(source: Source, feed: Feed) -> dict[str, Any]:
    return {
        "source": dg.MetadataValue.url(source.homepage),
        "licence": source.licence,
        "redistributable": source.redistributable,
        "zones": ", ".join(feed.zones),
        "metrics": ", ".join(feed.metrics),
        "stamps": feed.stamps,
        "market_day": feed.tz,
        "needs": ", ".join(source.required_env) or "nothing",
    }


def materialisation(feed: Feed, report: RunReport, day: DayReport) -> dg.AssetMaterialization:
    """The event of a finished day; its code version lets the UI show it as stale once the parser has changed."""
    version = {CODE_VERSION_TAG: feed.version}
    return dg.AssetMaterialization(
        asset_key(feed), metadata=_of_day(report, day), partition=key_of(feed, day.day), tags=version
    )


def _of_day(report: RunReport, day: DayReport) -> dict[str, Any]:
    """A finished day's metadata: count, span, state; of a run's last day also its picture and newest rows."""
    shown: dict[str, Any] = {
        "dagster/partition_row_count": day.rows,
        "state": day.status,
        "first": iso(day.first or 0),
        "last": iso(day.last or 0),
        "quarantined": report.quarantined,
        "dropped": sum(report.dropped.values()),
        "run_bytes": report.bytes,
        "run_requests": report.requests,
        "run_changed": sum(f.added + f.changed + f.evicted for f in report.folded),
    }
    if day is [d for d in report.days if d.finished][-1]:
        with logged(f"plot of {report.feed} {day.day}"):
            shown["plot"] = dg.MetadataValue.md(plots.sparkline(report.sample))
            shown["newest"] = dg.MetadataValue.md(plots.table(report.sample))
    return shown


def _raise(context: dg.AssetExecutionContext, report: RunReport, unpublished: Sequence[str]) -> None:
    """Failed days fail the run, once the others are written: retried when the publisher may answer later, else for a person."""
    if not report.failed:
        if unpublished:
            raise dg.Failure(f"rows are stored, but not all is published: {'; '.join(unpublished[:5])}")
        return
    reasons = "; ".join(f"{d.day}: {d.reason}" for d in report.failed[:5])
    wait = retry_after(report.failures)
    if wait is not None:
        jitter = random.uniform(10, 30) * (context.retry_number + 1)  # noqa: S311 (spreads load, hides nothing)
        raise dg.RetryRequested(max_retries=2, seconds_to_wait=max(wait, jitter)) from dg.Failure(reasons)
    raise dg.Failure(
        f"{len(report.failed)} of {len(report.days)} days failed: {reasons}",
        allow_retries=False,
        metadata={"failed_days": [d.day for d in report.failed]},
    )
