"""Keeps disks bounded: Dagster's old runs, events and logs, old kept answers, scratch files of killed writers.

Runs hourly under the daemon, and after each command that ingests. A run's sqlite file takes some 200 kB, so finished
runs go after six hours, failed ones after two weeks. A partition stays materialised: before a run goes, the newest
event of each partition is reported again without it; of such runless events only the newest of each partition stays.
Dagster has no public call for most of this, so its tables are named here. No `from __future__ import annotations`.
"""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
from sqlalchemy import delete, func, select

from assets.event_tables import CHECKS, EVENTS, RUNLESS, delete_events, tables
from assets.events import VERSIONS
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
_BY_PARTITION = ("ASSET_MATERIALIZATION", "ASSET_OBSERVATION")
_FRESHNESS = ("FRESHNESS_STATE_EVALUATION", "FRESHNESS_STATE_CHANGE")


def purge_runs(instance: dg.DagsterInstance, now: float) -> int:
    """Removes runs that ended long enough ago, with what they logged; returns how many."""
    removed = 0
    for status, days in _GONE.items():
        old = dg.RunsFilter(statuses=[status], updated_before=_moment(now - days * clock.DAY))
        for run in instance.get_runs(old, limit=AT_ONCE):
            _report_runless(instance, run.run_id)
            instance.delete_run(run.run_id)
            _remove_files(instance, run.run_id)
            removed += 1
    return removed


def _moment(ts: float) -> datetime:
    return datetime.fromtimestamp(ts, UTC).replace(tzinfo=None)


def _report_runless(instance: dg.DagsterInstance, run_id: str) -> None:
    """Reports the materialisations of a run that are still the newest of their partitions, without a run."""
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event = record.dagster_event
        if event is None or event.asset_key is None:
            continue
        made = event.step_materialization_data.materialization
        newest = _newest(instance, made)
        if newest is not None and newest.run_id == run_id:
            tags = {name: value for name, value in (made.tags or {}).items() if name.startswith(VERSIONS)}
            instance.report_runless_asset_event(
                dg.AssetMaterialization(made.asset_key, made.description, made.metadata, made.partition, tags)
            )


def _newest(instance: dg.DagsterInstance, made: dg.AssetMaterialization) -> Any:
    if made.partition is None:
        return instance.get_latest_materialization_event(made.asset_key)
    wanted = dg.AssetRecordsFilter(asset_key=made.asset_key, asset_partitions=[str(made.partition)])
    records = instance.fetch_materializations(wanted, limit=1).records
    return records[0].event_log_entry if records else None


def _remove_files(instance: dg.DagsterInstance, run_id: str) -> None:
    """The run's own sqlite file and its captured output, which Dagster leaves behind."""
    for path in (Path(instance.root_directory) / "history" / "runs").glob(f"{run_id}.db*"):
        path.unlink(missing_ok=True)
    shutil.rmtree(Path(instance.storage_directory()) / run_id, ignore_errors=True)


def purge_logs(instance: dg.DagsterInstance, now: float) -> int:
    """Removes captured output of runs that are gone already; returns how many folders."""
    folder, removed = Path(instance.storage_directory()), 0
    for path in folder.iterdir() if folder.is_dir() else ():
        logs = path / "compute_logs"
        if logs.is_dir() and logs.stat().st_mtime < now - clock.DAY and not instance.has_run(path.name):
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed


def purge_checks(instance: dg.DagsterInstance, now: float) -> int:
    """Removes all but the newest evaluation of each check and partition once a day old; returns the count."""
    newest = select(func.max(CHECKS.c.id)).group_by(CHECKS.c.asset_key, CHECKS.c.check_name, CHECKS.c.partition)
    old = delete(CHECKS).where(
        CHECKS.c.create_timestamp < _moment(now - clock.DAY), CHECKS.c.id.not_in(newest.scalar_subquery())
    )
    with tables(instance) as connection:
        return int(connection.execute(old).rowcount)


def purge_runless(instance: dg.DagsterInstance) -> int:
    """Removes runless events that nothing shows any more; returns the count.

    That is: materialisations and observations that are not the newest of their partition, evaluations whose check has a
    newer one, and changes of freshness that Dagster's own policies once recorded.
    """
    events = EVENTS.c
    newest = (
        select(func.max(events.id))
        .where(events.dagster_event_type.in_(_BY_PARTITION))
        .group_by(events.asset_key, events.partition, events.dagster_event_type)
    )
    shown = select(CHECKS.c.evaluation_event_storage_id).where(CHECKS.c.evaluation_event_storage_id.is_not(None))
    superseded = events.dagster_event_type.in_(_BY_PARTITION) & events.id.not_in(newest.scalar_subquery())
    replaced = (events.dagster_event_type == "ASSET_CHECK_EVALUATION") & events.id.not_in(shown.scalar_subquery())
    gone = (events.run_id == RUNLESS) & (superseded | replaced | events.dagster_event_type.in_(_FRESHNESS))
    with tables(instance) as connection:
        removed = delete_events(connection, gone)
        sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        # SQLite keeps a second copy of events without a run in a file of its own, which nothing reads.
        with instance.event_log_storage.run_connection(RUNLESS) as connection:  # type: ignore[attr-defined]
            connection.execute(delete(EVENTS))
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


@dg.op(description="Removes old runs, events, logs, kept answers and abandoned scratch files.")
def remove_old(context: dg.OpExecutionContext, pipeline: dg.ResourceParam[PipelineContext]) -> None:
    instance, now = context.instance, time.time()
    steps: dict[str, Callable[[], int]] = {
        "runs": lambda: purge_runs(instance, now),
        "check evaluations": lambda: purge_checks(instance, now),
        "events": lambda: purge_runless(instance),
        "folders of logs": lambda: purge_logs(instance, now),
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
