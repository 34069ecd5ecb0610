"""After a failed run the partitions that it finished are not shown as failed. No late annotations."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value

from assets.partitions import asset_key
from assets.planned_events import forget_done
from assets.sources import feeds
from orchestration import definitions, event_log
from orchestration.failed_runs import AGAIN_S, done_in_failed_runs
from orchestration.schedules import RANGE
from tests.orchestration.conftest import in_simulated

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]
DAYS = ["2026-11-16", "2026-11-17", "2026-11-18"]
JOB = "nyiso_every_5m"


def run(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, faults: str) -> dg.DagsterRun:
    """A run of three feeds over three days, with simulated faults."""
    monkeypatch.setenv("EMDS_FAULTS", faults)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job: Any = definitions.build().resolve_job_def(JOB)
    tags = dict(zip(RANGE, (DAYS[0], DAYS[-1]), strict=True))
    done = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
    return done.dagster_run


@pytest.fixture(scope="module")
def succeeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse where the run has succeeded."""
    home = tmp_path_factory.mktemp("succeeded") / "home"
    with pytest.MonkeyPatch.context() as patch:
        in_simulated(patch, home)
        instance = event_log.instance(home)
        assert instance is not None
        with instance:
            assert run(instance, patch, "").is_success
    return home


@pytest.fixture
def home(succeeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it for one test."""
    shutil.copytree(succeeded, tmp_path, dirs_exist_ok=True)
    in_simulated(monkeypatch, tmp_path)
    return tmp_path


def unmade(instance: Any, feed: str) -> set[str]:
    """The partitions that Dagster shows as failed once the run that planned them has failed."""
    storage = instance.event_log_storage
    attempts = storage.get_latest_asset_partition_materialization_attempts_without_materializations
    return set(attempts(asset_key(feeds()[feed])))


def test_days_that_a_failed_run_found_unchanged_are_not_shown_as_failed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = event_log.instance(home)
    assert instance is not None
    with instance:
        failed = run(instance, monkeypatch, f"nyiso.load#{DAYS[1]}:changed")
        assert failed.is_failure
        assert unmade(instance, "nyiso.flows") == set(DAYS)
        assert forget_done(instance, failed) == 2 * (3 + 3 + 2), "of this run and of the one before"
        assert unmade(instance, "nyiso.flows") == unmade(instance, "nyiso.lbmp_rt") == set()
        assert unmade(instance, "nyiso.load") == {DAYS[1]}, "it did fail"
        assert set(DAYS) <= instance.get_materialized_partitions(asset_key(feeds()["nyiso.flows"]))
        assert forget_done(instance, failed) == 0
        instance.wipe_assets([asset_key(feeds()["nyiso.flows"])])
        assert forget_done(instance, failed) == 0, "a person has wiped the asset meanwhile"


def test_a_page_made_meanwhile_does_not_keep_them_red(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = event_log.instance(home)
    assert instance is not None
    key = asset_key(feeds()["nyiso.flows"])
    with instance:
        assert run(instance, monkeypatch, f"nyiso.load#{DAYS[1]}:changed").is_failure
        stale = red(instance, key)
        first = looked(instance, None)
        assert "16 plans" in first.skip_message
        assert red(instance, key) is None
        instance.update_asset_cached_status_data(key, stale)  # by a page that had read the plans before
        again = looked(instance, first.cursor)
        assert "0 plans" in again.skip_message
        assert red(instance, key) is None
        instance.update_asset_cached_status_data(key, stale)
        looked(instance, str(float(again.cursor) + 2 * AGAIN_S))
        assert red(instance, key) is not None, "not looked at for ever"


def looked(instance: dg.DagsterInstance, cursor: str | None) -> Any:
    with dg.build_sensor_context(instance, cursor=cursor) as context:
        return done_in_failed_runs.evaluate_tick(context)


def red(instance: Any, key: dg.AssetKey) -> Any:
    """What Dagster keeps of an asset's partitions, as a page makes it; None where none is shown as failed."""
    partitions: Any = definitions.build().resolve_asset_graph().get(key).partitions_def
    kept = get_and_update_asset_status_cache_value(instance, key, partitions)
    assert kept is not None
    failed = kept.deserialize_failed_partition_subsets(partitions).get_partition_keys()
    return kept if list(failed) else None
