"""Events and check evaluations of a feed's partitions for Dagster's event log, made from what the warehouse holds.

An event is a materialisation where the rows of a partition changed (or came for the first time), or where a backfill of
Dagster's asked for it, else an observation.
Days that an answer brought beside those that were asked for are recorded too, so that partitions equal the warehouse.
No `from __future__ import annotations`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from assets import checks, first_days, held, verdicts
from assets.event_tables import EVENTS, delete_events, tables
from assets.held import HeldDay, HeldRows
from assets.ingest import plots
from assets.ingest.context import PipelineContext
from assets.ingest.reports import DayReport, RunReport, window_of
from assets.partitions import asset_key, days_of, key_of, raw_key, recent
from warehouse import clock
from warehouse.clock import MarketDay, months
from warehouse.market import Feed

CODE_VERSION, DATA_VERSION = "dagster/code_version", "dagster/data_version"
"""Tags of an event, by which the UI shows a partition as stale once the parser or the rows have changed."""

INPUT_VERSION = "dagster/input_data_version/"
RAW_VERSION = "kept"
"""The data version of kept answers, always the same: a new answer makes no partition stale that it did not change."""
VERSIONS = (CODE_VERSION, DATA_VERSION, INPUT_VERSION)
BESIDE = "brought by an answer to another day"
_NOT_REQUESTED = ("out of reach", "not configured")
DayEvent = dg.AssetMaterialization | dg.AssetObservation


@dataclass(frozen=True, slots=True)
class RunEvents:
    """What one run adds to the event log, and the partitions that hold no row any more."""

    days: tuple[DayEvent, ...] = ()
    evaluations: tuple[dg.AssetCheckEvaluation, ...] = ()
    emptied: tuple[str, ...] = ()
    known: tuple[date, ...] = ()
    """The days that the feed was asked for, and those that it brought whole besides: its partitions begin with them."""


def of_run(
    instance: dg.DagsterInstance,
    pipeline: PipelineContext,
    feed: Feed,
    report: RunReport,
    begun: int,
    of_backfill: bool = False,
) -> RunEvents:
    """The events of one run over market days. `begun`: an instant before it wrote (Unix seconds).

    `of_backfill`: the run is part of a backfill of Dagster's, which takes a day without a materialisation of its own
    for failed. A finished day that stayed as it was is materialised again there, under the same data version.
    """
    reports = {day.day: day for day in report.days if day.status not in _NOT_REQUESTED}
    requested = [MarketDay(day, feed.tz) for day in requested_days(feed, report)]
    rows, days = _read(pipeline, feed, requested, report, begun)
    days = _without_fringe(pipeline, feed, rows, requested, days)
    if not days:
        return RunEvents()
    before = _data_versions(instance, feed, days)
    events: list[DayEvent] = []
    changed, emptied = [], []
    for day in days:
        of_day, key = held.of_day(rows, feed, day), key_of(feed, str(day))
        if not of_day.rows:
            emptied += [key] if key in before else []
            continue
        asked, is_new = reports.get(str(day)), before.get(key) != of_day.version
        changed += [day] if is_new else []
        if is_new or (of_backfill and asked is not None and asked.finished):
            events.append(materialisation(feed, of_day, rows, asked))
        elif asked is not None:
            events.append(_observation(feed, of_day, asked))
    doubtful = [day for day in requested if reports[str(day)].status in ("short", "failed", "missing")]
    evaluations = _evaluations(instance, pipeline, feed, rows, changed, doubtful)
    return RunEvents(tuple(events), tuple(evaluations), tuple(emptied), tuple(day.day for day in days))


def _read(
    pipeline: PipelineContext, feed: Feed, requested: Sequence[MarketDay], report: RunReport, begun: int
) -> tuple[HeldRows, list[MarketDay]]:
    """The feed's rows of the days asked for and of those whose rows the run changed, and these days in order."""
    wanted = {month for day in requested for month in months(window_of(feed, day))}
    wanted |= {folded.month for folded in report.folded if folded.wrote}
    rows = held.read(pipeline.storage, feed, wanted, since=begun)
    days = {*requested, *held.touched_days(rows, feed)}
    needed = {month for day in days for month in months(window_of(feed, day))}
    if needed - wanted:
        rows = held.read(pipeline.storage, feed, needed)
    return rows, sorted(days)


def _without_fringe(
    pipeline: PipelineContext, feed: Feed, rows: HeldRows, requested: Sequence[MarketDay], days: Sequence[MarketDay]
) -> list[MarketDay]:
    """The days less those before the feed's first partition of which an answer brought no more than an edge."""
    first = min([first_days.load(pipeline.storage).get(feed.id, date.max), *(day.day for day in requested)])
    now = clock.now()
    return [day for day in days if day.day >= first or verdicts.complete(feed, day, rows, now).passed]


