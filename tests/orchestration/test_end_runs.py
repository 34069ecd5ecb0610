"""Test runs at a planned end and after a crash, and commands' runs, which a signal ends. No late annotations."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from orchestration.cli import main
from orchestration.jobs import ended_runs, materialise, recording
from orchestration.servers.up import ROOT
from orchestration.work import first_fill
from tests.orchestration.conftest import in_simulated
from tests.stand_ins.receiver import patient

POOL = "marts"
SLEEPER = """
import signal, sys, time
import dagster as dg
from orchestration.jobs import recording

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it

@dg.op
def sleep():
    print("sleeps", flush=True)
    time.sleep(600)

@dg.job(executor_def=dg.in_process_executor)
def first():
    sleep()

with dg.DagsterInstance.local_temp(sys.argv[1]) as instance:
    recording.execute_here(first, instance)
    print("went on", flush=True)
"""


@dg.op
def work() -> None:
    pass


@dg.job
def job() -> None:
    work()


@dg.op(pool=POOL)
def work_in_turn() -> None:
    pass


@dg.job(executor_def=dg.in_process_executor)
def job_in_turn() -> None:
    work_in_turn()


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as opened:
        yield opened


def begun(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, **tags: str) -> str:
    named = {name.replace("__", "/"): value for name, value in tags.items()}
    return instance.create_run_for_job(job, status=status, tags=named).run_id


def status(instance: dg.DagsterInstance, run: str) -> str:
    found = instance.get_run_by_id(run)
    assert found is not None
    return str(found.status.value)


def test_a_planned_end_cancels_what_is_under_way_but_a_backfill(instance: dg.DagsterInstance) -> None:
    tags = {ended_runs.OF_CODE_SERVER: "{}"}
    scheduled = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags).run_id
    backfill = begun(instance, dg.DagsterRunStatus.STARTED, dagster__backfill="abc")
    waiting = begun(instance, dg.DagsterRunStatus.NOT_STARTED)
    assert ended_runs.cancel_started(instance) == 1
    assert [status(instance, run) for run in (scheduled, backfill, waiting)] == ["CANCELING", "STARTED", "NOT_STARTED"]
    assert ended_runs.fail_started(instance) == 1, "the next start: no process of them can live"
    assert [status(instance, run) for run in (scheduled, backfill, waiting)] == ["CANCELED", "FAILURE", "NOT_STARTED"]


def test_after_a_crash_every_run_that_had_begun_has_failed(instance: dg.DagsterInstance) -> None:
    runs = [begun(instance, each) for each in (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)]
    assert ended_runs.fail_started(instance) == 2
    assert [status(instance, run) for run in runs] == ["FAILURE", "FAILURE"]


def hold_slot(instance: dg.DagsterInstance, run: str) -> None:
    """Let a run occupy the only slot of the pool."""
    storage = instance.event_log_storage
    storage.set_concurrency_slots(POOL, 1)
    assert storage.claim_concurrency_slot(POOL, run, "work_in_turn").is_claimed


def held(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.event_log_storage.get_concurrency_info(POOL).active_run_ids)


def test_a_job_of_a_command_waits_for_no_slot(instance: dg.DagsterInstance) -> None:
    """Start from a first start that was killed while its run occupied a slot."""
    killed = begun(instance, dg.DagsterRunStatus.STARTED)
    hold_slot(instance, killed)
    assert recording.execute_here(job_in_turn, instance)
    assert held(instance) == {killed}


@pytest.mark.parametrize("is_known", [True, False])
def test_the_next_start_frees_the_slots_of_runs_without_a_process(instance: dg.DagsterInstance, is_known: bool) -> None:
    run = begun(instance, dg.DagsterRunStatus.STARTED) if is_known else "of no run"
    hold_slot(instance, run)
    assert ended_runs.free_slots(instance) == (0 if is_known else 1), "that of a run under way is its own"
    ended_runs.fail_started(instance)
    assert held(instance) == set()


def test_the_run_of_a_command_in_another_terminal_goes_on(tmp_path: Path) -> None:
    """Check that servers that stop or start leave a living process's run, and fail the run of a dead process."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == b"sleeps\n"
            with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
                [run] = instance.get_runs()
                hold_slot(instance, run.run_id)
                assert ended_runs.cancel_started(instance) == 0
                assert ended_runs.fail_started(instance) == 0
                assert (status(instance, run.run_id), held(instance)) == ("STARTED", {run.run_id})
                process.kill()
                process.wait(30)
                assert ended_runs.fail_started(instance) == 1
                assert (status(instance, run.run_id), held(instance)) == ("FAILURE", set())
        finally:
            process.kill()


@pytest.mark.parametrize("start", ["fill", "daemon"])
def test_each_start_frees_the_slots_of_runs_that_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    in_simulated(monkeypatch, tmp_path)
    with recording.instance(tmp_path) as instance:  # type: ignore[union-attr]
        hold_slot(instance, "of no run")
        ended = begun(instance, dg.DagsterRunStatus.SUCCESS)
        instance.event_log_storage.set_concurrency_slots("other", 1)
        assert instance.event_log_storage.claim_concurrency_slot("other", ended, "work").is_claimed
        if start == "fill":
            monkeypatch.setattr(first_fill.commands, "run", lambda tasks, history: held_at.append(_claimed(instance)))
            monkeypatch.setattr(materialise, "materialise_the_rest", lambda instance: None)
        else:
            monkeypatch.setattr(os, "execv", lambda path, argv: held_at.append(_claimed(instance)))
        held_at: list[set[str]] = []
        main(["fill", "--days", "1"] if start == "fill" else ["dagster", "dagster-daemon", "run"])
        assert held_at == [set()]


def _claimed(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.event_log_storage.get_concurrency_run_ids())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_command_amid_a_job(tmp_path: Path, number: signal.Signals) -> None:
    """Check that the whole command ends; Dagster would end only the step, and the command start its next job."""
    output = tmp_path / "output"  # a file, because Dagster's own children would keep a pipe open
    with (
        output.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-c", SLEEPER, str(tmp_path)], cwd=ROOT, stdout=out, stderr=subprocess.DEVNULL
        ) as process,
    ):
        try:
            assert patient(lambda: output.read_bytes() == b"sleeps\n", 120)
            process.send_signal(number)
            assert process.wait(30) == -number
            assert output.read_bytes() == b"sleeps\n"
        finally:
            process.kill()
