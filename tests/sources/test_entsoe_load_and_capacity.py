"""ENTSO-E's load up to the last published hour, and the capacity of calendar years by fuel."""

from __future__ import annotations

import pytest

from tests.sources.entsoe_documents import DAY, installed, load, period, year
from warehouse.errors import FeedChanged
from warehouse.market.clock import instant, iso


def test_load_ends_with_the_last_published_hour():
    rows = load(period("2026-11-19T23:00Z", "2026-11-20T11:00Z", "PT15M", {1: 9000.5}, "quantity"))
    assert len(rows) == 48
    assert {(r.metric, r.unit) for r in rows} == {("demand", "MW")}


def test_a_forecast_of_load_is_not_taken_for_load():
    demand = period(*DAY, "PT60M", {1: 9000}, "quantity")
    with pytest.raises(FeedChanged, match="A01"):
        load(demand, process="A01")
    with pytest.raises(FeedChanged):
        load(demand, unit="KWH")
    with pytest.raises(FeedChanged):
        load(demand, zone="BE")


def test_types_of_one_fuel_are_added_up():
    types = {"B04": 100, "B03": 20, "B19": 7, "B15": 0}
    rows = installed(*((kind, year(2024, 2024, [value])) for kind, value in types.items()))
    assert {(r.fuel, r.value, r.unit, r.resolution) for r in rows} == {
        ("gas", 120.0, "MW", "1y"),
        ("wind_onshore", 7.0, "MW", "1y"),
        ("other", 0.0, "MW", "1y"),
    }
    assert {r.ts for r in rows} == {instant("2023-12-31T23:00:00Z")}


def test_a_period_of_several_years_leaves_out_years_that_did_not_change():
    rows = installed(("B14", year(2021, 2025, {1: 486, 4: 500})))
    assert [(iso(r.ts), r.value) for r in rows.sorted()] == [
        ("2020-12-31T23:00:00Z", 486.0),
        ("2021-12-31T23:00:00Z", 486.0),
        ("2022-12-31T23:00:00Z", 486.0),
        ("2023-12-31T23:00:00Z", 500.0),
        ("2024-12-31T23:00:00Z", 500.0),
    ]


def test_the_same_capacity_twice_is_counted_once():
    assert [r.value for r in installed(("B04", year(2024, 2024, [5])), ("B04", year(2024, 2024, [5])))] == [5.0]
