"""Keeps disks bounded: Dagster's old runs and events, old kept answers, scratch files of killed writers.

Runs hourly under the daemon, and after each command that ingests.

A run's sqlite file takes some 200 kB (DAGSTER_HOME/history/runs), so finished runs go after six hours, failed ones after
two weeks. A partition stays materialised: before a run goes, the newest event of each partition is reported again without
it; of such runless events only the newest of each partition stays.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from dagster._core.definitions.data_version import CODE_VERSION_TAG
from dagster._core.instance.utils import RUNLESS_RUN_ID
from dagster._core.storage.event_log import (
    SqliteEventLogStorage,
)  # no public way to any of these; dagster is pinned below 1.14
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from sqlalchemy import func, select

from assets.ingest.context import PipelineContext
from warehouse import clock, layout, raw
from warehouse.bookkeeping import logged

FINISHED_DAYS, FAILED_DAYS = 0.25, 14.0
_GONE = {
    dg.DagsterRunStatus.SUCCESS: FINISHED_DAYS,
    dg.DagsterRunStatus.CANCELED: FINISHED_DAYS,
    dg.DagsterRunStatus.FAILURE: FAILED_DAYS,
}
AT_ONCE = 500


def purge_runs(instance: dg.DagsterInstance, now: float) -> int:
    """Removes runs that ended long enough ago; returns how many."""
    removed = 0
    for status, days in _GONE.items():
        old = dg.RunsFilter(statuses=[status], updated_before=_moment(now - days * clock.DAY))
        for run in instance.get_runs(old, limit=AT_ONCE):
            _report_runless(instance, run.run_id)
            instance.delete_run(run.run_id)
            _unlink(instance, run.run_id)
            removed += 1
    return removed


def _moment(ts: float) -> datetime:
    return datetime.fromtimestamp(ts, UTC)


def _report_runless(instance: dg.DagsterInstance, run_id: str) -> None:
    """Reports the materialisations of a run that are still the newest of their partitions, without a run."""
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event = record.dagster_event
        if event is None or event.asset_key is None:
            continue
        made = event.step_materialization_data.materialization
        newest = (
            instance.get_latest_materialization_event(event.asset_key)
            if made.partition is None
            else _newest(instance, made)
        )
        if newest is not None and newest.run_id == run_id:
            version = {name: value for name, value in (made.tags or {}).items() if name == CODE_VERSION_TAG}
            instance.report_runless_asset_event(
                dg.AssetMaterialization(made.asset_key, made.description, made.metadata, made.partition, version)
            )


def _newest(instance: dg.DagsterInstance, made: dg.AssetMaterialization):  # type: ignore[no-untyped-def]
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=made.asset_key, asset_partitions=[str(made.partition)]), limit=1
    ).records
    return records[0].event_log_entry if records else None


def purge_checks(instance: dg.DagsterInstance, now: float) -> int:
    """Removes all but the newest evaluation of each check once a day old, which Dagster never does; returns the count."""
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return 0
    table = AssetCheckExecutionsTable.c
    newest = select(func.max(table.id)).group_by(table.asset_key, table.check_name)
    old = AssetCheckExecutionsTable.delete().where(
        table.create_timestamp < _moment(now - clock.DAY), table.id.not_in(newest)
    )
    with storage.index_connection() as connection:
        return int(connection.execute(old).rowcount)


def purge_runless(instance: dg.DagsterInstance) -> int:
    """Removes runless materialisations that are no longer the newest of their partition; returns the count."""
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        return 0
    table, kind = SqlEventLogStorageTable.c, dg.DagsterEventType.ASSET_MATERIALIZATION.value
    newest = (
        select(func.max(table.id)).where(table.dagster_event_type == kind).group_by(table.asset_key, table.partition)
    )
    old = (
        select(table.id)
        .where(table.dagster_event_type == kind, table.run_id == RUNLESS_RUN_ID, table.id.not_in(newest))
        .limit(AT_ONCE)
    )
    removed = 0
    with storage.index_connection() as connection:
        while ids := [row[0] for row in connection.execute(old)]:
            connection.execute(AssetEventTagsTable.delete().where(AssetEventTagsTable.c.event_id.in_(ids)))
            connection.execute(SqlEventLogStorageTable.delete().where(table.id.in_(ids)))
            removed += len(ids)
    if isinstance(storage, SqliteEventLogStorage):
        # There they lie a second time, in a file of the run that they do not have, which nobody reads.
        with storage.run_connection(RUNLESS_RUN_ID) as connection:
            connection.execute(SqlEventLogStorageTable.delete())
    return removed


def prune_answers(pipeline: PipelineContext) -> int:
    """Removes kept answers of long ago, but the last to each question of a market day; returns how many."""
    before = clock.now() - pipeline.raw_days * clock.DAY
    pruned, removed = _pruned_until(pipeline), 0
    for feed in (feed for source in pipeline.sources.values() for feed in source.feeds):
        with logged(f"old answers of {feed.id}"):
            removed += raw.prune(pipeline.storage, feed.id, before, pruned)
    pipeline.storage.put(layout.PRUNED, str(before).encode())
    return removed


def _pruned_until(pipeline: PipelineContext) -> int:
    """The instant of the last pruning, Unix seconds; 0 where none is known: then every day is looked at again."""
    kept = pipeline.storage.get(layout.PRUNED) or b""
    return int(kept) if kept.isdigit() and len(kept) < 16 else 0


def after_command(instance: dg.DagsterInstance | None, pipeline: PipelineContext) -> None:
    """What the retention job does, as far as a command without a daemon needs it."""
    if instance is not None:
        with logged("retention of events"):
            purge_runless(instance)
    with logged("retention of answers"):
        prune_answers(pipeline)


def _unlink(instance: dg.DagsterInstance, run_id: str) -> None:
    """The run's own sqlite file, which Dagster leaves behind."""
    for path in (Path(instance.root_directory) / "history" / "runs").glob(f"{run_id}.db*"):
        path.unlink(missing_ok=True)


@dg.op(description="Removes old runs, old kept answers and abandoned scratch files.")
def remove_old(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[PipelineContext]) -> None:
    steps: dict[str, Callable[[], int]] = {
        "runs": lambda: purge_runs(context.instance, time.time()),
        "check evaluations": lambda: purge_checks(context.instance, time.time()),
        "events": lambda: purge_runless(context.instance),
        "kept answers": lambda: prune_answers(pipeline),
        "scratch files": pipeline.storage.sweep,
    }
    for name, step in steps.items():
        with logged(f"retention of {name}") as attempt:
            context.log.info(f"removed: {step()} {name}")
        if attempt.error is not None:
            context.log.error(attempt.failure)


@dg.job(description="Keeps disks bounded.", tags={"source": "retention"})
def retention() -> None:
    remove_old()
