"""Check scores of forecasts against a second implementation, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assets.documents import publishers, scores
from assets.sources import source
from tests.independent.scores import differences
from warehouse.market.clock import HOUR, instant
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import modes
from warehouse.store.storage import Folder

HALF = 1800
NOW = instant("2026-11-12T09:40:00Z")
"""The preceding 30 days contain a clock change."""
ELEXON = {"elexon": source("elexon")}
BOTH = ELEXON | {"neso": source("neso")}
METRICS = {
    "elexon.demand": "demand",
    "elexon.demand_forecast": "demand_forecast",
    "neso.carbon_intensity": "carbon_intensity",
    "neso.carbon_forecast": "carbon_intensity_forecast",
}


@pytest.fixture
def storage(tmp_path: Path) -> Folder:
    """Fold 45 days of GB's demand and carbon with gaps, and a forecast every five hours with some of them missing."""
    folder = Folder(tmp_path)
    modes.ensure(folder, "live")
    random = np.random.default_rng(43)
    first, count = NOW // HALF * HALF - 45 * 24 * HOUR, 45 * 48
    starts = first + HALF * np.arange(count)
    load = (30000 + 8000 * np.sin(2 * np.pi * starts / 86400) + random.normal(0, 400, count)).round(3)
    kept = random.random(count) > 0.03
    of_feed = {name: Rows() for name in METRICS}
    of_feed["elexon.demand"].extend(key_of("elexon.demand"), starts[kept].tolist(), load[kept].tolist())
    grams = (load[kept] / 200).round().tolist()
    of_feed["neso.carbon_intensity"].extend(key_of("neso.carbon_intensity"), starts[kept].tolist(), grams)
    for issue in range(0, count - 90, 10):
        if random.random() < 0.8:
            values, at = (load[issue : issue + 80] + random.normal(100, 600, 80)).round(2), int(starts[issue]) + 600
            for name, ahead in (
                ("elexon.demand_forecast", values),
                ("neso.carbon_forecast", (values[:60] / 200).round()),
            ):
                stamps = starts[issue : issue + len(ahead)].tolist()
                of_feed[name].extend_vintage(key_of(name), at, "body", stamps, ahead.tolist())
    for name, rows in of_feed.items():
        folding.fold(folder, name, rows, {}, {name: 1}, NOW, "live")
    return folder


def key_of(feed: str) -> SeriesKey:
    return SeriesKey("GB", METRICS[feed], "MW" if "demand" in feed else "gCO2/kWh", "30m")


