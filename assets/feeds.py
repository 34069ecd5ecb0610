"""The factory: a feed becomes one partitioned asset, whose partition is a market day (a year where the feed is yearly).

See `assets.ingest.runs` for what happens to a day, `assets.events` for what Dagster is told of it. No
`from __future__ import annotations`: Dagster reads the annotations (dagster-io/dagster#28342).
"""

import inspect
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import groupby
from typing import Any

import dagster as dg

from assets import checks, document_events, events, first_days, runless_events
from assets.events import forget_partitions
from assets.giving_way import BACKFILL, GivingWay, Slot
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh
from assets.ingest.reports import RunReport, retry_after, together
from assets.ingest.runs import ingest_days, reparse_days
from assets.partitions import asset_key, days_of, pool_of, raw_key
from warehouse import clock
from warehouse.bookkeeping import logged
from warehouse.clock import MarketDay
from warehouse.market import Feed, Source
from warehouse.schema import SCHEMA

OWNER = "team:market-feeds"
_COLUMNS = {
    "zone": "Bidding zone, balancing authority or region.",
    "metric": "What is measured.",
    "fuel": "Of generation and capacity; null elsewhere.",
    "counterparty": "The zone across the border; null for the zone's net.",
    "link": "The tie; null for a border or a net.",
    "ts": "Start of the interval, Unix seconds UTC.",
    "value": "In `unit`.",
    "unit": "MW, %, gCO2/kWh or currency/MWh.",
    "resolution": "Length of the interval: 5m, 15m, 30m, 1h, 1y.",
    "source": "The publisher.",
    "feed": "The publisher's product.",
    "known_at": "When the value was first seen, Unix seconds UTC.",
    "superseded_at": "Until when it stood, Unix seconds UTC; null while it stands.",
}


class ReadFrom(Enum):
    """Where a run takes a feed's answers from."""

    publisher = "publisher"
    kept_bytes = "kept_bytes"


class IngestConfig(dg.Config):
    """The launchpad's choice for a run of a feed."""

    read_from: ReadFrom = ReadFrom.publisher
    """`kept_bytes` parses what was kept of earlier answers, and asks nobody."""


def series_asset(
    source: Source, feed: Feed, partitions: dg.PartitionsDefinition, home: str = ""
) -> dg.AssetsDefinition:
    """One feed as an asset: a month of days in one run, an event for each day. `home`: the warehouse's address."""

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
        tags=_tags(source, feed),
        description=describe(source, feed),
        metadata=_declared(source, feed, home),
    )
    def series(
        context: dg.AssetExecutionContext, config: IngestConfig, pipeline: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.Output[None]]:
        days = _unfinished(context, feed)
        slot = Slot(
            context.instance, context.run, str(context.op_execution_context.op_handle), source.code, pool_of(source)
        )
        polite = replace(pipeline, session=GivingWay(pipeline.session, slot))
        reports = []
        # Month by month: what is done stays done if the run is killed, and a month file is written once.
        for month in _months(feed, days):
            slot.give_way()
            begun = clock.now()
            bring = reparse_days if config.read_from is ReadFrom.kept_bytes else ingest_days
            reports.append(bring(polite, feed, month))
            _record(context, pipeline, feed, reports[-1], begun)
        if reports:
            report = together(reports)
            unpublished = refresh(pipeline, report)
            with logged(f"freshness of {feed.id}"):
                checks.report_freshness(context.instance, pipeline, [feed])
            _record_documents(context, pipeline, report)
            _raise(context, report, unpublished)
        yield from ()

    return series


def _unfinished(context: dg.AssetExecutionContext, feed: Feed) -> list[MarketDay]:
    """The run's days; of a retry those that no attempt before it finished."""
    days = days_of(feed, context.partition_keys)
    attempts = [context.run.parent_run_id] if context.run.parent_run_id else []
    attempts += [context.run.run_id] if context.retry_number else []
    finished = events.finished_days(context.instance, feed, attempts) if attempts else set()
    if finished:
        context.log.info(f"{len(finished)} of {len(days)} days were finished before")
    return [day for day in days if day not in finished]


def _months(feed: Feed, days: Sequence[MarketDay]) -> list[list[MarketDay]]:
    if feed.yearly:
        return [list(days)] if days else []
    return [list(month) for _, month in groupby(sorted(days), key=lambda d: (d.day.year, d.day.month))]


