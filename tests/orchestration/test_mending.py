"""After an outage the days that no schedule asks for any more are asked for by themselves, once a day. No late annotations."""

from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from assets.ingest import pipeline
from assets.sources import feed, sources
from orchestration import backfill, gap_sensor
from orchestration.resources import open_house
from orchestration.schedules import RANGE, schedules_and_jobs
from warehouse.clock import MarketDay

FEED = feed("neso.generation")
KNOWN = {"neso": sources()["neso"]}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pipeline.House:
    """A simulated warehouse that stood still from 9 to 17 November; then the schedules went on."""
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    opened = open_house()
    for product in KNOWN["neso"].feeds:
        for first, last in ((1, 8), (18, 20)):
            pipeline.run(
                opened, product, [MarketDay(date(2026, 11, day), product.tz) for day in range(first, last + 1)]
            )
    return opened


def test_the_days_of_an_outage_are_asked_for_again(house: pipeline.House) -> None:
    asked = list(gap_sensor.requests(house, KNOWN))
    assert [(r.asset_selection, r.tags[RANGE[0]], r.tags[RANGE[1]]) for r in asked] == [
        ([dg.AssetKey(["neso", name])], "2026-11-10", "2026-11-17") for name in ("carbon_intensity", "generation")
    ]
    jobs, _ = schedules_and_jobs(KNOWN, "simulated")
    assert {r.job_name for r in asked} <= {job.name for job in jobs}
    for request in asked:
        product = KNOWN["neso"].feed(request.asset_selection[0].path[1])
        (task,) = backfill.runs(product, [date(2026, 11, day) for day in range(10, 18)])
        pipeline.run(house, product, backfill.days_of(task))
    assert list(gap_sensor.requests(house, KNOWN)) == []


def test_a_feed_that_never_gave_a_row_is_not_asked(house: pipeline.House) -> None:
    assert list(gap_sensor.requests(house, {"elexon": sources()["elexon"]})) == []


def test_the_sensor_is_loaded_and_runs(house: pipeline.House) -> None:
    jobs, _ = schedules_and_jobs(KNOWN, "simulated")
    sensor = gap_sensor.mending(KNOWN, jobs, "simulated")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert gap_sensor.mending(KNOWN, jobs, "recorded").default_status is dg.DefaultSensorStatus.STOPPED
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance, resources={"house": house}) as context,
    ):
        assert len(list(sensor(context) or ())) == 2
