"""Test estimates of carbon intensity: worked examples, each reason to refuse an interval, the published factors."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.market.carbon import (
    CURRENT_SET,
    UNCOUNTED,
    Estimates,
    FuelReadings,
    Reason,
    Unstored,
    credit,
    estimate,
    factor_set,
)
from warehouse.market.vocabulary import Fuel

T, STEP = 1_780_000_200, 300
"""A time on a grid of five minutes, and the step in seconds."""


def mix(count: int = 1, /, **mw: float) -> list[FuelReadings]:
    """Return `count` five-minute intervals in which each fuel has the value in `mw`."""
    starts = [T + STEP * number for number in range(count)]
    return [FuelReadings(fuel, "5m", starts, [value] * count) for fuel, value in mw.items()]


def only(found: Estimates) -> tuple[float, float, float]:
    """Return the value, lower bound and upper bound of the only interval."""
    assert found.ts.tolist() == [T]
    assert found.reasons == (None,)
    return float(found.value[0]), float(found.low[0]), float(found.high[0])


def refusal(found: Estimates) -> Reason | None:
    """Return why the only interval is refused."""
    (reason,) = found.reasons
    return reason


def test_the_fraction_is_emissions_over_generation() -> None:
    assert only(estimate("FR", mix(coal=100, gas=200, nuclear=700))) == (177.0, 177.0, 177.0)
    assert only(estimate("AU-TAS", mix(hydro=900, wind=100, gas=0))) == (0.0, 0.0, 0.0)


def test_storage_rooftop_and_imports_are_on_neither_side() -> None:
    rest = {"coal": 100.0, "gas": 200.0, "nuclear": 700.0}
    beside = {"battery": -400.0, "pumped_storage": 300.0, "solar_rooftop": 5_000.0, "imports": 800.0}
    assert only(estimate("FR", mix(**rest, **beside))) == only(estimate("FR", mix(**rest)))


def test_a_fuel_below_zero_counts_as_zero() -> None:
    assert only(estimate("FR", mix(coal=100, gas=100, solar=-36, nuclear=0))) == (679.0,) * 3


def test_bounds_are_of_other_and_waste() -> None:
    value, low, high = only(estimate("AT", mix(other=50, waste=20, hydro=930)))
    assert (value, low, high) == (32.0, 0.0, round((50 * 946 + 20 * 1320) / 1000, 2))
    assert only(estimate("GB", mix(other=50, gas=0, hydro=950)))[0] == 15.0
    assert only(estimate("BE", mix(other=50, gas=0, hydro=950))) == (20.0, 10.0, 32.5)


def test_coal_derived_gas_and_peat_have_factors_of_their_own() -> None:
    derived = Unstored({"coal_derived_gas": {T: 10.0}})
    value, low, high = only(estimate("NL", mix(gas=100, coal=100, wind=800), derived))
    assert value == round((90 * 412 + 10 * 1400 + 94_600) / 1000, 2)
    assert (low, high) == (round(value - 9.8, 2), round(value + 10.6, 2))
    peat = only(estimate("DE-LU", mix(other=10, gas=0, wind=990), Unstored({"peat": {T: 10.0, T + 1: 5.0}})))
    assert peat == (10.6, 9.5, 11.5)


def test_more_of_a_part_than_of_its_fuel_counts_as_the_fuel() -> None:
    derived = Unstored({"coal_derived_gas": {T: 500.0}})
    assert only(estimate("AT", mix(gas=5, coal=0, wind=995), derived)) == (7.0, 2.1, 12.3)


@pytest.mark.parametrize(("unknown", "expected"), [(49.0, None), (51.0, "other_share")])
def test_more_than_15_percent_of_unknown_origin_is_refused(unknown: float, expected: str | None) -> None:
    found = estimate("BE", mix(other=100, gas=100, wind=800), Unstored(unknown={T: unknown}))
    assert found.reasons == (expected,)


def test_bounds_too_far_apart_are_refused() -> None:
    # the bounds are 92 g apart, the value is 42 g
    assert refusal(estimate("AT", mix(waste=70, other=0, wind=930))) == "wide"
    assert only(estimate("AT", mix(waste=60, other=0, wind=940))) == (36.0, 0.0, 79.2)
    assert only(estimate("PL", mix(waste=100, coal=800, gas=100))) == (858.0, 798.0, 930.0)


def test_fewer_than_three_fuels_are_not_a_mix() -> None:
    assert refusal(estimate("FR", mix(gas=1, nuclear=1, battery=1))) == "fuel_missing"
    assert refusal(estimate("FR", mix(gas=0, nuclear=0, coal=0))) == "fuel_missing"


def test_a_usual_fuel_that_is_missing_refuses_the_interval_and_solar_may_sleep() -> None:
    rows = mix(10, coal=100, gas=200, nuclear=700)
    short = [*rows, FuelReadings("wind", "5m", [T + STEP * i for i in range(8)], [50.0] * 8)]
    assert estimate("FR", short).reasons == (None,) * 8 + ("fuel_missing",) * 2
    rare = [*rows, FuelReadings("wind", "5m", [T + STEP * i for i in range(7)], [50.0] * 7)]
    assert estimate("FR", rare).reasons == (None,) * 10
    night = [*rows, FuelReadings("solar", "5m", [T + STEP * i for i in range(8)], [50.0] * 8)]
    assert estimate("FR", night).reasons == (None,) * 10


def test_an_interval_with_two_resolutions_is_refused_and_all_that_the_longer_covers() -> None:
    hour = T - T % 3600
    quarters = [hour + 900 * i for i in range(8)]
    rows = [FuelReadings(fuel, "15m", quarters, [10.0] * 8) for fuel in ("coal", "gas", "nuclear")]
    mixed = estimate("FR", [*rows, FuelReadings("wind", "1h", [hour], [50.0])])
    assert mixed.reasons == ("fuel_missing",) * 4 + (None,) * 4
    assert mixed.seconds.tolist() == [900] * 8
    rooftop = FuelReadings("solar_rooftop", "30m", [hour, hour + 1800], [50.0] * 2)
    assert estimate("FR", [*rows, rooftop]).reasons == (None,) * 8


def test_no_readings_give_no_intervals() -> None:
    assert estimate("FR", []).reasons == ()
    assert estimate("FR", mix(battery=5.0)).reasons == ()


mixes = st.dictionaries(
    st.sampled_from(sorted(fuel.value for fuel in Fuel)), st.floats(-2_000, 50_000), min_size=3, max_size=12
)


@given(mixes, st.sampled_from(["GB", "FR", "US-PJM", "BE"]))
def test_an_estimate_is_a_mean_of_factors_between_its_bounds(mw: dict[str, float], zone: str) -> None:
    """Compute the estimate and its bounds again, term by term."""
    found, factors = estimate(zone, mix(**mw)), factor_set(CURRENT_SET)
    for number in range(len(found.ts)):
        if found.reasons[number] is not None:
            continue
        counted = {fuel: max(value, 0.0) for fuel, value in mw.items() if fuel not in UNCOUNTED}
        total = sum(counted.values())
        for column, term in zip((found.value, found.low, found.high), range(3), strict=True):
            expected = sum(value * factors.factor(zone, fuel)[term] for fuel, value in counted.items()) / total
            assert column[number] == pytest.approx(expected, abs=0.0051)
        assert 0 <= found.low[number] <= found.value[number] <= found.high[number] <= 1320


def test_every_counted_fuel_has_a_factor() -> None:
    assert {fuel.value for fuel in Fuel} - UNCOUNTED == set(factor_set(CURRENT_SET).fuels)


PUBLISHED = {"emds-direct-1": "82c84ae9301508bc31bef32da55055a8a92ba386285d66aef37decc8bd3add68"}
"""The SHA-256 of each set's JSON with sorted keys."""


def test_a_published_set_of_factors_never_changes() -> None:
    """Require the old hashes; after a failure, restore the old set and publish the new factors under another id."""
    stored = json.loads(files("warehouse.market").joinpath("carbon_factors.json").read_bytes())
    texts = {each["id"]: json.dumps(each, sort_keys=True).encode() for each in stored["sets"]}
    assert {set_id: hashlib.sha256(text).hexdigest() for set_id, text in texts.items()} == PUBLISHED


def test_a_zone_without_a_source_credits_the_factors_alone() -> None:
    assert credit("") == factor_set(CURRENT_SET).attribution
    assert credit("A") == f"A; {factor_set(CURRENT_SET).attribution}"
