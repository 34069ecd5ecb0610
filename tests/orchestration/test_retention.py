"""Test retention: old runs and their files go, and every partition keeps its materialisation. No late annotations."""

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets.events import CODE_VERSION
from orchestration.jobs import retention
from orchestration.work.environment import open_context
from warehouse.market.clock import DAY
from warehouse.market.feeds import Request
from warehouse.series import raw

KEY = dg.AssetKey(["test", "daily"])


@pytest.fixture
def instance(tmp_path: Path):  # type: ignore[no-untyped-def]
    with dg.DagsterInstance.local_temp(str(tmp_path)) as dagster_instance:
        yield dagster_instance


def materialise(instance: dg.DagsterInstance, *days: str) -> str:
    """Materialise each day in a single run, as the feeds' runs do; return the run's id."""

    return dg.materialize([daily(days)], instance=instance, partition_key=days[0]).run_id


def daily(days: tuple[str, ...] = (), version: str = "1") -> dg.AssetsDefinition:
    @dg.asset(
        key=KEY, partitions_def=dg.DailyPartitionsDefinition("2026-01-01"), output_required=False, code_version=version
    )
    def reported_days(context: dg.AssetExecutionContext) -> Iterator[None]:
        for day in days:
            metadata = {"dagster/partition_row_count": 48}
            context.log_event(
                dg.AssetMaterialization(KEY, partition=day, metadata=metadata, tags={CODE_VERSION: version})
            )
        yield from ()

    return reported_days


def test_old_runs_go_and_partitions_stay(instance: dg.DagsterInstance) -> None:
    first = materialise(instance, "2026-01-01", "2026-01-02")
    second = materialise(instance, "2026-01-02", "2026-01-03")
    files = Path(instance.root_directory) / "history" / "runs"
    assert (files / f"{first}.db").exists()
    assert retention.purge_runs(instance, time.time()) == 0
    assert retention.purge_runs(instance, time.time() + 2 * DAY) == 2
    assert instance.get_runs() == []
    assert not list(files.glob(f"{first}.db*")) + list(files.glob(f"{second}.db*"))
    assert instance.get_materialized_partitions(KEY) == {"2026-01-01", "2026-01-02", "2026-01-03"}
    kept = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=KEY, asset_partitions=["2026-01-01"]), limit=5
    ).records
    assert [r.asset_materialization.metadata["dagster/partition_row_count"].value for r in kept] == [48]
    assert [(r.asset_materialization.tags or {})[CODE_VERSION] for r in kept] == ["1"], "stale once the parser changes"


def test_old_answers_are_pruned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_RAW_RETENTION_DAYS", "2")
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    pipeline, day = open_context(), date(2026, 11, 1)
    request = Request("neso.generation", "https://example.org/a", days=(day,))
    for at, body in ((1, b"A"), (2, b"B"), (3 * DAY, b"C"), (3 * DAY + 1, b"D")):
        raw.KeptAnswers(pipeline.storage, request.feed).keep(request, body, at, "simulated")
    monkeypatch.setenv("EMDS_NOW", str(4 * DAY))
    assert [retention.prune_answers(pipeline), retention.prune_answers(pipeline)] == [2, 0]
    monkeypatch.setenv("EMDS_NOW", str(6 * DAY))
    assert retention.prune_answers(pipeline) == 1
    assert [kept.body for kept in raw.find(pipeline.storage, "neso.generation")] == [b"D"]


def test_failed_runs_stay_for_two_weeks(instance: dg.DagsterInstance) -> None:
    @dg.op
    def breaks() -> None:
        raise dg.Failure("no")

    @dg.job
    def broken() -> None:
        breaks()

    broken.execute_in_process(instance=instance, raise_on_error=False)
    assert retention.purge_runs(instance, time.time() + 13 * DAY) == 0
    assert retention.purge_runs(instance, time.time() + 15 * DAY) == 1
