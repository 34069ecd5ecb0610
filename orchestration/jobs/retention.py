"""Limit disk use: delete old runs of Dagster with their logs, old raw responses, and scratch files of killed writers.

The job runs hourly under the daemon; commands that ingest also delete raw responses. A run's SQLite file takes some 200
kB, so finished runs are deleted after six hours and failed ones after two weeks. A partition stays materialised: before
a run is deleted, the newest event of each partition is reported again without it. No `from __future__ import
annotations`.
"""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from assets.ingest.context import PipelineContext
from warehouse.bookkeeping import logged
from warehouse.market import clock
from warehouse.series import month_versions, raw
from warehouse.store import layout

FINISHED_DAYS, FAILED_DAYS = 0.25, 14.0
_GONE = {
    dg.DagsterRunStatus.SUCCESS: FINISHED_DAYS,
    dg.DagsterRunStatus.CANCELED: FINISHED_DAYS,
    dg.DagsterRunStatus.FAILURE: FAILED_DAYS,
}
AT_ONCE = 500


def purge_runs(instance: dg.DagsterInstance, now: float) -> int:
    """Delete runs that ended long enough before `now` (Unix seconds), with their logs, and return their number."""
    removed = 0
    for status, days in _GONE.items():
        before = datetime.fromtimestamp(now - days * clock.DAY, UTC).replace(tzinfo=None)
        for run in instance.get_runs(dg.RunsFilter(statuses=[status], updated_before=before), limit=AT_ONCE):
            _report_again(instance, run.run_id)
            instance.delete_run(run.run_id)
            # Dagster leaves the run's SQLite file and its captured output behind.
            for path in (Path(instance.root_directory) / "history" / "runs").glob(f"{run.run_id}.db*"):
                path.unlink(missing_ok=True)
            shutil.rmtree(Path(instance.storage_directory()) / run.run_id, ignore_errors=True)
            removed += 1
    return removed


def _report_again(instance: dg.DagsterInstance, run_id: str) -> None:
    """Report a run's materialisations again, without a run, if they are still the newest of their partitions."""
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event = record.asset_materialization
        if event is None:
            continue
        partitions = None if event.partition is None else [event.partition]
        wanted = dg.AssetRecordsFilter(asset_key=event.asset_key, asset_partitions=partitions)
        newest = instance.fetch_materializations(wanted, limit=1).records
        if newest and newest[0].run_id == run_id:
            tags = {name: value for name, value in (event.tags or {}).items() if "version" in name}
            instance.report_runless_asset_event(
                dg.AssetMaterialization(event.asset_key, event.description, event.metadata, event.partition, tags)
            )


def prune_answers(pipeline: PipelineContext) -> int:
    """Delete old raw responses once an hour, except the last response to each request, and return their number."""
    before = clock.now() - pipeline.raw_retention_days * clock.DAY
    pruned, removed = raw.pruned_until(pipeline.storage), 0
    if pruned <= before < pruned + clock.HOUR:
        return 0
    for feed in (feed for source in pipeline.sources.values() for feed in source.feeds):
        with logged(f"old responses of {feed.id}"):
            removed += raw.prune(pipeline.storage, feed.id, before, pruned)
    pipeline.storage.put(layout.PRUNED, str(before).encode())
    return removed


@dg.op(description="Deletes old runs with their logs, raw responses and abandoned temporary files.")
def remove_old(context: dg.OpExecutionContext, warehouse: dg.ResourceParam[PipelineContext]) -> None:
    steps: dict[str, Callable[[], int]] = {
        "runs": lambda: purge_runs(context.instance, time.time()),
        "raw responses": lambda: prune_answers(warehouse),
        "scratch files": warehouse.storage.sweep,
        "unused histories": lambda: month_versions.sweep(warehouse.storage),
    }
    for name, step in steps.items():
        with logged(f"retention of {name}") as attempt:
            context.log.info(f"removed: {step()} {name}")
        if attempt.error is not None:
            context.log.error(attempt.failure)


@dg.job(
    description="Deletes old runs, raw responses and temporary files to limit disk use.",
    tags={"source": "retention", "dagster/max_runtime": "3000"},
)
def retention() -> None:
    remove_old()
