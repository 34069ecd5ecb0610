"""Tell Dagster that the processes of runs are gone: `python -m orchestration.jobs.ended_runs cancel|fail`.

Dagster learns of a run's end from its process, or from the code server that started it. Where both are gone the run
would count as started for hours.
"""

from __future__ import annotations

import os
import sys

import dagster as dg

from orchestration.jobs.recording import instance
from orchestration.work.environment import PipelineSettings

BACKFILL = "dagster/backfill"
_STARTED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
_ACTIVE = [*_STARTED, dg.DagsterRunStatus.CANCELING]


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
