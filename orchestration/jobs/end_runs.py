"""End runs in Dagster before or after their processes end: `python -m orchestration.jobs.end_runs cancel|fail`.

Dagster learns of a run's end from its process, or from the code server that started it. Where both are gone the run
would count as started for hours. No `from __future__ import annotations`, as in every file that knows Dagster.
"""

import os
import sys

import dagster as dg

from orchestration.jobs import recording
from orchestration.work.environment import PipelineSettings

BACKFILL = "dagster/backfill"
_STARTED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]


def fail_started(instance: dg.DagsterInstance) -> int:
    """Fail every run that counts as started; Dagster retries it once. Call it where none of them can be alive."""
    canceling = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.CANCELING]))
    for run in canceling:
        instance.report_run_canceled(run)
    started = instance.get_runs(dg.RunsFilter(statuses=_STARTED))
    for run in started:
        instance.report_run_failed(run, "Its process is gone: its code server or the machine stopped.")
    return len(started)


def cancel_started(instance: dg.DagsterInstance) -> int:
    """Mark the runs under way as being canceled, before their processes are stopped.

    A backfill's runs are left: they fail at the next start and are retried, or their days would be left out.
    """
    started = [run for run in instance.get_runs(dg.RunsFilter(statuses=_STARTED)) if BACKFILL not in run.tags]
    for run in started:
        instance.report_run_canceling(run)
    return len(started)


def end(how: str) -> None:
    """`cancel` or `fail` the runs of this environment's Dagster. Runs in containers of their own go on."""
    settings = PipelineSettings.from_environ(os.environ)
    instance = None if settings.run_image else recording.instance(settings.home.local)
    if instance is not None:
        with instance:
            cancel_started(instance) if how == "cancel" else fail_started(instance)


if __name__ == "__main__":
    end(sys.argv[1])
