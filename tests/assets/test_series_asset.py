"""A feed as Dagster's asset: an event for each finished day, checks beside them, failures by their type.

No `from __future__ import annotations`: Dagster's resources are given by annotation.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets import checks
from assets.feeds import ReadFrom, series_asset
from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, days_of, partitions_of
from warehouse import artefact, clock, series
from warehouse.clock import MarketDay, Window
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable
from warehouse.market import Feed, Metric, Publication, Request, Source
from warehouse.schema import Rows
from warehouse.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
FIRST, LAST = date(2026, 1, 20), date(2026, 2, 10)
DAYS = [FIRST + timedelta(days=i) for i in range((LAST - FIRST).days + 1)]


def parse(body: bytes, request: Request) -> Rows:
    """Hours of the day that the body names: all, its first, a span, or all with higher values; `!` for a broken one.

    `2026-02-10`, `2026-02-10 12`, `2026-02-10 12-18`, `2026-02-10 24 +5`.
    """
    if body == b"!":
        raise FeedChanged("no column demand")
    day, hours, more = (*body.decode().split(), *("24", "0")[body.count(b" ") :])
    first, _, end = hours.rpartition("-")
    start = MarketDay(date.fromisoformat(day), "UTC").start
    rows = Rows()
    for hour in range(int(first or 0), int(end)):
        rows.add("GB", Metric.DEMAND, start + hour * 3600, 30_000.0 + hour + int(more), "MW", "1h")
    return rows


def one_a_day(days: Sequence[MarketDay], now: int) -> list[Request]:
    return [Request("neso.test", f"https://example.org/{d}", days=(d.day,)) for d in days]


FEED = Feed(
    "neso.test",
    "hourly demand",
    ("GB",),
    (Metric.DEMAND,),
    1,
    "1h",
    "start",
    "UTC",
    FIRST,
    Publication(),
    one_a_day,
    parse,
    60,
)
SOURCE = Source("neso", "Test", "https://example.org", ("example.org",), 60, "none", "", "Test", "yes", (FEED,))


class Publisher:
    """Every day, but for what `failures` says of some."""

    def __init__(self, **failures: bytes | FeedError) -> None:
        self.failures, self.requests = (
            {date.fromisoformat(day[1:].replace("_", "-")): failure for day, failure in failures.items()},
            0,
        )

    def ask(self, request: Request) -> Fetched:
        self.requests += 1
        answer = self.failures.get(request.days[0], str(request.days[0]).encode())
        if isinstance(answer, FeedError):
            raise answer
        return Fetched(request, answer, 1_800_000_000)


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    monkeypatch.setenv("EMDS_NOW", "2026-02-11T12:00:00Z")
    storage = Folder(tmp_path)
    return PipelineContext(
        storage,
        "simulated",
        {"neso": SOURCE},
        (),
        {FEED.id: 1},
        {"neso"},
        Publisher(),
        lambda f, d: f.requests(d, clock.now()),
    )


def materialise(
    pipeline: PipelineContext,
    instance: dg.DagsterInstance,
    days: Sequence[date] = DAYS,
    read_from: ReadFrom = ReadFrom.publisher,
) -> dg.ExecuteInProcessResult:
    """One run over days that follow each other, as a schedule or a backfill starts it."""
    span = {"dagster/asset_partition_range_start": str(days[0]), "dagster/asset_partition_range_end": str(days[-1])}
    asset = series_asset(SOURCE, FEED, partitions_of(FEED, FIRST))
    config = dg.RunConfig({"neso__test": {"config": {"read_from": read_from.value}}})
    return dg.materialize(
        [asset], instance=instance, resources={"pipeline": pipeline}, tags=span, run_config=config, raise_on_error=False
    )


def counts(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    """The row counts of a run's materialisations, by partition."""
    return {
        str(event.partition): event.materialization.metadata["dagster/partition_row_count"].value
        for event in result.get_asset_materialization_events()
    }


def observed(result: dg.ExecuteInProcessResult) -> list[str]:
    """The partitions that a run observed."""
    return [str(event.partition) for event in result.get_asset_observation_events()]


def test_every_day_is_an_event_and_published(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(pipeline, instance)
        assert result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS}
        assert counts(result) == {str(day): 24 for day in DAYS}
    assert series.read(pipeline.storage, "GB", "demand", Window(0, 2**32)).num_rows == 24 * len(DAYS)
    assert artefact.load(pipeline.storage, "latest/GB.json")["metrics"]["demand"]["value"] == 30_023.0


