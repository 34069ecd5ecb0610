"""A feed as Dagster's asset: an event for each finished day, checks beside them, failures by their type.

No `from __future__ import annotations`: Dagster's resources are given by annotation.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.feeds import asset_key, series_asset
from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
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
    """Twenty-four hours of the day that the body names; `!` for a broken one."""
    if body == b"!":
        raise FeedChanged("no column demand")
    start = MarketDay(date.fromisoformat(body.decode()), "UTC").start
    rows = Rows()
    for hour in range(24):
        rows.add("GB", Metric.DEMAND, start + hour * 3600, 30_000.0 + hour, "MW", "1h")
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
        self.failures, self.asked = (
            {date.fromisoformat(day[1:].replace("_", "-")): told for day, told in failures.items()},
            0,
        )

    def ask(self, request: Request) -> Fetched:
        self.asked += 1
        found = self.failures.get(request.days[0], str(request.days[0]).encode())
        if isinstance(found, FeedError):
            raise found
        return Fetched(request, found, 1_800_000_000)


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


def materialise(pipeline: PipelineContext, instance: dg.DagsterInstance, **tags: str) -> dg.ExecuteInProcessResult:
    """One run over all days, as a backfill of the UI is."""
    span = {"dagster/asset_partition_range_start": str(FIRST), "dagster/asset_partition_range_end": str(LAST)}
    asset = series_asset(SOURCE, FEED)
    return dg.materialize(
        [asset], instance=instance, resources={"pipeline": pipeline}, tags=span | tags, raise_on_error=False
    )


def test_every_day_is_told_and_published(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(pipeline, instance)
        assert result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS}
        events = result.get_asset_materialization_events()
        counts = [event.materialization.metadata["dagster/partition_row_count"].value for event in events]
        assert counts == [24] * len(DAYS)
        pictures = [event.partition for event in events if "plot" in event.materialization.metadata]
        assert pictures == ["2026-01-31", "2026-02-10"]
        assert {(check.check_name, check.passed) for check in result.get_asset_check_evaluations()} == {
            ("believed", True),
            ("whole", True),
            ("steady", True),
        }
    assert series.read(pipeline.storage, "GB", "demand", Window(0, 2**32)).num_rows == 24 * len(DAYS)
    assert artefact.load(pipeline.storage, "latest/GB.json")["metrics"]["demand"]["value"] == 30_023.0


def test_one_bad_day_fails_the_run_and_no_other_day(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(replace(pipeline, session=Publisher(d2026_02_03=b"!")), instance)
        assert not result.success
        assert instance.get_materialized_partitions(asset_key(FEED)) == {str(day) for day in DAYS} - {"2026-02-03"}
        (failure,) = [e for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_FAILURE]
        told = failure.step_failure_data.user_failure_data
        assert told is not None
        assert told.description == "1 of 22 days failed: 2026-02-03: FeedChanged: no column demand"
        whole = next(c for c in result.get_asset_check_evaluations() if c.check_name == "whole")
        assert not whole.passed
        assert whole.metadata["days"].value == ["2026-02-03 failed"]


def test_a_changed_format_is_not_asked_for_again(pipeline: PipelineContext) -> None:
    publisher = Publisher(d2026_02_03=b"!")
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(replace(pipeline, session=publisher), instance)
    assert publisher.asked == len(DAYS)


def test_a_busy_publisher_is_asked_again_later(pipeline: PipelineContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda a, b: 0.0)
    publisher = Publisher(d2026_02_03=FeedUnavailable("example.org answers 503"))
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(replace(pipeline, session=publisher), instance)
    assert publisher.asked == 3 * len(DAYS)
    assert "2026-02-03: FeedUnavailable: example.org answers 503" in str(result.all_events)


def test_a_run_from_raw_asks_nobody(pipeline: PipelineContext) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(pipeline, instance)
        silent = Publisher()
        assert materialise(replace(pipeline, session=silent), instance, **{"emds/from": "raw"}).success
    assert silent.asked == 0
