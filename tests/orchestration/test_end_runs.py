"""Runs at a planned end, and after a crash. No late annotations."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from orchestration.jobs import recording


@dg.op
def work() -> None:
    pass


@dg.job
def job() -> None:
    work()


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
    scheduled = begun(instance, dg.DagsterRunStatus.STARTED)
    backfill = begun(instance, dg.DagsterRunStatus.STARTED, dagster__backfill="abc")
    waiting = begun(instance, dg.DagsterRunStatus.NOT_STARTED)
    assert recording.cancel_started(instance) == 1
    assert [status(instance, run) for run in (scheduled, backfill, waiting)] == ["CANCELING", "STARTED", "NOT_STARTED"]
    assert recording.fail_started(instance) == 1, "the next start: no process of them can live"
    assert [status(instance, run) for run in (scheduled, backfill, waiting)] == ["CANCELED", "FAILURE", "NOT_STARTED"]


def test_after_a_crash_every_run_that_had_begun_has_failed(instance: dg.DagsterInstance) -> None:
    runs = [begun(instance, each) for each in (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)]
    assert recording.fail_started(instance) == 2
    assert [status(instance, run) for run in runs] == ["FAILURE", "FAILURE"]
