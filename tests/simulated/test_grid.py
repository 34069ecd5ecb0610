"""Check the model grid: repeatable, smooth over clock changes, of realistic size, and with borders that add up."""

from __future__ import annotations

import numpy as np
import pytest

from assets.simulated import grid
from assets.simulated.grid.ties import TIES
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.market.metrics import define
from warehouse.market.vocabulary import Metric
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


def test_only_young_values_are_first_estimates():
    now, values = int(YEAR[1000]), grid.demand("US-PJM", YEAR[:1000])
    published = grid.as_published(values, YEAR[:1000], now, "eia.demand/US-PJM", settles=DAY)
    recent = YEAR[:1000] > now - DAY
    assert np.array_equal(published[~recent], values[~recent])
    assert np.mean(published[recent] != values[recent]) > 0.5
    assert np.abs(published / values - 1).max() < 0.005
    later = grid.as_published(values, YEAR[:1000], now + 600, "eia.demand/US-PJM", settles=DAY)
    assert np.array_equal(later[-100:], published[-100:]), "an estimate stands until it is settled"
