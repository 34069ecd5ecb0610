"""Check a feed as Dagster's asset: an event for each finished day, its checks, and failures by their type.

This module cannot postpone the evaluation of annotations, because Dagster finds resources by annotation.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets import checks
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, partitions_of
from assets.series_assets import ReadFrom, series_asset
from tests.assets import demand_feed
from tests.assets.demand_feed import FEED, SOURCE, START, Publisher, whole
from tests.stand_ins import stored_rows
from warehouse.documents import health
from warehouse.errors import FeedError, NotPublished
from warehouse.market.clock import MarketDay, Window
from warehouse.store import artefact

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning")
FIRST, LAST = date(2026, 1, 20), date(2026, 2, 10)
DAYS = [FIRST + timedelta(days=i) for i in range((LAST - FIRST).days + 1)]


def of_day(day: date, first: int = 0, last: int = 48, more: float = 0) -> bytes:
    """Return a body of a day's half-hours from `first` to before `last`, counted from its midnight."""
    begin = (MarketDay(day, FEED.tz).start - START) // 1800
    return whole(begin + first, begin + last, 30_000 - begin + more)


def asked(pipeline: PipelineContext, **answers: bytes | FeedError) -> PipelineContext:
    """Return the same warehouse with different responses for some days, which are named as in `d2026_02_10`."""
    others = {date.fromisoformat(day[1:].replace("_", "-")): answer for day, answer in answers.items()}
    return replace(pipeline, session=Publisher({day: of_day(day) for day in DAYS} | others))


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Return a warehouse whose publisher has complete days."""
    monkeypatch.setenv("EMDS_NOW", "2026-02-11T12:00:00Z")
    return asked(demand_feed.pipeline(tmp_path, {}))


def materialise(
    pipeline: PipelineContext,
    instance: dg.DagsterInstance,
    days: Sequence[date] = DAYS,
    read_from: ReadFrom = ReadFrom.publisher,
) -> dg.ExecuteInProcessResult:
    """Run over consecutive days, as a schedule or a backfill does."""
    span = {"dagster/asset_partition_range_start": str(days[0]), "dagster/asset_partition_range_end": str(days[-1])}
    asset = series_asset(SOURCE, FEED, partitions_of(FEED, FIRST))
    config = dg.RunConfig({"test__demand": {"config": {"read_from": read_from.value}}})
    return dg.materialize(
        [asset],
        instance=instance,
        resources={"warehouse": pipeline},
        tags=span,
        run_config=config,
        raise_on_error=False,
    )


def materialised(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    """Return the feed's materialisations in a run, by partition."""
    events = result.get_asset_materialization_events()
    return {str(e.partition): e.materialization for e in events if e.asset_key == asset_key(FEED)}


