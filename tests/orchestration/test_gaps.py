"""Check gaps against a feed's own calendar: missing intervals, missing series, and the tasks that fetch them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from assets.ingest.context import PipelineContext
from assets.sources import feeds, sources
from orchestration.work import gaps
from orchestration.work.backfill import Task
from warehouse.market.clock import MarketDay
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store.storage import Folder

FEED = feeds()["neso.generation"]
FUELS = ("biomass", "coal", "imports", "gas", "nuclear", "other", "hydro", "solar", "wind")


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Store GB's mix of 25 October without one half hour of wind, at a time shortly after the mix is due."""
    monkeypatch.setenv("EMDS_NOW", "2026-10-26T01:20:00Z")
    day = MarketDay(date(2026, 10, 25), FEED.tz)
    rows = Rows()
    for fuel in FUELS:
        stamps = [ts for ts in range(day.start, day.end, 1800) if fuel != "wind" or ts != day.start + 7200]
        rows.extend(SeriesKey("GB", "generation", "%", "30m", fuel), stamps, [11.1] * len(stamps))
    storage = Folder(tmp_path)
    folding.fold(storage, FEED.id, rows, {}, {FEED.id: 1}, 1000, "simulated")

    class Nobody:
        def ask(self, request):  # type: ignore[no-untyped-def]
            raise AssertionError("nobody is asked")

    known = sources()
    return PipelineContext(storage, "simulated", known, (), {FEED.id: 1}, set(known), Nobody())


def test_a_missing_interval_is_one_hole(pipeline: PipelineContext) -> None:
    [hole], _ = gaps.find(pipeline, [FEED], 1)
    assert (hole.zone, hole.metric, hole.day, hole.intervals) == ("GB", "generation", date(2026, 10, 25), 1)
    assert hole.end - hole.start == 1800
    assert list(gaps.describe([hole]))[-1] == "1 intervals are missing in 1 gaps"
    asked = [Task("neso.generation", (date(2026, 10, 25),))]
    assert gaps.without_whole_days(pipeline, asked) == asked


def test_a_series_of_which_there_is_nothing_misses_its_days(pipeline: PipelineContext) -> None:
    holes, _ = gaps.find(pipeline, [feeds()["neso.carbon_intensity"]], 1)
    assert [(h.metric, h.day, h.intervals) for h in holes] == [("carbon_intensity", date(2026, 10, 25), 48)]


def test_days_beyond_a_feeds_reach_and_feeds_without_credentials_have_no_holes(pipeline: PipelineContext) -> None:
    from dataclasses import replace

    assert gaps.find(pipeline, [replace(FEED, reach_days=0)], 5) == ([], [])
    assert gaps.find(replace(pipeline, configured=()), [FEED], 5) == ([], [])
