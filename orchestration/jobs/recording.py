"""Tell Dagster what happened outside its servers: what a command ingested, and that runs' processes are gone.

Dagster learns of a run's end from its process, or from the code server that started it. Where both are gone the run
would count as started for hours: `python -m orchestration.jobs.recording cancel|fail`. The Dagster home lies in
EMDS_HOME/dagster and is initialised once, alone: eight processes that first touch it at the same time break it for good
(dagster-io/dagster#27390). No `from __future__ import annotations`.
"""

import fcntl
import logging
import os
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from assets import checks, events
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.mart_assets import KEYS, RECORDS, first_month
from assets.sources import sources
from orchestration.servers.dagster_home import dagster_home
from orchestration.work.environment import PipelineSettings
from warehouse.bookkeeping import described, logged
from warehouse.market import clock
from warehouse.market.feeds import Feed

_LOG = logging.getLogger("emds")
ASSET_JOB = "__ASSET_JOB"
"""The job of every run that is launched from an asset's page."""
COMMAND_LINE = "command_line"
"""The job of the run that a command records."""
BACKFILL = "dagster/backfill"
_STARTED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
_ACTIVE = [*_STARTED, dg.DagsterRunStatus.CANCELING]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def instance(home: Path) -> dg.DagsterInstance | None:
    """Open the instance of this warehouse, with its tables; None, logged, where its storage cannot be opened.

    Raises StorageError where Dagster's settings contradict each other.
    """
    try:
        folder = dagster_home(home)
    except OSError as error:
        _LOG.error("Dagster's storage: %s", described(error))
        return None
    with logged("Dagster's storage"), (folder / ".lock").open("w") as lock, warnings.catch_warnings():
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever else opens the storage waits until its tables are made
        warnings.simplefilter("ignore", dg.BetaWarning)  # pools
        return dg.DagsterInstance.get()
    return None


class Recorder:
    """Collects what a command did, and records it.

    Old days are recorded at once, without a run, and without the verdicts that pass: so a killed backfill keeps what it
    had. Days of the look-back, days whose checks fail, and the feeds' freshness come last, in one run: a verdict is
    shown where it is of the same run as the materialisation or newer, and Dagster takes one without a run only once.

    What cannot be recorded is logged: the rows are stored, and Dagster alone does not know of them (`emds doctor`).
    """

    def __init__(self, instance: dg.DagsterInstance | None, pipeline: PipelineContext) -> None:
        self._instance, self._pipeline = instance, pipeline
        self._last: list[Any] = []
        self._feeds: dict[str, Feed] = {}

    def add(self, feed: Feed, report: RunReport) -> None:
        """Record what a run did."""
        if self._instance is None:
            return
        asked = replace(report, days=tuple(day for day in report.days if day.status != "out of reach"))
        days = events.of_run(self._pipeline, feed, asked)
        recent = clock.now() - feed.revised_days * clock.DAY
        with logged(f"events of {feed.id}"):
            for day in days:
                failing = [evaluation for evaluation in day.evaluations if not evaluation.passed]
                if day.day.end > recent or failing:
                    self._last += [day.event, *(day.evaluations if day.day.end > recent else failing)]
                elif isinstance(day.event, dg.AssetMaterialization):
                    self._instance.report_runless_asset_event(day.event)
            self._last += events.raw_events(self._pipeline.sources[feed.source], report)
            if days:
                self._feeds[feed.id] = feed

    def close(self) -> None:
        """Record the rest."""
        with logged("verdicts"):
            fresh = [checks.freshness(self._pipeline, feed) for feed in self._feeds.values()]
            if self._instance is not None and (self._last or fresh):
                execute_here(_run_of([*self._last, *fresh]), self._instance, raise_on_error=True)


def _run_of(recorded: Sequence[Any]) -> Any:
    @dg.op(name="record")
    def record(context: dg.OpExecutionContext) -> None:
        for event in recorded:
            context.log_event(event)

    @dg.job(name=COMMAND_LINE, description="What a command ingested.")
    def command_line() -> None:
        record()

    return command_line


