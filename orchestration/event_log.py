"""Records in Dagster's event log what the command line ingested: one event a finished market day, as a run does.

The Dagster home lies in EMDS_HOME/dagster and is initialised once, alone: eight processes that first touch it at the
same time break it for good (dagster-io/dagster#27390).
"""

import fcntl
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from assets import checks, events, first_days, runless_events
from assets.events import forget_partitions
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.partitions import key_of
from orchestration.dagster_home import dagster_home
from warehouse.bookkeeping import logged
from warehouse.market import Feed


def instance(home: Path) -> dg.DagsterInstance | None:
    """The instance of this warehouse, its tables made if need be; None, logged, where its storage cannot be opened."""
    folder = dagster_home(home)
    with logged("Dagster's storage"), _alone(folder / ".lock"), warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # pools
        return dg.DagsterInstance.get()
    return None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Holds a lock of this machine: whoever else opens the storage waits until its tables are made."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def record(
    instance: dg.DagsterInstance | None, pipeline: PipelineContext, feed: Feed, report: RunReport, begun: int
) -> list[str]:
    """Records what a run of the command line did; returns the partitions that it found rows for.

    `begun`: an instant before the run wrote (Unix seconds). What cannot be recorded is logged: the rows are stored, and
    Dagster alone does not know of them (`emds doctor` says so).
    """
    keys = [key_of(feed, day.day) for day in report.days if day.finished]
    if instance is None:
        return keys
    with logged(f"events of {feed.id}"):
        run_events = events.of_run(instance, pipeline, feed, report, begun)
        runless_events.report(instance, [*run_events.days, *run_events.evaluations])
        forget_partitions(instance, feed, run_events.emptied)
        first_days.note(pipeline.storage, feed, run_events.known)
        return [str(event.partition) for event in run_events.days]
    return keys


def record_freshness(instance: dg.DagsterInstance | None, pipeline: PipelineContext) -> None:
    """Records which feeds are fresh now, where that changed."""
    if instance is not None:
        with logged("freshness"):
            checks.report_freshness(instance, pipeline, [feed for s in pipeline.sources.values() for feed in s.feeds])
