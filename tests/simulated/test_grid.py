"""The model grid: repeatable, smooth over clock changes, borders that add up, values of realistic size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from assets.simulated import grid
from assets.simulated.grid.ties import TIES
from assets.sources.aemo import SOURCE as AEMO
from assets.sources.entsoe.areas import borders
from assets.sources.isone import TIES as ISONE_TIES
from assets.sources.nyiso import TIES as NYISO_TIES
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.market.metrics import Metric, define
from warehouse.market.zones import ZONES, zones_with

START = instant("2026-01-01T00:00Z")
YEAR = np.arange(START, START + 365 * DAY, 300)
QUARTERS = YEAR[::3]
ZONE_IDS = list(ZONES)
TRADING = zones_with(Metric.INTERCHANGE)
CLOCK_CHANGES = (
    "2026-03-08T10:00Z",
    "2026-03-29T01:00Z",
    "2026-04-04T16:00Z",
    "2026-10-03T16:00Z",
    "2026-10-25T01:00Z",
    "2026-11-01T07:00Z",
)


def everything(zone, ts):
    return np.stack(
        [
            grid.demand(zone, ts),
            grid.price(zone, ts),
            grid.price(zone, ts, HOUR, "day_ahead"),
            grid.interchange(zone, ts),
        ]
    )


@pytest.mark.parametrize("zone", ZONE_IDS)
def test_a_figure_follows_from_zone_and_instant_alone(zone):
    week = YEAR[: 7 * 288]
    whole = everything(zone, week)
    few = week[[5, 1000, 77]]
    assert np.array_equal(everything(zone, few), whole[:, [5, 1000, 77]])
    assert np.array_equal(everything(zone, week[::-1])[:, ::-1], whole)
    assert everything(zone, week[:0]).shape == (4, 0)


def test_another_process_sees_the_same_grid():
    code = (
        "import numpy as np; from assets.simulated import grid; t = np.arange(1790000000, 1790086400, 3600);"
        "print(repr([*grid.price('ES', t), *grid.demand('AU-SA', t), *grid.flow(grid.line('gb-fr-ifa'), t)]))"
    )
    root = Path(__file__).resolve().parents[2]
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout


@pytest.mark.parametrize("zone", TRADING)
def test_flows_are_continuous_and_of_the_size_of_the_real_zone(zone):
    net, sampled = grid.interchange(zone, YEAR), grid.interchange(zone, QUARTERS)
    assert np.abs(np.diff(net)).max() < 0.12 * np.abs(net).max()
    low, high = define("interchange").limits(ZONES[zone], "MW", None)
    assert low / 1.5 < sampled.min() < sampled.max() < high / 1.5


@pytest.mark.parametrize("zone", ZONE_IDS)
def test_demand_is_continuous_over_days_and_clock_changes(zone):
    demand = grid.demand(zone, YEAR)
    assert np.abs(np.diff(demand)).max() < 0.04 * demand.mean()
    for change in CLOCK_CHANGES:
        seconds = np.arange(instant(change) - 600, instant(change) + 600)
        assert np.abs(np.diff(grid.demand(zone, seconds))).max() < 0.001 * demand.mean()


@pytest.mark.parametrize("zone", ZONE_IDS)
def test_sizes_are_those_of_the_real_zone(zone):
    demand = grid.demand(zone, QUARTERS)
    peak = ZONES[zone].peak_mw
    assert 0.6 * peak < demand.max() < 1.02 * peak
    assert demand.min() > (0.05 if zone == "AU-SA" else 0.25) * peak


@pytest.mark.parametrize("zone", ZONE_IDS)
def test_prices_have_a_level_spikes_and_the_day_ahead_shape(zone):
    real, ahead = grid.price(zone, YEAR), grid.price(zone, YEAR[::12], HOUR, "day_ahead")
    low, high = define("price").limits(ZONES[zone], f"{ZONES[zone].currency}/MWh", None)
    assert low < real.min() < real.max() < high
    assert 25 < ahead.mean() < 120
    assert abs(real.mean() - ahead.mean()) < 0.1 * ahead.mean()
    assert real.max() > 2.5 * real.mean()
    hourly = real.reshape(-1, 12).mean(axis=1)
    assert np.corrcoef(hourly, ahead)[0, 1] > 0.5
    assert np.abs(hourly - ahead).max() > 0.2 * ahead.mean()


def test_some_zones_have_negative_hours_and_some_have_none():
    share = {
        zone: float(np.mean(grid.price(zone, QUARTERS[::4], HOUR, "day_ahead") < 0))
        for zone in ("DE-LU", "AU-SA", "DK-1", "US-PJM")
    }
    assert 0.01 < share["DE-LU"] < 0.12
    assert 0.1 < share["AU-SA"] < 0.35
    assert share["US-PJM"] == 0.0


def test_an_interval_is_the_mean_of_its_five_minute_points():
    five = grid.demand("FR", YEAR[:288])
    assert np.allclose(grid.demand("FR", YEAR[:288:12], HOUR), five.reshape(24, 12).mean(axis=1))
    ahead = grid.price("FR", YEAR[:288], 300, "day_ahead")
    assert np.allclose(grid.price("FR", YEAR[:288:3], 900, "day_ahead"), ahead.reshape(96, 3).mean(axis=1))
    mix = grid.generation("GB", YEAR[:288:6], 1800)
    assert np.allclose(mix["wind"], grid.generation("GB", YEAR[:288])["wind"].reshape(48, 6).mean(axis=1))


def test_what_leaves_one_zone_enters_the_other():
    for tie in TIES:
        if tie.b in ZONES:
            there = grid.inflow(tie.b, tie, YEAR[:2000])
            assert np.array_equal(grid.inflow(tie.a, tie, YEAR[:2000]), -there)
    assert np.array_equal(grid.border("GB", "FR", YEAR[:500]), -grid.border("FR", "GB", YEAR[:500]))


@pytest.mark.parametrize("zone", ZONE_IDS)
def test_a_net_is_the_sum_of_its_borders_and_lines(zone):
    ts = YEAR[:2000]
    net = grid.interchange(zone, ts)
    assert np.allclose(net, sum(grid.inflow(zone, tie, ts) for tie in grid.ties(zone)))
    assert np.allclose(net, sum(grid.border(zone, area, ts) for area in grid.neighbours(zone)))


def test_lines_stay_within_their_capacity():
    for tie in TIES:
        flow = grid.flow(tie, QUARTERS if not tie.since else np.arange(tie.since, tie.since + 30 * 86_400, 900))
        assert -tie.backward <= flow.min() <= flow.max() <= tie.forward
        assert flow.std() > 0


def test_the_lines_are_those_that_the_publishers_tell_of():
    ids = {tie.id for tie in TIES}
    assert len(ids) == len(TIES)
    assert {tie.link for tie in (*NYISO_TIES.values(), *ISONE_TIES.values())} <= ids
    for border in borders():
        assert border.neighbour in grid.neighbours(border.zone), f"{border.zone} has no line to {border.neighbour}"
    assert all(grid.ties(zone) for feed in AEMO.feeds for zone in feed.zones)


def test_the_lines_between_our_zones_are_those_of_the_map():
    shared = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared")
    path = shared / "geo/interconnectors.geojson"
    if not path.exists():
        pytest.skip("no geographic layer beside the project")
    known = {f["properties"]["id"]: f["properties"] for f in json.loads(path.read_bytes())["features"]}
    ours = {tie.id: tie for tie in TIES if tie.b in ZONES}
    assert set(known) == set(ours)
    del ours["au-sa-nsw-pec"]  # of which that file has 800 MW of 2027, and the other way round
    for name, tie in ours.items():
        line = known[name]
        assert (tie.a, tie.b) == (line["from"], line["to"])
        if line["capacity_mw"] is not None:
            assert (tie.forward, tie.backward) == (line["capacity_from_to_mw"], line["capacity_to_from_mw"])


def test_the_mix_of_gb_adds_up_to_a_hundred_per_cent():
    mix = grid.generation("GB", QUARTERS)
    assert set(mix) == {"biomass", "coal", "imports", "gas", "nuclear", "other", "hydro", "solar", "wind"}
    assert np.allclose(sum(mix.values()), 100.0)
    assert all(share.min() >= 0 for share in mix.values())
    assert mix["wind"].max() > 50
    assert 10 < mix["gas"].mean() < 45


def test_intensity_follows_the_mix():
    mix, grams = grid.generation("GB", QUARTERS), grid.carbon_intensity(QUARTERS)
    assert 15 < grams.min() < grams.max() < 400
    assert np.corrcoef(grams, mix["gas"])[0, 1] > 0.95


def test_california_adds_up():
    mix = grid.generation("US-CAISO", QUARTERS)
    assert np.allclose(sum(mix.values()) + grid.interchange("US-CAISO", QUARTERS), grid.demand("US-CAISO", QUARTERS))
    assert mix["solar"][np.arange(len(QUARTERS)) % 96 == 32].max() == 0.0, "08:00 UTC is midnight"
    assert mix["solar"].max() > 12_000
    assert mix["battery"].min() < -3000 < 3000 < mix["battery"].max()


@pytest.mark.parametrize("zone", [zone for zone in ZONE_IDS if "capacity" in ZONES[zone].metrics])
def test_capacities_grow_and_shrink_with_the_years(zone):
    this, other = grid.capacity(zone, 2025), grid.capacity(zone, 2026)
    assert sum(this.values()) > 0.9 * ZONES[zone].peak_mw
    assert this.keys() == other.keys()
    assert other["solar" if "solar" in other else "wind_onshore"] > this["solar" if "solar" in this else "wind_onshore"]
    assert all(value == int(value) for value in other.values())


def test_only_young_values_are_first_estimates():
    now, values = int(YEAR[1000]), grid.demand("US-PJM", YEAR[:1000])
    published = grid.as_published(values, YEAR[:1000], now, "eia.demand/US-PJM", settles=DAY)
    recent = YEAR[:1000] > now - DAY
    assert np.array_equal(published[~recent], values[~recent])
    assert np.mean(published[recent] != values[recent]) > 0.5
    assert np.abs(published / values - 1).max() < 0.005
    later = grid.as_published(values, YEAR[:1000], now + 600, "eia.demand/US-PJM", settles=DAY)
    assert np.array_equal(later[-100:], published[-100:]), "an estimate stands until it is settled"


def test_a_year_of_five_minutes_is_quick():
    for call in (grid.demand, grid.price, grid.interchange):
        call("US-CAISO", YEAR[:10])
        best = min(_timed(call) for _ in range(3))
        assert best < 0.6, f"{call.__name__} takes {best:.2f} s"


def _timed(call):
    start = time.process_time()
    call("US-CAISO", YEAR)
    return time.process_time() - start


def test_unknown_zones_and_markets_are_refused():
    with pytest.raises(KeyError):
        grid.demand("XX", YEAR[:1])
    with pytest.raises(KeyError):
        grid.generation("FR", YEAR[:1])
    with pytest.raises(KeyError):
        grid.capacity("GB", 2026)
    with pytest.raises(ValueError, match="market"):
        grid.price("FR", YEAR[:1], market="intraday")