def test_a_plot_shows_the_rows_of_its_own_partition(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        for event in materialise(pipeline, instance).get_asset_materialization_events():
            title = str(event.materialization.metadata["plot"].value).splitlines()[0]
            assert f"{event.partition}T00:00:00Z to {event.partition}T23:00:00Z" in title


def test_days_whose_rows_stay_are_observed_and_a_changed_one_is_materialised(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(pipeline, instance)
        assert (counts(again := materialise(pipeline, instance)), len(observed(again))) == ({}, len(DAYS))
        short = replace(pipeline, session=Publisher(d2026_02_10=b"2026-02-10 12"))
        first = materialise(short, instance, DAYS[-3:])
        assert (counts(first), len(observed(first))) == ({}, 3), "a short answer evicts nothing"
        other = replace(pipeline, session=Publisher(d2026_02_10=b"2026-02-10 24 +5"))
        result = materialise(other, instance, DAYS[-3:])
        assert counts(result) == {"2026-02-10": 24}
        assert observed(result) == ["2026-02-08", "2026-02-09"]


@pytest.mark.slow
def test_the_row_count_is_what_the_partition_holds(pipeline: PipelineContext) -> None:
    day = [DAYS[-1]]
    with dg.DagsterInstance.ephemeral() as instance:
        half = replace(pipeline, session=Publisher(d2026_02_10=b"2026-02-10 12"))
        assert counts(materialise(half, instance, day)) == {"2026-02-10": 12}
        later = replace(pipeline, session=Publisher(d2026_02_10=b"2026-02-10 12-18"))
        assert counts(materialise(later, instance, day)) == {"2026-02-10": 18}


def test_a_day_that_another_days_answer_brought_is_marked(pipeline: PipelineContext) -> None:
    whole_month = replace(pipeline, session=Publisher(d2026_02_01=b"2026-02-02"))
    with dg.DagsterInstance.ephemeral() as instance:
        assert counts(materialise(whole_month, instance, [date(2026, 2, 1)])) == {"2026-02-02": 24}


def test_checks_carry_their_partition(pipeline: PipelineContext) -> None:
    publisher = Publisher(d2026_02_10=b"2026-02-10 12")
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(replace(pipeline, session=publisher), instance)
        outcomes = checks.last_outcomes(instance, FEED, days_of(FEED, map(str, DAYS)), paired=False)
    recent = {"2026-02-08", "2026-02-09", "2026-02-10"}
    passed = {(name, day) for (name, day), fine in outcomes.items() if fine}
    assert passed == {(n, d) for n in ("believed", "complete", "steady") for d in recent} - {("complete", "2026-02-10")}
    assert ("complete", "2026-02-10") in outcomes


def test_one_bad_day_fails_the_run_and_no_other_day(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(replace(pipeline, session=Publisher(d2026_02_03=b"!")), instance)
        assert not result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS} - {"2026-02-03"}
        (failure,) = [e for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_FAILURE]
        reason = failure.step_failure_data.user_failure_data
        assert reason is not None
        assert reason.description == "1 of 22 days failed: 2026-02-03: FeedChanged: no column demand"
        outcomes = checks.last_outcomes(instance, FEED, days_of(FEED, ["2026-02-03"]), paired=False)
        assert outcomes == {(name, "2026-02-03"): False for name in ("believed", "complete", "steady")}


def test_a_changed_format_is_not_asked_for_again(pipeline: PipelineContext) -> None:
    publisher = Publisher(d2026_02_03=b"!")
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(replace(pipeline, session=publisher), instance)
    assert publisher.requests == len(DAYS)


def test_a_retry_asks_only_for_the_days_that_are_not_finished(
    pipeline: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda a, b: 0.0)
    publisher = Publisher(d2026_02_03=FeedUnavailable("example.org answers 503"))
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(replace(pipeline, session=publisher), instance)
    assert publisher.requests == len(DAYS) + 2
    assert "2026-02-03: FeedUnavailable: example.org answers 503" in str(result.all_events)


def test_a_run_over_kept_bytes_asks_nobody(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(pipeline, instance)
        silent = Publisher()
        assert materialise(replace(pipeline, session=silent), instance, read_from=ReadFrom.kept_bytes).success
    assert silent.requests == 0