def test_scores_equal_a_second_implementation_to_the_digit(storage: Folder, tmp_path: Path) -> None:
    document = publishers.publish(storage, BOTH, (), "live", NOW)
    entry, carbon = document["scores"]
    hours = [hour for hour, error in enumerate(carbon["mae_by_hour"], 1) if error is not None]
    assert hours == list(range(1, 30))
    assert [lead["wape"] for lead in carbon["leads"]] == [None] * 5
    assert entry["mae_by_hour"] == []
    assert [lead["lead_s"] // HOUR for lead in entry["leads"]] == [1, 6, 12, 24, 48]
    assert [lead["n"] > 1000 for lead in entry["leads"]] == [True, True, True, True, False]
    assert entry["leads"][-1] == {"lead_s": 48 * HOUR, "n": 0} | dict.fromkeys(
        ("coverage", "bias", "mae", "rmse", "wape", "skill")
    )
    wrong, figures = differences(tmp_path)
    assert wrong == []
    assert figures == 2 * 5 * 2 + 4 * 6 + 4 * 5


def test_a_figure_needs_a_hundred_intervals_and_a_feed_that_may_be_passed_on(storage: Folder) -> None:
    [entry] = scores.measure(storage, ELEXON, (), NOW - 28 * 24 * HOUR)
    assert entry["leads"][0]["n"] >= 100
    early = next(
        lead
        for days in range(29, 46)
        for entry in scores.measure(storage, ELEXON, (), NOW - days * 24 * HOUR)
        for lead in entry["leads"][:1]
        if lead["n"] < 100
    )
    assert early["mae"] is early["skill"] is early["coverage"] is None
    assert scores.measure(storage, ELEXON, ["elexon.demand_forecast"], NOW) == []
    assert scores.measure(storage, {"elexon": replace(ELEXON["elexon"], feeds=())}, (), NOW) == []


def test_the_share_of_wind_and_solar_is_scored_in_percentage_points(tmp_path: Path) -> None:
    """Forecasts are half-hourly and actual mixes hourly. Fuels and demand are published at different times."""
    folder, random = Folder(tmp_path), np.random.default_rng(5)
    modes.ensure(folder, "live")
    first = NOW // HOUR * HOUR - 33 * 24 * HOUR
    starts = [first + HALF * number for number in range(34 * 48)]
    names = ("elexon.mix", "elexon.demand", "elexon.mix_forecast", "elexon.demand_forecast")
    rows = {name: Rows() for name in names}
    for fuel, size in (("solar", 4_000.0), ("wind_onshore", 9_000.0), (None, 25_000.0)):
        of, name = ("MW", "30m", fuel), "demand" if fuel is None else "mix"
        came = (size * (1.2 + np.sin(np.arange(len(starts)) / 9))).round()
        hourly = came.reshape(-1, 2).mean(axis=1).tolist()
        if name == "mix":
            rows["elexon.mix"].extend(SeriesKey("GB", "mix", "MW", "1h", fuel), starts[::2], hourly)
        else:
            rows["elexon.demand"].extend(SeriesKey("GB", "demand", *of), starts, came.tolist())
        for day in range(32):
            for back in (7, 31):
                ahead = slice(48 * day, 48 * day + 48)
                expected = (came[ahead] * random.normal(1.02, 0.1 + back / 200, 48)).round(1).tolist()
                key, issue = SeriesKey("GB", f"{name}_forecast", *of), starts[ahead][0] - back * HOUR - len(name) * 60
                rows[f"elexon.{name}_forecast"].extend_vintage(key, issue, "body", starts[ahead], expected)
    for name, own in rows.items():
        folding.fold(folder, name, own, {}, {name: 1}, NOW, "live")
    document = publishers.publish(folder, ELEXON, (), "live", NOW)
    [share] = document["shares"]
    assert {name: share[name] for name in ("zone", "source", "unit")} == {"zone": "GB", "source": "elexon", "unit": "%"}
    assert all(error is not None for error in share["mae_by_hour"])
    assert 1 < share["mae_by_hour"][6] < share["mae_by_hour"][47] < 20
    assert differences(tmp_path)[0] == []
    assert (
        publishers.measure(folder, ELEXON, (), "live", NOW - 32 * 24 * HOUR)["shares"][0]["mae_by_hour"] == [None] * 48
    )
    for feed in names[2:]:
        assert scores.measure_shares(folder, ELEXON, [feed], NOW) == []


def test_wind_and_solar_are_scored_by_fuel_and_against_capacity(tmp_path: Path) -> None:
    folder, random = Folder(tmp_path), np.random.default_rng(7)
    modes.ensure(folder, "live")
    entsoe = source("entsoe")
    first = NOW // HOUR * HOUR - 32 * 24 * HOUR
    starts = [first + HOUR * number for number in range(32 * 24)]
    rows = {name: Rows() for name in ("entsoe.mix", "entsoe.mix_forecast", "entsoe.capacity")}
    for fuel, size in (("solar", 900.0), ("wind_onshore", 2_500.0)):
        came = (size * (1 + np.sin(np.arange(len(starts)) / 4)) + random.normal(0, 20, len(starts))).round(2)
        rows["entsoe.mix"].extend(SeriesKey("BE", "mix", "MW", "1h", fuel), starts, came.tolist())
        for day in range(31):
            ahead = slice(24 * day, 24 * day + 24)
            expected = (came[ahead] + random.normal(30, 0.1 * size, 24)).round(2).tolist()
            key = SeriesKey("BE", "mix_forecast", "MW", "1h", fuel)
            rows["entsoe.mix_forecast"].extend_vintage(
                key, starts[ahead][0] - 6 * HOUR, "body", starts[ahead], expected
            )
    year = instant("2025-12-31T23:00Z")
    rows["entsoe.capacity"].extend(SeriesKey("BE", "capacity", "MW", "1y", "solar"), [year], [9_000.0])
    for name, own in rows.items():
        folding.fold(folder, name, own, {}, {name: 1}, NOW, "live")
    document = publishers.publish(folder, {"entsoe": entsoe}, (), "live", NOW)
    solar, wind = document["scores"]
    assert [entry["fuel"] for entry in (solar, wind)] == ["solar", "wind_onshore"]
    lead = solar["leads"][0]
    assert lead["n"] > 600
    assert lead["mae_pct_of_capacity"] == pytest.approx(100 * lead["mae"] / 9_000, abs=1e-4)
    assert wind["leads"][0]["mae_pct_of_capacity"] is None
    assert [other["wape"] for other in wind["leads"]] == [None] * 5
    assert differences(tmp_path)[0] == []
