"""Scores of forecasts: golden figures of a published body, a second implementation, what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assets.documents import publishers, scores
from assets.sources import source
from tests.independent.scores import differences
from warehouse.judge.forecast_scores import figures_of
from warehouse.market.clock import HOUR, instant
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store import modes
from warehouse.store.storage import Folder

HALF = 1800
NOW = instant("2026-11-12T09:40:00Z")
"""The 30 days before hold a change of the clocks."""
ELEXON = {"elexon": source("elexon")}
BOTH = ELEXON | {"neso": source("neso")}
METRICS = {
    "elexon.demand": "demand",
    "elexon.demand_forecast": "demand_forecast",
    "neso.carbon_intensity": "carbon_intensity",
    "neso.carbon_forecast": "carbon_intensity_forecast",
}
DAY_AHEAD = np.array([
    60912.261, 58111.1501, 55993.7103, 54724.2196, 54468.37, 54992.0604, 56743.7097, 57047.0603, 58179.7405,
    61163.9492, 64834.6287, 68565.13, 71887.5605, 75005.2996, 77625.3381, 79463.3999, 79884.2102, 78977.5901,
    76096.1111, 73112.219, 71097.3093, 68280.4811, 65090.4487, 61973.5492,
])  # fmt: skip
CURRENT = np.array([
    62276.6995, 59463.7405, 57347.5394, 55787.3696, 55123.7699, 55884.4098, 57167.7303, 57159.5499, 58217.6196,
    61245.9905, 64638.6805, 67588.2798, 70953.4193, 74780.4211, 77837.9998, 80185.3295, 82036.8123, 81970.5901,
    78841.0294, 75183.6194, 72715.6213, 69062.8601, 65298.7097, 61974.9392,
])  # fmt: skip
LOAD = np.array([
    61541.15, 58754.64, 56593.14, 55082.01, 54691.21, 55127.48, 56385.35, 56640.89, 57929.76, 60622.27, 63580.01,
    67049.14, 70805.3, 74547.52, 77722.87, 80167.7, 81227.31, 80482.59, 77592.7, 74295.2, 71461.24, 68134.32, 64924.95,
    61530.32,
])  # fmt: skip
NEXT_DAY_AHEAD = np.array([
    59558.1799, 56821.6793, 54592.8403, 53058.3093, 52215.0596, 51925.3912, 52429.1893, 52432.0305, 54060.16,
    57334.9806, 61185.9294, 65368.5203, 69262.6914, 72551.8389, 75492.5984,
])  # fmt: skip
NEXT_LOAD = np.array([
    58367.22, 55627.57, 53616.26, 52101.45, 51450.13, 51347.95, 51943.11, 52259.19, 53989.03, 57668.78, 61772.26,
    65635.41, 69685.1, 73377.48, 76053.95,
])  # fmt: skip
"""ERCOT's system load and forecasts of 25 September 2026, and of the first 15 hours of the day after."""


def test_golden_figures_of_ercot() -> None:
    nothing = np.full(24, np.nan)
    ahead = figures_of(DAY_AHEAD, LOAD, nothing, relative=True)
    assert [round(ahead[name], 3) for name in ("bias", "mae", "rmse")] == [-110.815, 662.626, 812.884]
    assert (ahead["wape"], ahead["skill"]) == (1.0022, None)
    current = figures_of(CURRENT, LOAD, nothing, relative=True)
    assert [round(current[name], 3) for name in ("bias", "mae", "rmse")] == [660.569, 660.569, 755.945]
    assert current["wape"] == 0.999
    after = figures_of(NEXT_DAY_AHEAD, NEXT_LOAD, LOAD[:15], relative=False)
    assert (round(after["mae"], 3), after["skill"], after["wape"]) == (625.823, 0.7774, None)


@pytest.fixture
def storage(tmp_path: Path) -> Folder:
    """GB's demand of five weeks with holes, and a forecast of 40 hours each five hours, of which some never came."""
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
        series.fold(folder, name, rows, {}, {name: 1}, NOW, "live")
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
