"""The sensor that ends runs whose process is gone, so that they hold no place and no publisher, and are tried again.

Dagster learns of a run's end from its process, or from the code server that started it. Where both were killed (power,
memory, a container that stopped) the run counts as started for a day. No `from __future__ import annotations`: Dagster
reads the annotations.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from warehouse.bookkeeping import logged

SLACK_S = 30.0
"""A process that began so long after its run's start is another one with the same number."""
_STARTED_BY = ".dagster/grpc_info"
"""Dagster's tag with the address of the code server that started a run."""
_ENDED = ("Z", "X")
"""States in /proc of a process that was killed and that its parent has not gathered: none but an init does."""


def _booted() -> int | None:
    """When Linux was started, Unix seconds by the clock as it is set now; None where that is not told."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("btime")), None)


_BOOTED = _booted()
"""By the clock as it was set when this process began."""


def end_interrupted(instance: dg.DagsterInstance, own_machine: bool) -> list[str]:
    """Ends every run that counts as started and whose process of this machine is gone, as failed; their ids.

    Dagster's retry policy takes a run that ended so as one that crashed. `own_machine`: all runs are of this machine;
    else only those are that a code server on a socket has started, as `emds up` has one.
    """
    ended = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        run = record.dagster_run
        if not (own_machine or _by_socket(run)):
            continue
        with logged(f"run {run.run_id}"):
            process = process_of(instance, run.run_id)
            if process is None or alive(process, (record.start_time or time.time()) + SLACK_S):
                continue
            # Asked again after its process was seen to be gone: by then it has told how it ended.
            if _started(instance, run.run_id):
                instance.report_run_failed(run, f"Its process {process} is gone: killed, or the machine stopped.")
                ended.append(run.run_id)
    return ended


def _by_socket(run: dg.DagsterRun) -> bool:
    """Whether a run was started through a socket in the file system, which other machines and containers cannot use."""
    try:
        return bool(json.loads(run.tags.get(_STARTED_BY, "{}")).get("socket"))
    except (ValueError, AttributeError):
        return False


def _started(instance: dg.DagsterInstance, run: str) -> bool:
    found = instance.get_run_by_id(run)
    return found is not None and found.status == dg.DagsterRunStatus.STARTED


def process_of(instance: dg.DagsterInstance, run: str) -> int | None:
    """The process that a run's events name last; None where they name none."""
    numbers = [
        int(entry.value)
        for event in instance.all_logs(run, of_type=dg.DagsterEventType.ENGINE_EVENT)
        for label, entry in _metadata(event)
        if label == "pid"
    ]
    return numbers[-1] if numbers else None


def _metadata(event: Any) -> Iterator[tuple[str, Any]]:
    yield from event.dagster_event.engine_event_data.metadata.items()


def alive(process: int, begun_by: float) -> bool:
    """Whether there is a process of that number that had begun by then (Unix seconds).

    Where the system does not tell when one began, whether there is one. A clock that was put forward since this process
    began ends no run: a beginning is reckoned by the earlier setting.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        stat = []
    booted = _booted()
    if stat and booted is not None:
        begun = min(booted, _BOOTED or booted) + int(stat[19]) / os.sysconf("SC_CLK_TCK")
        return stat[0] not in _ENDED and begun <= begun_by
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def interrupted_runs_sensor(own_machine: bool) -> dg.SensorDefinition:
    """Looks every half minute. `own_machine`: no run can be of another machine, since Dagster's storage is a folder.

    On PostgreSQL it looks at runs of `emds up`, of which one Dagster storage has one; not at those in pods and
    containers of their own, whose launchers know of their end.
    """

    @dg.sensor(
        name="interrupted_runs",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Ends runs whose process of this machine was killed; they are tried again once.",
    )
    def interrupted_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        ended = end_interrupted(context.instance, own_machine)
        return dg.SkipReason(f"ended {', '.join(ended)}" if ended else "every run that has begun has its process")

    return interrupted_runs
