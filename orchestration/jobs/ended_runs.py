"""Report to Dagster that the processes of runs have ended: `python -m orchestration.jobs.ended_runs cancel|fail|free`.

Dagster learns of a run's end from its process or from the code server that started it. If both have ended, the run
would count as started for hours.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import dagster as dg

from orchestration.jobs.recording import instance
from orchestration.work.environment import PipelineSettings

BACKFILL = "dagster/backfill"
OF_CODE_SERVER = ".dagster/grpc_info"
"""The tag of runs that a code server started."""
_STARTED = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
_ACTIVE = [*_STARTED, dg.DagsterRunStatus.CANCELING]


def free_slots(instance: dg.DagsterInstance) -> int:
    """Free the pool slots of every run that has ended or is unknown, and return the number of these runs.

    Dagster's daemon does this only a minute after it saw a run end, and never for a deleted run.
    """
    storage = instance.event_log_storage
    holders = storage.get_concurrency_run_ids()
    active = instance.get_runs(dg.RunsFilter(run_ids=[*holders], statuses=_ACTIVE)) if holders else []
    freed = holders.difference(run.run_id for run in active)
    for run_id in freed:
        storage.free_concurrency_slots_for_run(run_id)
    return len(freed)


def fail_started(instance: dg.DagsterInstance) -> int:
    """Fail every run that counts as started but has no process on this machine, and return the number of failed runs.

    Dagster retries each run once. Their pool slots are freed.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.CANCELING])):
        if not _has_process(instance, run):
            instance.report_run_canceled(run)
    started = instance.get_runs(dg.RunsFilter(statuses=_STARTED))
    dead = [run for run in started if not _has_process(instance, run)]
    for run in dead:
        instance.report_run_failed(run, "The process of this run ended because its code server or machine stopped.")
    free_slots(instance)
    return len(dead)


def _has_process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Return whether any process that a run reported is alive."""
    entries = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    reported = ((entry.get_dagster_event().engine_event_data.metadata.get("pid"), entry.timestamp) for entry in entries)
    return any(_is_alive(str(pid.value), at) for pid, at in reported if pid)


def _is_alive(pid: str, at: float) -> bool:
    """Return whether the process with this ID at a time (Unix seconds) is still alive; the ID may have been reused."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    begun = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return fields[0] != "Z" and begun <= at + 1


def cancel_started(instance: dg.DagsterInstance) -> int:
    """Mark the runs of the code server as being cancelled, before their processes are stopped.

    Runs of a backfill are not marked: they fail at the next start and are retried. Otherwise their days would be
    missing.
    """
    runs = instance.get_runs(dg.RunsFilter(statuses=_STARTED))
    started = [run for run in runs if OF_CODE_SERVER in run.tags and BACKFILL not in run.tags]
    for run in started:
        instance.report_run_canceling(run)
    return len(started)


def end_runs(how: str) -> None:
    """Cancel or fail the runs of this environment's Dagster, or free the slots of ended runs, according to `how`.

    Runs in containers of their own continue.
    """
    settings = PipelineSettings.from_environ(os.environ)
    found = instance(settings.home.local) if how == "free" or not settings.run_image else None
    if found is not None:
        with found:
            {"cancel": cancel_started, "fail": fail_started, "free": free_slots}[how](found)


if __name__ == "__main__":
    end_runs(sys.argv[1])