def _record(
    context: dg.AssetExecutionContext, pipeline: PipelineContext, feed: Feed, report: RunReport, begun: int
) -> None:
    with logged(f"events of {feed.id}"):
        of_backfill = BACKFILL in context.run.tags
        run_events = events.of_run(context.instance, pipeline, feed, report, begun, of_backfill)
        for event in run_events.days:
            context.log_event(event)
        runless_events.report(context.instance, run_events.evaluations)
        forget_partitions(context.instance, feed, run_events.emptied)
        first_days.note(pipeline.storage, feed, run_events.known)
    unfinished = [day for day in report.days if day.status not in ("done", "out of reach") and day.reason]
    for day in unfinished:
        context.log.info(f"{day.day} {day.status}: {day.reason}")
    context.log.info(
        f"{len(report.days)} days: {report.requests} requests, {report.bytes} bytes, {report.quarantined} rows set"
        f" aside, {sum(f.added + f.changed + f.evicted for f in report.folded)} rows changed"
    )


def _record_documents(context: dg.AssetExecutionContext, pipeline: PipelineContext, report: RunReport) -> None:
    """What a run kept and published, as events of the assets before and after it."""
    with logged("events of documents"):
        source = pipeline.sources[report.feed.split(".")[0]]
        made = [*raw_events(source, report), *document_events.events(pipeline, report.zones)]
        runless_events.report(context.instance, made)


def raw_asset(source: Source) -> dg.AssetSpec:
    """The kept answers of a publisher: no step of their own, since a feed's run asks, keeps and parses in one."""
    return dg.AssetSpec(
        raw_key(source.code),
        group_name=source.code,
        owners=[OWNER],
        kinds={"zstd"},
        tags={"source": source.code},
        description=f"What {source.name} answered, byte by byte, zstd-compressed; kept by every run of its feeds.",
    )


def raw_events(source: Source, report: RunReport) -> list[dg.AssetMaterialization]:
    """The event of a run that kept answers; none where each equalled the last one."""
    kept: dict[str, Any] = {"answers_kept": report.kept, "bytes_received": report.bytes, "feed": report.feed}
    tags = {events.DATA_VERSION: events.RAW_VERSION}
    return [dg.AssetMaterialization(raw_key(source.code), metadata=kept, tags=tags)] if report.kept else []


def _tags(source: Source, feed: Feed) -> dict[str, str]:
    """What the catalogue is searched by: `tag:metric/price`, `tag:zone/GB`."""
    shown = {"source": source.code, "rank": str(feed.rank), "resolution": feed.resolution}
    shown |= {f"metric/{metric.value}": "" for metric in feed.metrics}
    return shown | {f"zone/{zone}": "" for zone in feed.zones}


def describe(source: Source, feed: Feed) -> str:
    """What the UI shows above an asset."""
    notes = "".join(f"\n- {note}" for note in source.notes)
    carried = f"{', '.join(feed.metrics)} of {', '.join(feed.zones)}, {feed.resolution}, market days in {feed.tz}"
    terms = f"Licence: {source.licence}. Attribution: {source.attribution}"
    return f"{feed.title}.\n\nFrom [{source.name}]({source.homepage}): {carried}.\n\n{terms}\n{notes}"


def _declared(source: Source, feed: Feed, home: str) -> dict[str, Any]:
    columns = [dg.TableColumn(column.name, str(column.type), description=_COLUMNS[column.name]) for column in SCHEMA]
    return {
        "source": dg.MetadataValue.url(source.homepage),
        "licence": source.licence,
        "redistributable": source.redistributable,
        "zones": ", ".join(feed.zones),
        "metrics": ", ".join(feed.metrics),
        "stamps": feed.stamps,
        "market_day": feed.tz,
        "needs": ", ".join(source.required_env) or "nothing",
        "dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[_code(feed)]),
        "dagster/column_schema": dg.TableSchema(columns=columns),
        **({"dagster/uri": f"{home}/series"} if home else {}),
    }


def _code(feed: Feed) -> dg.LocalFileCodeReference:
    """The parser of the feed, where "open in editor" leads."""
    parse = inspect.unwrap(getattr(feed.parse, "func", feed.parse))
    return dg.LocalFileCodeReference(
        file_path=parse.__code__.co_filename, line_number=parse.__code__.co_firstlineno, label=f"parser of {feed.id}"
    )


def _raise(context: dg.AssetExecutionContext, report: RunReport, unpublished: Sequence[str]) -> None:
    """Fails the run for failed days, once the others are written: retried where the publisher may answer later."""
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
