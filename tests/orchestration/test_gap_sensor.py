"""After an outage the sensor asks once a day for days that no schedule asks for. No late annotations."""

from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets import first_days
from assets.ingest.context import PipelineContext
from assets.ingest.runs import ingest_days
from assets.sources import feed, feeds, sources
from orchestration import backfill, gap_sensor
from orchestration.resources import open_context
from orchestration.schedules import RANGE, schedules_and_jobs
from warehouse.clock import MarketDay

FEED = feed("neso.generation")
KNOWN = {"neso": sources()["neso"]}


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """A simulated warehouse that stood still from 9 to 17 November; then the schedules went on."""
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    opened = open_context()
    for product in KNOWN["neso"].feeds:
        for first, last in ((1, 8), (18, 20)):
            ingest_days(opened, product, [MarketDay(date(2026, 11, day), product.tz) for day in range(first, last + 1)])
    return opened


def test_the_days_of_an_outage_are_asked_for_again(pipeline: PipelineContext) -> None:
    requests = list(gap_sensor.requests(pipeline, KNOWN))
    assert [(r.asset_selection, r.tags[RANGE[0]], r.tags[RANGE[1]]) for r in requests] == [
        ([dg.AssetKey(["neso", name])], "2026-11-10", "2026-11-17") for name in ("carbon_intensity", "generation")
    ]
    jobs, _ = schedules_and_jobs(KNOWN, "simulated", dict.fromkeys(feeds(), date(2026, 1, 1)))
    assert {r.job_name for r in requests} <= {job.name for job in jobs}
    for request in requests:
        product = KNOWN["neso"].feed(request.asset_selection[0].path[1])
        (task,) = backfill.monthly_tasks(product, [date(2026, 11, day) for day in range(10, 18)])
        ingest_days(pipeline, product, backfill.days_of(task))
    assert list(gap_sensor.requests(pipeline, KNOWN)) == []


def test_days_before_the_first_partition_are_not_asked_for_and_no_check_is_planned(pipeline: PipelineContext) -> None:
    for product in KNOWN["neso"].feeds:
        first_days.note(pipeline.storage, product, [date(2026, 11, 14)])
    requests = list(gap_sensor.requests(pipeline, KNOWN))
    assert [(r.tags[RANGE[0]], r.asset_check_keys) for r in requests] == [("2026-11-14", [])] * 2


def test_a_feed_that_never_gave_a_row_is_not_asked(pipeline: PipelineContext) -> None:
    assert list(gap_sensor.requests(pipeline, {"elexon": sources()["elexon"]})) == []


def test_the_sensor_is_loaded_and_runs(pipeline: PipelineContext) -> None:
    jobs, _ = schedules_and_jobs(KNOWN, "simulated", dict.fromkeys(feeds(), date(2026, 1, 1)))
    sensor = gap_sensor.gap_sensor(KNOWN, jobs, "simulated")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert gap_sensor.gap_sensor(KNOWN, jobs, "recorded").default_status is dg.DefaultSensorStatus.STOPPED
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance, resources={"pipeline": pipeline}) as context,
    ):
        assert len(list(sensor(context) or ())) == 2
