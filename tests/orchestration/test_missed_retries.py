"""A crashed run that Dagster did not try again is tried again once; all others are left. No late annotations."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import RunFailureReason  # not exported, as Dagster's names of tags are not
from dagster._core.storage import tags as dagster_tags

from orchestration import definitions, event_log, missed_retries
from orchestration.missed_retries import BACK_S, NUMBER, PARENT, PARTITION, ROOT, WAIT_S, missed
from orchestration.schedules import RANGE
from tests.orchestration.conftest import in_simulated

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]
JOB, ALL = "nyiso_every_5m", "__ASSET_JOB"
DAYS = dict(zip(RANGE, ("2026-11-16", "2026-11-18"), strict=True))
LOAD, DEMAND = dg.AssetKey(["nyiso", "load"]), dg.AssetKey(["elexon", "demand"])


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_simulated(patch, tmp_path_factory.mktemp("loaded"))
        return definitions.build()


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("DAGSTER_HOME", "")
    opened = event_log.instance(tmp_path)
    assert opened is not None
    with opened:
        yield opened


def failed(instance: dg.DagsterInstance, job: str = JOB, assets: Any = None, **fields: Any) -> str:
    """A run that has failed just now."""
    run = dg.DagsterRun(job_name=job, status=dg.DagsterRunStatus.STARTED, asset_selection=assets, **fields)
    instance.add_run(run)
    instance.report_run_failed(run, "Its process is gone.")
    return str(run.run_id)


def later(seconds: float = WAIT_S + 1) -> float:
    return time.time() + seconds


def ids(instance: dg.DagsterInstance, now: float) -> list[str]:
    return [run.run_id for run in missed(instance, now)]


def test_its_words_are_dagsters() -> None:
    own = missed_retries
    assert (PARENT, ROOT, NUMBER, PARTITION, own._REASON, own._PROMISED, own._RETRIED) == (
        dagster_tags.PARENT_RUN_ID_TAG,
        dagster_tags.ROOT_RUN_ID_TAG,
        dagster_tags.RETRY_NUMBER_TAG,
        dagster_tags.PARTITION_NAME_TAG,
        dagster_tags.RUN_FAILURE_REASON_TAG,
        dagster_tags.WILL_RETRY_TAG,
        dagster_tags.AUTO_RETRY_RUN_ID_TAG,
    )


def test_a_run_is_missed_once_dagster_has_had_its_time_and_for_a_day(instance: dg.DagsterInstance) -> None:
    crashed = failed(instance)
    assert ids(instance, later(WAIT_S - 5)) == []
    assert ids(instance, later()) == ids(instance, later(BACK_S - 60)) == [crashed]
    assert ids(instance, later(BACK_S + 60)) == []


def test_only_a_crashed_run_that_nobody_has_started_again_is_missed(instance: dg.DagsterInstance) -> None:
    failed(instance, tags={dagster_tags.RUN_FAILURE_REASON_TAG: RunFailureReason.STEP_FAILURE.value})
    again = failed(instance)
    failed(instance, tags={PARENT: again, NUMBER: "1"})  # a retry that crashed too: not a second one
    by_hand = failed(instance)
    instance.add_run(dg.DagsterRun(job_name=JOB, tags={PARENT: by_hand}, parent_run_id=by_hand, root_run_id=by_hand))
    instance.add_run(dg.DagsterRun(job_name=JOB, status=dg.DagsterRunStatus.CANCELED))
    assert ids(instance, later()) == []


def test_a_backfill_does_not_wait_for_a_retry_that_another_than_dagster_started(instance: dg.DagsterInstance) -> None:
    crashed = failed(instance, tags={dagster_tags.WILL_RETRY_TAG: "true"})
    assert instance.get_run_by_id(crashed).is_complete_and_waiting_to_retry  # type: ignore[union-attr]
    assert ids(instance, later()) == [crashed]
    assert instance.get_run_by_id(crashed).is_complete_and_waiting_to_retry  # type: ignore[union-attr]
    retry = dg.DagsterRun(job_name=JOB, tags={PARENT: crashed, NUMBER: "1"})
    instance.add_run(retry)
    assert ids(instance, later()) == []
    told = instance.get_run_by_id(crashed)
    assert told is not None
    assert not told.is_complete_and_waiting_to_retry
    assert told.tags[dagster_tags.AUTO_RETRY_RUN_ID_TAG] == retry.run_id


def asked(instance: dg.DagsterInstance, loaded: dg.Definitions, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that the sensor asks for a minute from now, as its code server gives them to the daemon."""
    now = later()
    monkeypatch.setattr("orchestration.missed_retries.time.time", lambda: now)
    repository = loaded.get_repository_def()
    context = dg.build_sensor_context(instance=instance, repository_def=repository)
    return list(repository.get_sensor_def("missed_retries").evaluate_tick(context).run_requests or ())


def test_a_run_of_a_job_is_asked_for_with_its_days_its_backfill_and_its_configuration(
    instance: dg.DagsterInstance, loaded: dg.Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"ops": {"nyiso__load": {"config": {"read_from": "kept_bytes"}}}}
    tags = {**DAYS, "dagster/backfill": "abcdefgh", "dagster/will_retry": "false", "docker/container_id": "1"}
    crashed = failed(instance, tags=tags, run_config=config, assets=frozenset([LOAD]))
    (request,) = asked(instance, loaded, monkeypatch)
    assert (request.job_name, request.asset_selection, request.run_config) == (JOB, [LOAD], config)
    assert {name: request.tags[name] for name in (*DAYS, "dagster/backfill", PARENT, NUMBER)} == {
        **DAYS,
        "dagster/backfill": "abcdefgh",
        PARENT: crashed,
        NUMBER: "1",
    }
    assert "docker/container_id" not in request.tags
    assert "dagster/will_retry" not in request.tags
    assert request.run_key, "Dagster starts no second one of the same key"


def test_a_whole_job_is_asked_for_whole(
    instance: dg.DagsterInstance, loaded: dg.Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(instance, tags=DAYS)
    (request,) = asked(instance, loaded, monkeypatch)
    assert (request.job_name, request.asset_selection) == (JOB, None)


def test_a_run_that_a_person_started_again_keeps_its_root(
    instance: dg.DagsterInstance, loaded: dg.Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = failed(instance, tags=DAYS)
    again = failed(instance, tags={**DAYS, PARENT: first, ROOT: first}, parent_run_id=first, root_run_id=first)
    (request,) = asked(instance, loaded, monkeypatch)
    assert (request.tags[PARENT], request.tags[ROOT]) == (again, first)


def test_feeds_that_a_person_chose_are_asked_for_by_their_jobs(
    instance: dg.DagsterInstance, loaded: dg.Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed(instance, ALL, frozenset([LOAD, DEMAND]), tags={PARTITION: "2026-11-17"})
    failed(instance, ALL, frozenset([dg.AssetKey("brief")]), tags={PARTITION: "GB"})
    requests = asked(instance, loaded, monkeypatch)
    assert [(request.asset_selection, request.partition_key) for request in requests] == [
        ([DEMAND], "2026-11-17"),
        ([LOAD], "2026-11-17"),
    ]
    assert requests[1].job_name == JOB
