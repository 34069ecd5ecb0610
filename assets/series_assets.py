"""Create one partitioned asset per feed. A partition is a market day, or a year if the feed is yearly.

`assets.ingest.runs` processes a day, and `assets.events` reports it to Dagster. No `from __future__ import
annotations`: Dagster reads the annotations (dagster-io/dagster#28342).
"""

import inspect
import random
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import Any

import dagster as dg

from assets import checks, events
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh
from assets.ingest.reports import RunReport, retry_after, together
from assets.ingest.runs import ingest_days, reparse_days
from assets.partitions import asset_key, days_of, made_every, pool_of, raw_key
from assets.sql.views import COLUMNS
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Source
from warehouse.rows.schema import SCHEMA

OWNER = "team:market-feeds"


class ReadFrom(Enum):
    """The origin of a run's responses."""

    publisher = "publisher"
    raw_archive = "raw_archive"


class IngestConfig(dg.Config):
    """The settings of a feed's run in the launchpad."""

    read_from: ReadFrom = ReadFrom.publisher
    """`raw_archive` parses the stored responses again and does not send requests."""


def series_asset(
    source: Source, feed: Feed, partitions: dg.PartitionsDefinition, home: str = "", job: str = ""
) -> dg.AssetsDefinition:
    """Return the asset of a feed with its checks. A run covers up to a month, with an event and results for each day.

    `home` is the warehouse location. `job` is the job of several publishers that fetches the feed, if there is one.
    There is no IO manager, because rows are merged into a monthly file, which is never replaced.
    """

    @dg.asset(
        key=asset_key(feed),
        deps=[raw_key(source.code)],
        group_name=source.code,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=31),
        pool=pool_of(source),
        code_version=feed.version,
        owners=[OWNER],
        kinds={"parquet"},
        output_required=False,
        check_specs=checks.check_specs(feed, partitions),
        freshness_policy=made_every(1440 if feed.stands_in_for else feed.every_minutes),
        tags=_tags(source, feed),
        description=describe(source, feed, job),
        metadata=_declared(source, feed, home),
    )
    def series(
        context: dg.AssetExecutionContext, config: IngestConfig, warehouse: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.Output[None]]:
        bring = reparse_days if config.read_from is ReadFrom.raw_archive else ingest_days
        reports = []
        for month in _months(feed, days_of(feed, context.partition_keys)):
            reports.append(bring(warehouse, feed, month))
            for of_day in events.of_run(warehouse, feed, reports[-1]):
                for event in of_day:
                    context.log_event(event)
        report = together(reports)
        unpublished = refresh(warehouse, report.zones)
        for event in (checks.freshness(warehouse, feed), *events.raw_events(source, report)):
            context.log_event(event)
        for day in report.days:
            if day.status != "complete" and day.reason:
                context.log.info(f"{day.day} {day.status}: {day.reason}")
        context.log.info(words(report))
        # A check's results were logged by day. Its output ends the check.
        for name in sorted(context.op_execution_context.selected_output_names - {"result"}):
            yield dg.Output(None, output_name=name)
        _raise(context, report, unpublished)

    return series


def words(report: RunReport) -> str:
    """Summarise a run in one line."""
    rows = sum(f.added + f.changed + f.evicted for f in report.folded)
    return (
        f"{report.feed}: {len(report.days)} days, {report.requests} requests, {report.bytes} bytes,"
        f" {report.quarantined} rows quarantined, {rows} rows changed"
    )


def _months(feed: Feed, days: Sequence[MarketDay]) -> list[list[MarketDay]]:
    if feed.yearly:
        return [list(days)] if days else []
    return [list(month) for _, month in groupby(sorted(days), key=lambda d: (d.day.year, d.day.month))]


def raw_asset(source: Source) -> dg.AssetSpec:
    """Return the asset of a publisher's raw responses. It has no step, because the run of a feed stores them."""
    return dg.AssetSpec(
        raw_key(source.code),
        group_name=source.code,
        owners=[OWNER],
        kinds={"zstd"},
        tags={"source": source.code},
        description=" ".join(
            [f"Unmodified responses from {source.name}, compressed with zstd. Each run of its feeds adds to them."]
            + [note if note.endswith(".") else f"{note}." for note in source.notes]
        ),
    )


def _tags(source: Source, feed: Feed) -> dict[str, str]:
    """Return the tags for searches in Dagster's catalogue: `tag:metric/price`, `tag:zone/GB`."""
    labels = {"source": source.code, "rank": str(feed.rank), "resolution": feed.resolution}
    labels |= {f"metric/{metric.value}": "" for metric in feed.metrics}
    return labels | {f"zone/{zone}": "" for zone in feed.zones}


def describe(source: Source, feed: Feed, job: str = "") -> str:
    """Return the description of an asset in Dagster's UI. `job`: as in `series_asset`."""
    carried = (
        f"{', '.join(feed.metrics)} for {', '.join(feed.zones)}, {feed.resolution} intervals, market days in {feed.tz}"
    )
    title = feed.title[:1].upper() + feed.title[1:].removesuffix(".")
    often = f"every {feed.every_minutes} minutes"
    if feed.stands_in_for:
        often = f"once a day, and every hour while {feed.stands_in_for} is late"
    if job:
        often += f" by the job `{job}`; the feed has no job of its own"
    terms = f"Licence: {source.licence}. Attribution: {source.attribution}"
    return f"{title}. {source.name}: {carried}. Fetched {often}. {terms}"


def _declared(source: Source, feed: Feed, home: str) -> dict[str, Any]:
    columns = [dg.TableColumn(column.name, str(column.type), description=COLUMNS[column.name]) for column in SCHEMA]
    return {
        "source": dg.MetadataValue.url(source.homepage),
        "licence": source.licence,
        "redistributable": source.redistributable,
        "zones": ", ".join(feed.zones),
        "metrics": ", ".join(feed.metrics),
        "stamps": feed.stamps,
        "market_day": feed.tz,
        "needs": ", ".join(source.required_env) or "none",
        "dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[_code(feed)]),
        "dagster/column_schema": dg.TableSchema(columns=columns),
        **({"dagster/uri": f"{home}/series"} if home else {}),
    }


def _code(feed: Feed) -> dg.LocalFileCodeReference:
    """Return the location of the feed's parser for "open in editor"."""
    parse = inspect.unwrap(getattr(feed.parse, "func", feed.parse))
    return dg.LocalFileCodeReference(
        file_path=parse.__code__.co_filename, line_number=parse.__code__.co_firstlineno, label=f"parser of {feed.id}"
    )


def _raise(context: dg.AssetExecutionContext, report: RunReport, unpublished: Sequence[str]) -> None:
    """Fail the run if days failed, after the others are stored. It is retried if the publisher may respond later."""
    unset = next((day.reason for day in report.days if day.status == "not_configured"), "")
    if not report.failed:
        if unset:
            raise dg.Failure(f"the feed was not fetched: {unset}", allow_retries=False)
        if unpublished:
            raise dg.Failure(
                f"the rows were stored, but some documents were not published: {'; '.join(unpublished[:5])}"
            )
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
