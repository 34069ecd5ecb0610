"""Record in Dagster what happened outside its servers: what a command ingested, and the jobs that a command runs.

The Dagster home is EMDS_HOME/dagster. One process at a time initialises it: eight processes that first open it together
break it permanently (dagster-io/dagster#27390). No `from __future__ import annotations`.
"""

import fcntl
import logging
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from assets import checks, events
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from orchestration.servers.dagster_home import dagster_home
from warehouse.bookkeeping import described, logged
from warehouse.market import clock
from warehouse.market.feeds import Feed

_LOG = logging.getLogger("emds")
COMMAND_LINE = "command_line"
"""The job of the run that a command records."""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def instance(home: Path) -> dg.DagsterInstance | None:
    """Open the Dagster instance of this warehouse and create its tables. Return None, and log, if its storage fails.

    Raises StorageError if Dagster's settings contradict each other.
    """
    try:
        folder = dagster_home(home)
    except OSError as error:
        _LOG.error("Dagster's storage: %s", described(error))
        return None
    with logged("Dagster's storage"), (folder / ".lock").open("w") as lock, warnings.catch_warnings():
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process waits until the tables exist
        warnings.simplefilter("ignore", dg.BetaWarning)  # pools
        return dg.DagsterInstance.get()
    return None


def execute_here(job: Any, instance: dg.DagsterInstance, raise_on_error: bool = False, **options: Any) -> bool:
    """Run a job in this process, without its pools, and return whether it succeeded.

    A killed process does not free its slot of a pool, and a command would wait for that slot for ever. The job runs in
    its own thread, so that SIGINT and SIGTERM stop a command at once. In the main thread, Dagster holds signals back
    between steps and continues after losing one.
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


class Recorder:
    """Collects what a command did, and records it.

    Old days are recorded at once, without a run and without passing verdicts, so that a killed backfill keeps its days.
    The following come last, in one run: days of the look-back, each feed's newest day, days with failing checks, and
    the feeds' freshness. Dagster shows a verdict only if it is of the materialisation's run or newer, and accepts a
    verdict without a run only once.

    Data that cannot be recorded is logged: the rows are stored, and only Dagster does not list them (`emds doctor`).
    """

    def __init__(self, instance: dg.DagsterInstance | None, pipeline: PipelineContext) -> None:
        self._instance, self._pipeline = instance, pipeline
        self._last: list[Any] = []
        self._feeds: dict[str, Feed] = {}
        self._newest: dict[str, events.DayEvents] = {}
        """The newest stored day of each feed. Its verdicts are shown even if it is older than the look-back."""

    def add(self, feed: Feed, report: RunReport) -> None:
        """Record the days and raw responses of a report."""
        if self._instance is None:
            return
        asked = replace(report, days=tuple(day for day in report.days if day.status != "out_of_range"))
        days = events.of_run(self._pipeline, feed, asked)
        recent = clock.now() - feed.revised_days * clock.DAY
        with logged(f"events of {feed.id}"):
            stored = [day for day in days if isinstance(day.event, dg.AssetMaterialization)]
            newest = [*stored, *filter(None, [self._newest.get(feed.id)])]
            self._newest.update({feed.id: max(newest, key=lambda day: day.day)} if newest else {})
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
        """Record what remains."""
        with logged("verdicts"):
            fresh = [checks.freshness(self._pipeline, feed) for feed in self._feeds.values()]
            for feed_id, newest in self._newest.items():
                if newest.day.end <= clock.now() - self._feeds[feed_id].revised_days * clock.DAY:
                    passed = [verdict for verdict in newest.evaluations if verdict.passed]
                    recorded = len(passed) < len(newest.evaluations)  # with the failing ones
                    self._last += passed if recorded else [newest.event, *passed]
            if self._instance is not None and (self._last or fresh):
                execute_here(_run_of([*self._last, *fresh]), self._instance, raise_on_error=True)


def _run_of(recorded: Sequence[Any]) -> Any:
    @dg.op(name="record")
    def record(context: dg.OpExecutionContext) -> None:
        for event in recorded:
            context.log_event(event)

    @dg.job(name=COMMAND_LINE, description="Data that a command ingested.")
    def command_line() -> None:
        record()

    return command_line