def materialise_marts(instance: dg.DagsterInstance | None) -> list[str]:
    """Make the marts' months that are out of date, and the records; without the daemon nobody else does.

    Return what failed; Dagster and the log have the reason.
    """
    from orchestration.definitions import first_partitions  # here: it loads every definition
    from orchestration.jobs.schedules import MARTS, mart_months

    if instance is None:
        return []
    is_whole = False
    with logged("marts"):
        months = mart_months(first_month(sources(), first_partitions(PipelineSettings.from_environ(os.environ))))
        is_whole = months is None or _materialise(instance, KEYS, months, MARTS)
        if months is not None or instance.get_latest_materialization_event(RECORDS) is None:
            is_whole &= _materialise(instance, [RECORDS])
    return [] if is_whole else ["marts"]


def materialise_the_rest(instance: dg.DagsterInstance | None) -> None:
    """Materialise what no feed's run makes and never was: documents, layers, marts, the service's assets."""
    from orchestration.definitions import FOLLOWING

    if instance is None:
        return
    if instance.get_latest_materialization_event(RECORDS) is None:  # later the daemon makes them, and no start waits
        materialise_marts(instance)
    with logged("documents in Dagster"):
        never = [key for key in FOLLOWING if instance.get_latest_materialization_event(key) is None]
        if never:
            _materialise(instance, never)


def _materialise(
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    tags: Mapping[str, str] | None = None,
    job: str = ASSET_JOB,
) -> bool:
    """Materialise assets here, with this environment's definitions: partitions begin where this home's days do.

    Return whether it succeeded. `job`: theirs where a schedule has one, whose next run then ends an outage of this one.
    """
    from orchestration.definitions import build

    return execute_here(build().resolve_job_def(job), instance, asset_selection=[*keys], tags=tags)


def execute_here(job: Any, instance: dg.DagsterInstance, raise_on_error: bool = False, **options: Any) -> bool:
    """Run a job in this process, without its pools; return whether it succeeded.

    A process that is killed frees no slot of a pool, and a command would wait for that slot for ever. The job runs in
    a thread of its own, since Dagster takes SIGINT and SIGTERM away from the main thread: it holds them back between
    steps, and goes on after it lost one. So both stop a command at once.
    """
    outcome = Future[bool]()

    def run() -> None:
        try:
            with _without_pools(instance) as own:
                done = job.execute_in_process(QUIET, own, raise_on_error=raise_on_error, **options)
            outcome.set_result(done.success)
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="job", daemon=True).start()
    return outcome.result()


def _without_pools(instance: dg.DagsterInstance) -> dg.DagsterInstance:
    """Open an instance over the same storage whose steps claim no slots: pools that limit runs count queued runs."""
    ref = instance.get_ref()
    return dg.DagsterInstance.from_ref(
        ref._replace(settings={**ref.settings, "concurrency": {"pools": {"granularity": "run"}}})
    )


def free_slots(instance: dg.DagsterInstance) -> int:
    """Free the pool slots of every run that has ended or is unknown; return of how many runs.

    Dagster's daemon does so only a minute after it has seen the end of a run, and never for a run that was deleted.
    """
    storage = instance.event_log_storage
    holders = storage.get_concurrency_run_ids()
    active = instance.get_runs(dg.RunsFilter(run_ids=[*holders], statuses=_ACTIVE)) if holders else []
    freed = holders.difference(run.run_id for run in active)
    for run_id in freed:
        storage.free_concurrency_slots_for_run(run_id)
    return len(freed)


def fail_started(instance: dg.DagsterInstance) -> int:
    """Fail every run that counts as started, and free its pools; Dagster retries it once.

    Call it only if none of these runs can be alive.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.CANCELING])):
        instance.report_run_canceled(run)
    started = instance.get_runs(dg.RunsFilter(statuses=_STARTED))
    for run in started:
        instance.report_run_failed(run, "Its process is gone: its code server or the machine stopped.")
    free_slots(instance)
    return len(started)


def cancel_started(instance: dg.DagsterInstance) -> int:
    """Mark the runs under way as being canceled, before their processes are stopped.

    A backfill's runs are left: they fail at the next start and are retried, or their days would be left out.
    """
    started = [run for run in instance.get_runs(dg.RunsFilter(statuses=_STARTED)) if BACKFILL not in run.tags]
    for run in started:
        instance.report_run_canceling(run)
    return len(started)


def end_runs(how: str) -> None:
    """`cancel` or `fail` the runs of this environment's Dagster. Runs in containers of their own go on."""
    settings = PipelineSettings.from_environ(os.environ)
    found = None if settings.run_image else instance(settings.home.local)
    if found is not None:
        with found:
            cancel_started(found) if how == "cancel" else fail_started(found)


if __name__ == "__main__":
    end_runs(sys.argv[1])