def _data_versions(instance: dg.DagsterInstance, feed: Feed, days: Iterable[MarketDay]) -> dict[str, str]:
    """The data version of each partition's newest materialisation; only of partitions that have one."""
    key, names = asset_key(feed), [key_of(feed, str(day)) for day in days]
    marked = instance.get_materialized_partitions(key).intersection(names)
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        key, dg.DagsterEventType.ASSET_MATERIALIZATION, [DATA_VERSION], names
    )
    return {name: tags.get(name, {}).get(DATA_VERSION, "") for name in marked}


def materialisation(
    feed: Feed, day: HeldDay, rows: HeldRows, report: DayReport | None, state: str = BESIDE
) -> dg.AssetMaterialization:
    """The event of a partition whose rows are new: what it holds, with a plot and a table of its own rows.

    `state`: where the rows come from, if no report says so.
    """
    excerpt = plots.excerpt(rows.rows(window_of(feed, day.day)))
    shown = _figures(day, report, state) | {
        "plot": dg.MetadataValue.md(plots.sparkline(excerpt)),
        "newest": dg.MetadataValue.md(plots.table(excerpt)),
    }
    return dg.AssetMaterialization(
        asset_key(feed),
        metadata=shown,
        partition=key_of(feed, str(day.day)),
        tags={
            CODE_VERSION: feed.version,
            DATA_VERSION: day.version,
            f"{INPUT_VERSION}{raw_key(feed.source).to_user_string()}": RAW_VERSION,
        },
    )


def _observation(feed: Feed, day: HeldDay, report: DayReport) -> dg.AssetObservation:
    """The event of a partition that was asked for and whose rows stayed as they are."""
    return dg.AssetObservation(
        asset_key(feed),
        description="asked; no row changed",
        metadata=_figures(day, report),
        partition=key_of(feed, str(day.day)),
    )


def _figures(day: HeldDay, report: DayReport | None, state: str = BESIDE) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "dagster/partition_row_count": day.rows,
        "state": report.status if report else state,
        "first": dg.MetadataValue.timestamp(float(day.first or 0)),
        "last": dg.MetadataValue.timestamp(float(day.last or 0)),
    }
    return shown | ({"reason": report.reason} if report and report.reason else {})


def _evaluations(
    instance: dg.DagsterInstance,
    pipeline: PipelineContext,
    feed: Feed,
    rows: HeldRows,
    changed: Sequence[MarketDay],
    doubtful: Sequence[MarketDay],
) -> Iterator[dg.AssetCheckEvaluation]:
    """Verdicts worth an event: of changed days every failure, every change of verdict, and passes of recent days.

    An evaluation costs the event log some 10 ms: of days that no publisher revises any more, a pass that was never a
    failure is not recorded (the check can be executed from the UI).
    """
    now, days = clock.now(), sorted({*changed, *doubtful})
    if not days:
        return
    counterpart = verdicts.pairing(pipeline.sources, feed)
    passed_before = checks.last_outcomes(instance, feed, days, counterpart is not None)
    fresh = recent(feed, days, clock.local_date(now, feed.tz))
    for verdict in verdicts.examine(pipeline.storage, feed, counterpart, days, now, own=rows):
        if verdict.compared == 0:
            continue
        before = passed_before.get((verdict.check, key_of(feed, str(verdict.day))))
        if before is None:
            worth = not verdict.passed or verdict.day in fresh
        else:
            worth = before != verdict.passed or (verdict.day in changed and not verdict.passed)
        if worth:
            yield checks.evaluation(feed, verdict)


def forget_partitions(instance: dg.DagsterInstance, feed: Feed, partitions: Iterable[str]) -> int:
    """Removes the materialisations of partitions that hold no row any more; returns how many events."""
    keys, key = sorted(partitions), asset_key(feed)
    if not keys:
        return 0
    events = EVENTS.c
    gone = (events.asset_key == key.to_string()) & events.partition.in_(keys)
    with tables(instance) as connection:
        removed = delete_events(connection, gone & (events.dagster_event_type == "ASSET_MATERIALIZATION"))
    instance.wipe_asset_cached_status([key])
    return removed


def requested_days(feed: Feed, report: RunReport) -> list[date]:
    """The market days that the publisher was asked for."""
    return [date.fromisoformat(day.day) for day in report.days if day.status not in _NOT_REQUESTED]


def finished_days(instance: dg.DagsterInstance, feed: Feed, runs: Iterable[str]) -> set[MarketDay]:
    """The market days that these runs finished: what a retry need not ask for again."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION}
    keys = set()
    for run_id in runs:
        for entry in instance.all_logs(run_id, of_type=kinds):
            event = entry.dagster_event
            if event is None or event.asset_key != asset_key(feed) or event.partition is None:
                continue
            if event.is_step_materialization:
                state = event.step_materialization_data.materialization.metadata.get("state")
            else:
                state = event.asset_observation_data.asset_observation.metadata.get("state")
            if state is not None and state.value == "done":
                keys.add(event.partition)
    return set(days_of(feed, keys))
