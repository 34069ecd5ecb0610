"""Runs whose process is gone are ended; those that go on, and those that nobody can judge, are left alone."""

from __future__ import annotations

import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import EngineEventData  # Dagster exports the event, not its parts

from orchestration import event_log, interrupted_runs


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("DAGSTER_HOME", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        opened = event_log.instance(tmp_path)
    assert opened is not None
    with opened:
        yield opened


@dg.job
def work() -> None:
    """A job without steps."""


def started(instance: dg.DagsterInstance, process: int | None, by: str = "") -> str:
    """A run that counts as started, in this process or in the one that its events name, by a code server or by none."""
    tags = {".dagster/grpc_info": by} if by else {}
    run = instance.create_run_for_job(work, status=dg.DagsterRunStatus.STARTING, tags=tags)
    if process is not None:
        metadata = {"pid": dg.MetadataValue.text(str(process))}
        instance.report_engine_event("Started process for run.", run, EngineEventData(metadata))
    instance.handle_new_event(event_of(run.run_id, dg.DagsterEventType.RUN_START))
    assert status(instance, run.run_id) == "STARTED"
    return str(run.run_id)


def event_of(run: str, kind: dg.DagsterEventType) -> dg.EventLogEntry:
    event = dg.DagsterEvent(kind.value, "work")
    return dg.EventLogEntry(None, 20, "", run, time.time(), dagster_event=event)


def status(instance: dg.DagsterInstance, run: str) -> str:
    found = instance.get_run_by_id(run)
    assert found is not None
    return str(found.status.value)


def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def test_a_run_whose_process_was_killed_is_ended_and_may_be_tried_again(instance: dg.DagsterInstance) -> None:
    killed, alive, unknown = started(instance, gone()), started(instance, os.getpid()), started(instance, None)
    assert interrupted_runs.end_interrupted(instance, own_machine=True) == [killed]
    assert [status(instance, run) for run in (killed, alive, unknown)] == ["FAILURE", "STARTED", "STARTED"]
    assert interrupted_runs.end_interrupted(instance, own_machine=True) == []
    ended = instance.get_run_by_id(killed)
    assert ended is not None
    assert ended.tags["dagster/will_retry"] == "true"
    messages = [str(event.message) for event in instance.all_logs(killed)]
    assert any("is gone: killed" in message for message in messages)


def test_with_storage_that_machines_share_only_runs_of_emds_up_are_looked_at(instance: dg.DagsterInstance) -> None:
    """Its code server listens on a socket; one that others reach by a port may have started them anywhere."""
    by_up = started(instance, gone(), '{"host": "localhost", "socket": "/tmp/emds-code-1/socket"}')
    others = [started(instance, gone(), by) for by in ('{"host": "code", "port": 4000}', "", "no JSON")]
    assert interrupted_runs.end_interrupted(instance, own_machine=False) == [by_up]
    assert {status(instance, run) for run in others} == {"STARTED"}


def test_a_run_that_ends_while_it_is_looked_at_is_left_as_it_ended(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, number = started(instance, gone()), interrupted_runs.process_of

    def ends_meanwhile(instance: dg.DagsterInstance, run: str) -> int | None:
        instance.handle_new_event(event_of(run, dg.DagsterEventType.RUN_SUCCESS))
        return number(instance, run)

    monkeypatch.setattr(interrupted_runs, "process_of", ends_meanwhile)
    assert interrupted_runs.end_interrupted(instance, own_machine=True) == []
    assert status(instance, run) == "SUCCESS"


def test_a_process_that_took_over_the_number_is_another_one() -> None:
    now = time.time()
    assert interrupted_runs.alive(os.getpid(), now)
    assert not interrupted_runs.alive(os.getpid(), now - 86400 * 3650)


def test_a_killed_process_that_nobody_gathers_is_gone() -> None:
    """As where the first process of a container is no init."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.kill(process.pid, 0)
        assert not interrupted_runs.alive(process.pid, time.time() + 60)


def test_a_clock_put_forward_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux then says that all processes began later, runs keep the start of before."""
    now, booted = time.time(), interrupted_runs._booted()
    assert booted is not None
    monkeypatch.setattr(interrupted_runs, "_booted", lambda: booted + 86400)
    assert interrupted_runs.alive(os.getpid(), now)


def test_where_the_system_tells_no_beginnings_there_is_a_process_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupted_runs, "_booted", lambda: None)
    assert interrupted_runs.alive(os.getpid(), 0.0)
    assert not interrupted_runs.alive(gone(), 0.0)
