"""Ends runs in Dagster whose processes are told to end, or have ended: `python -m orchestration.end_runs cancel|fail`.

Dagster learns of a run's end from its process, or from the code server that started it. Where both are gone the run
would count as started for hours. No `from __future__ import annotations`, as in every file that knows Dagster.
"""

import os
import sys

import dagster as dg

from orchestration import recording
from orchestration.settings import PipelineSettings

BACKFILL = "dagster/backfill"
_STARTED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]


def fail_started(instance: dg.DagsterInstance) -> int:
    """Fails every run that counts as started; Dagster tries it again once. To be called where none can be alive."""
    canceling = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.CANCELING]))
    for run in canceling:
        instance.report_run_canceled(run)
    started = instance.get_runs(dg.RunsFilter(statuses=_STARTED))
    for run in started:
        instance.report_run_failed(run, "Its process is gone: its code server or the machine stopped.")
    return len(started)


def cancel_started(instance: dg.DagsterInstance) -> int:
    """Marks the runs under way as being canceled, before their processes are told to end.

    A run of a backfill is not: it fails, and is tried again after the next start, or its days would be left out.
    """
    started = [run for run in instance.get_runs(dg.RunsFilter(statuses=_STARTED)) if BACKFILL not in run.tags]
    for run in started:
        instance.report_run_canceling(run)
    return len(started)


if __name__ == "__main__":
    opened = recording.instance(PipelineSettings.from_environ(os.environ).home.local)
    if opened is not None:
        with opened:
            cancel_started(opened) if sys.argv[1] == "cancel" else fail_started(opened)