def counts(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    """Return the row counts of a run's materialisations, by partition."""
    return {day: event.metadata["dagster/partition_row_count"].value for day, event in materialised(result).items()}


def verdicts(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str | None], bool]:
    """Return whether each check passed, by name and partition."""
    events = (e for e in result.all_events if e.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    judged = [event.asset_check_evaluation_data for event in events]
    return {(one.check_name, one.partition): one.passed for one in judged}


def observed(result: dg.ExecuteInProcessResult) -> list[str]:
    """Return the partitions that a run observed."""
    return [str(event.partition) for event in result.get_asset_observation_events()]


def test_every_day_is_an_event_and_published(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(pipeline, instance)
        assert result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS}
        assert counts(result) == {str(day): 48 for day in DAYS}
        metadata = materialised(result)[str(LAST)].metadata
        assert str(metadata["plot"].value).startswith("GB demand (MW), 2026-02-10T00:00:00Z to 2026-02-10T23:30:00Z")
        assert str(metadata["newest"].value).count("\n") == 9, "a heading and the eight newest rows"
    assert stored_rows.read(pipeline.storage, "GB", "demand", Window(0, 2**32)).num_rows == 48 * len(DAYS)
    assert artefact.load(pipeline.storage, "latest/GB.json")["metrics"]["demand"]["value"] == 30_047.0


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """Return the data version of each materialised partition."""
    return {day: (event.tags or {})["dagster/data_version"] for day, event in materialised(result).items()}


def test_a_finished_day_is_materialised_changed_or_not_and_its_data_version_tells_which(
    pipeline: PipelineContext,
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        first = versions(materialise(pipeline, instance))
        assert (versions(materialise(pipeline, instance)), len(first)) == (first, len(DAYS))
        short = asked(pipeline, d2026_02_10=of_day(LAST, last=24))
        assert counts(materialise(short, instance, DAYS[-1:])) == {"2026-02-10": 48}, "a short answer evicts nothing"
        other = asked(pipeline, d2026_02_10=of_day(LAST, more=5))
        after = versions(materialise(other, instance, DAYS[-3:]))
        assert {day for day, version in after.items() if version != first[day]} == {"2026-02-10"}
        assert after.keys() >= {str(day) for day in DAYS[-3:]}


def test_only_a_day_that_was_asked_for_is_marked(pipeline: PipelineContext) -> None:
    whole_month = asked(pipeline, d2026_02_01=of_day(date(2026, 2, 2)))
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(whole_month, instance, [date(2026, 2, 1)])
        assert (counts(result), observed(result)) == ({}, ["2026-02-01"])


def test_every_asked_day_has_its_verdicts_and_the_feed_its_freshness(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        judged = verdicts(materialise(asked(pipeline, d2026_02_10=of_day(LAST, last=24)), instance))
    by_day = {(name, str(day)) for name in ("plausible", "complete", "no_anomalies") for day in DAYS}
    assert judged.keys() == by_day | {("fresh", None)}
    assert {key for key, passed in judged.items() if not passed} == {("complete", "2026-02-10"), ("fresh", None)}


@pytest.mark.parametrize(
    ("last_error", "passed"), [("", True), ("not configured: set TOKEN", False), ("no response", False)]
)
def test_a_feed_without_rows_is_fresh_until_something_is_due(
    pipeline: PipelineContext, last_error: str, passed: bool
) -> None:
    kind = "not_configured" if last_error.startswith("not configured") else ""
    found = health.Health(FEED.id, "GB", last_ok=1, last_error=last_error, error_kind=kind)
    health.note(pipeline.storage, FEED.source, [found])
    assert checks.freshness(pipeline, FEED).passed is passed


def test_a_day_of_the_future_says_so_and_fails_nothing(
    pipeline: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-02-09T23:30:00Z")
    silent = asked(pipeline, d2026_02_10=NotPublished("example.org answers 404"))
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(silent, instance, DAYS[-1:])
        assert result.success
        (event,) = result.get_asset_observation_events()
    observation = event.asset_observation_data.asset_observation
    assert observation.description.startswith("pending: the day lies in the future: rows are expected from 2026-02-10")
    passed = {name for (name, day), fine in verdicts(result).items() if fine and day}
    assert passed == {"plausible", "complete", "no_anomalies"}


def test_a_day_that_failed_once_is_green_after_a_run_that_finds_it_whole(pipeline: PipelineContext) -> None:
    partitions = partitions_of(FEED, FIRST)
    day = [str(DAYS[-1])]
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(pipeline, instance)
        materialise(asked(pipeline, d2026_02_10=b"!"), instance, DAYS[-1:])
        red = instance.get_status_by_partition(asset_key(FEED), day, partitions)
        materialise(pipeline, instance, DAYS[-2:])
        green = instance.get_status_by_partition(asset_key(FEED), day, partitions)
    assert [status[day[0]].value for status in (red, green)] == ["FAILED", "MATERIALIZED"]


def test_one_bad_day_fails_the_run_and_no_other_day(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(asked(pipeline, d2026_02_03=b"!"), instance)
        assert not result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS} - {"2026-02-03"}
        (failure,) = [e for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_FAILURE]
        reason = failure.step_failure_data.user_failure_data
        assert reason is not None
        assert reason.description == "1 of 22 days failed: 2026-02-03: FeedChanged: no such column"
        failing = {key for key, passed in verdicts(result).items() if not passed and key[1]}
        assert failing == {(name, "2026-02-03") for name in ("plausible", "complete", "no_anomalies")}
