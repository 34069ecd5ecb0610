"""Check the brief's sentence on the forecast share of wind and solar: hours, rounding, and when it is absent."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from typing import Any

import pytest

from api.documents import published
from assets.documents.publish import publish
from tests.assets.conftest import World
from tests.stand_ins import declared
from warehouse.market.clock import DAY, HOUR
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
DAILY = Publication(daily_at=time(18))
SOURCE = declared.source("toy", [
    declared.feed("toy.price", ["FR", "GB"], [Metric.PRICE], "1h"),
    declared.feed("toy.ahead", ["FR", "GB"], [Forecast.MIX, Forecast.DEMAND], "1h", publication=DAILY),
])  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(Folder(tmp_path), SOURCE)
    for zone in ("FR", "GB"):
        world.fold(zone, "price", NOW - DAY, [50.0] * 25)
    world.catalogue(now=NOW)
    return world


def forecast(world: World, zone: str, published_at: int, **hourly: list[float]) -> None:
    for name, values in hourly.items():
        key: dict[str, Any] = {"published_at": published_at, "basis": "body"}
        if name != "demand":
            key["fuel"] = name
        world.fold(zone, "demand_forecast" if name == "demand" else "mix_forecast", NOW, values, **key)


def brief_of(world: World, zone: str) -> Any:
    assert publish(world.storage, NOW + 60, [zone]) == []
    return artefact.load(world.storage, layout.brief(zone))


def test_the_brief_names_the_three_hours_with_the_highest_share(world: World) -> None:
    wind, solar = [300.0] * 20 + [750.0, 761.0, 749.0, 100.0], [100.0] * 24
    forecast(world, "FR", NOW - HOUR, wind_onshore=wind, solar=solar, demand=[1_000.0] * 24)
    forecast(world, "GB", NOW - HOUR, wind_onshore=wind, solar=solar, demand=[500.0] * 24)
    brief = brief_of(world, "FR")
    sentence = (
        "The highest forecast share of wind and solar over three hours is 85% of demand, "
        "from 2026-11-21 09:00 CET (08:00 UTC) to 12:00 CET (11:00 UTC)."
    )
    assert brief["summary_parts"]["wind_solar"] == sentence
    assert sentence in brief["summary"]
    assert brief["summary_figures"]["wind_solar"] == {
        "share": 85, "start": "2026-11-21 09:00 CET (08:00 UTC)", "end": "12:00 CET (11:00 UTC)",
    }  # fmt: skip
    sample = published.sample_brief(brief)
    assert "wind_solar" not in {*sample["summary_parts"], *sample["summary_figures"]}
    assert "142% of demand" in brief_of(world, "GB")["summary"]


def test_the_brief_is_silent_without_both_forecasts_and_never_older_for_them(world: World) -> None:
    before = brief_of(world, "FR")
    assert "wind_solar" not in before["summary_parts"]
    forecast(world, "FR", NOW - HOUR, solar=[100.0] * 24)
    assert brief_of(world, "FR")["summary"] == before["summary"]
    forecast(world, "FR", NOW - 3 * DAY, demand=[1_000.0] * 24)
    assert brief_of(world, "FR")["summary"] == before["summary"], "the demand forecast is too old"
    forecast(world, "FR", NOW - DAY, demand=[1_100.0] * 24)
    after = brief_of(world, "FR")
    assert "9% of demand" in after["summary"]
    assert after["valid_until"] == before["valid_until"]
