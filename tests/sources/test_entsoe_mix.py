"""Test the twelve traps of A75, each by name, and the File Library's monthly file of the same values."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from assets import sources
from assets.sources.entsoe import SOURCE
from assets.sources.entsoe.areas import EIC, MIX_ZONES
from assets.sources.entsoe.mix import FUELS
from assets.sources.entsoe_files import PRODUCTION_TYPES
from tests.independent.carbon import of_response
from tests.sources.test_entsoe import document, period, series
from warehouse.errors import FeedChanged
from warehouse.market.clock import instant, market_days
from warehouse.market.feeds import Request

MIX, LIBRARY = sources.feed("entsoe.mix"), sources.feed("entsoe_files.mix")
START, END = "2026-11-19T23:00Z", "2026-11-20T00:00Z"
QUARTERS = [instant("2026-11-19T23:00Z") + 900 * i for i in range(4)]


def generation(kind, points, *, consumed=False, zone="DE-LU", curve="A03", span=(START, END), resolution="PT15M"):
    """Return a TimeSeries of one production type; `points` is {position: MW}, or a list of all values."""
    side = "out" if consumed else "in"
    return series(
        period(*span, resolution, points, "quantity"),
        f"<MktPSRType><psrType>{kind}</psrType></MktPSRType>" if kind else "",
        curve=curve,
        **{f"{side}BiddingZone_Domain__mRID": EIC[zone], "quantity_Measure_Unit__name": "MAW"},
    )


def read(*parts, zone="DE-LU"):
    return MIX.parse(document("A75", *parts, root="GL_MarketDocument", process="A16"), Request(MIX.id, "", zone=zone))


def values(rows, fuel):
    """Return the mix's values of a fuel by interval start."""
    return {row.ts: row.value for row in rows if row.fuel == fuel}


def fuels(rows):
    return {row.fuel for row in rows if row.fuel}


def test_estimates_with_coal_derived_gas_and_peat_equal_those_of_a_second_reader_of_the_response():
    random = np.random.default_rng(3)
    sizes = {"B02": 9000, "B03": 900, "B04": 7000, "B08": 1500, "B14": 3000, "B17": 700, "B19": 20_000, "B20": 4000}
    parts = [
        generation(
            kind, random.uniform(-20, size, 96).round(1).tolist(), span=(START, "2026-11-20T23:00Z"), curve="A01"
        )
        for kind, size in sizes.items()
    ]
    body = document("A75", *parts, root="GL_MarketDocument", process="A16")
    expected = of_response(body, "DE-LU")
    rows = MIX.parse(body, Request(MIX.id, "", zone="DE-LU"))
    [(_, found)] = [(key, own) for key, own in rows.readings.items() if key.metric == "carbon_estimate"]
    given = {ts: (value, *bounds) for ts, value, bounds in zip(found.ts, found.values, found.bounds, strict=True)}
    assert given.keys() == {ts for ts, values in expected.items() if values}
    assert 20 < len(given) < 90
    for ts, values in given.items():
        assert values == pytest.approx(expected[ts], abs=0.0051)


def test_trap_1_consumption_is_not_only_storage():
    rows = read(
        generation("B04", [900, 910, 920, 930]),
        generation("B04", [64] * 4, consumed=True),
        generation("B06", [12, 0, 12, 12], consumed=True),
        generation("B25", [30, 0, 10, 0]),
        generation("B25", [0, 25, 15, 0], consumed=True),
    )
    assert values(rows, "gas") == dict(zip(QUARTERS, [900, 910, 920, 930], strict=True))
    assert values(rows, "battery") == dict(zip(QUARTERS, [30, -25, -5, 0], strict=True))
    assert fuels(rows) == {"gas", "battery"}
    assert rows.dropped == {"consumption of B04, own use": 4, "consumption of B06, own use": 3}


def test_trap_2_pumped_storage_turns_and_pumps_in_one_interval():
    rows = read(generation("B10", [310, 120, 60, 60]), generation("B10", [50, 300, 60, 900.5], consumed=True))
    assert values(rows, "pumped_storage") == dict(zip(QUARTERS, [260, -180, 0, -840.5], strict=True))


def test_trap_3_output_without_consumption_is_gross_and_the_source_says_of_which_zone():
    rows = read(generation("B10", [310, 0, 60, 60], zone="NO-2"), zone="NO-2")
    assert values(rows, "pumped_storage") == dict(zip(QUARTERS, [310, 0, 60, 60], strict=True))
    assert any("NO-2 publishes only the output of pumped storage" in note for note in SOURCE.notes)


def test_trap_4_a_curve_a03_repeats_its_last_point_to_the_end_of_its_period_and_nothing_before_its_first():
    rows = read(
        generation("B15", {1: 7}),
        generation("B10", [100] * 4),
        generation("B10", {2: 40}, consumed=True),
        generation("B14", {1: 5, 2: 6}, span=(START, "2026-11-19T23:30Z")),
    )
    assert values(rows, "other") == dict.fromkeys(QUARTERS, 7)
    assert values(rows, "pumped_storage") == dict(zip(QUARTERS, [100, 60, 60, 60], strict=True))
    assert values(rows, "nuclear") == dict(zip(QUARTERS[:2], [5, 6], strict=True))


def test_trap_5_a_gap_that_splits_a_type_into_two_series_is_joined_by_type():
    later = ("2026-11-19T23:45Z", END)
    rows = read(
        generation("B11", [10, 11], curve="A01", span=(START, "2026-11-19T23:30Z")),
        generation("B11", [13], curve="A01", span=later),
        generation("B12", [20, 21, 22, 23], curve="A01"),
    )
    assert values(rows, "hydro") == {QUARTERS[0]: 30, QUARTERS[1]: 32, QUARTERS[3]: 36}
    assert rows.dropped == {"sum without all its parts": 1}


def test_trap_6_a_type_that_lags_has_no_row_yet_nor_has_the_sum_that_needs_it():
    rows = read(
        generation("B14", [5, 6, 7, 8]),
        generation("B04", [90, 91, 92, 93]),
        generation("B03", {1: 4, 2: 4}, span=(START, "2026-11-19T23:30Z")),
    )
    assert values(rows, "nuclear") == dict(zip(QUARTERS, [5, 6, 7, 8], strict=True))
    assert values(rows, "gas") == {QUARTERS[0]: 94, QUARTERS[1]: 95}


@pytest.mark.parametrize("hourly", ["B11", "B12"])
def test_trap_7_each_period_keeps_its_own_resolution_and_no_sum_mixes_two(hourly):
    other = {"B11": "B12", "B12": "B11"}[hourly]
    rows = read(
        generation("B14", [5], resolution="PT60M"),
        generation(hourly, [10], resolution="PT60M"),
        generation(other, [20, 21, 22, 23]),
        generation("B16", [0, 1, 2, 3]),
    )
    assert {(row.fuel, row.resolution, row.ts) for row in rows} == {
        ("nuclear", "1h", QUARTERS[0]),
        *(("solar", "15m", ts) for ts in QUARTERS),
    }


def test_trap_7_a_zone_that_changes_its_resolution_within_a_response_keeps_both():
    hour, quarters = (START, END), (END, "2026-11-20T01:00Z")
    rows = read(
        *(generation(kind, [10], resolution="PT60M", span=hour) for kind in ("B11", "B12")),
        *(generation(kind, [20, 21, 22, 23], span=quarters) for kind in ("B11", "B12")),
    )
    assert [(row.resolution, row.value) for row in rows.sorted()] == [
        ("1h", 20),
        *(("15m", value) for value in (40, 42, 44, 46)),
    ]


def test_trap_7_storage_has_no_row_where_its_sides_differ_in_resolution():
    rows = read(
        generation("B10", [100, 110, 120, 130]),
        generation("B10", [40], consumed=True, resolution="PT60M"),
        generation("B10", [50], consumed=True, resolution="PT60M", span=("2026-11-20T00:00Z", "2026-11-20T01:00Z")),
    )
    assert [(row.ts, row.resolution, row.value) for row in rows] == [(QUARTERS[0] + 3600, "1h", -50)]


def test_trap_8_absent_is_no_row_and_zero_is_a_value():
    rows = read(generation("B16", [0, 0, 0, 0]), generation("B19", {2: 3}, curve="A01"))
    assert values(rows, "solar") == dict.fromkeys(QUARTERS, 0)
    assert values(rows, "wind_onshore") == {QUARTERS[1]: 3}
    assert fuels(rows) == {"solar", "wind_onshore"}


def test_trap_9_the_netherlands_state_consumption_of_every_type_and_a_third_as_other():
    kinds = ("B01", "B04", "B05", "B14", "B16", "B19", "B20")
    rows = read(
        *(generation(kind, [100] * 4, zone="NL") for kind in kinds),
        *(generation(kind, [8] * 4, consumed=True, zone="NL") for kind in kinds),
        zone="NL",
    )
    assert {row.value for row in rows if row.fuel} == {100}
    assert values(rows, "other") == dict.fromkeys(QUARTERS, 100)
    assert sum(rows.dropped.values()) == 4 * len(kinds)
    assert any("third of the generation in NL are other" in note for note in SOURCE.notes)


def test_trap_10_spain_pumps_without_turbines_and_sweden_has_heat_and_power_as_other():
    spain = read(
        generation("B12", [2000] * 4, zone="ES"), generation("B10", [700] * 4, consumed=True, zone="ES"), zone="ES"
    )
    assert values(spain, "pumped_storage") == dict.fromkeys(QUARTERS, -700)
    assert values(spain, "hydro") == dict.fromkeys(QUARTERS, 2000)
    sweden = read(generation("B20", [310] * 4, zone="SE-3"), generation("B14", [5000] * 4, zone="SE-3"), zone="SE-3")
    assert values(sweden, "other") == dict.fromkeys(QUARTERS, 310)
    assert any("In ES, the turbines of pumped storage count" in note for note in SOURCE.notes)


def test_trap_11_gas_from_coal_is_gas_but_not_for_the_estimate():
    kinds = {"B03": 100, "B04": 900, "B08": 30, "B20": 70, "B14": 5000}
    rows = read(*(generation(kind, [mw] * 4) for kind, mw in kinds.items()))
    assert values(rows, "gas") == dict.fromkeys(QUARTERS, 1000)
    assert values(rows, "other") == dict.fromkeys(QUARTERS, 100)
    emitted = 100 * 1400 + 900 * 412 + 30 * 1060 + 70 * 400
    assert [row.value for row in rows if row.metric == "carbon_estimate"] == [round(emitted / 6100, 2)] * 4


def test_an_interval_of_which_a_sum_lacks_a_type_has_no_estimate():
    others = [generation(kind, [900] * 4) for kind in ("B04", "B14", "B16")]
    rows = read(*others, generation("B11", [500] * 4), generation("B12", {1: 40, 3: 41}, curve="A01"))
    assert set(values(rows, "hydro")) == {QUARTERS[0], QUARTERS[2]}
    assert {row.ts for row in rows if row.metric == "carbon_estimate"} == {QUARTERS[0], QUARTERS[2]}
    assert rows.refused["DE-LU", "carbon_estimate"] == {QUARTERS[1], QUARTERS[3]}


def test_trap_12_a_response_of_one_type_gives_the_rows_of_that_type_alone():
    rows = read(generation("B01", [4400] * 4))
    assert [(row.fuel, row.value) for row in rows] == [("biomass", 4400)] * 4


def test_no_request_filters_by_type():
    for request in MIX.requests(market_days(date(2026, 11, 1), date(2026, 11, 20), MIX.tz), instant(START)):
        assert set(dict(request.params)) == {"documentType", "processType", "in_Domain", "periodStart", "periodEnd"}


def test_a_type_that_is_stated_twice_with_different_values_has_no_sum():
    rows = read(
        generation("B11", [10, 11, 12, 13]), generation("B11", {2: 99}, curve="A01"), generation("B12", [1] * 4)
    )
    assert set(values(rows, "hydro")) == {QUARTERS[0], QUARTERS[2], QUARTERS[3]}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(generation("", [1] * 4), id="no psrType"),
        pytest.param(generation("B04", [1] * 4, zone="FR"), id="another zone"),
        pytest.param(generation("B04", [1] * 4).replace("MAW", "KWT"), id="another unit"),
        pytest.param(generation("B04", [1] * 4).replace("inBiddingZone", "controlArea"), id="neither side"),
        pytest.param(generation("B99", [1] * 4), id="only an unknown type"),
    ],
)
def test_what_is_no_mix_of_the_zone_is_a_changed_feed(part):
    with pytest.raises(FeedChanged):
        read(part)


def test_france_has_its_mix_from_another_publisher():
    assert "FR" not in MIX_ZONES
    with pytest.raises(FeedChanged, match="FR"):
        read(generation("B14", [1] * 4, zone="FR"), zone="FR")


HEADER = (
    "DateTime(UTC)\tResolutionCode\tAreaCode\tAreaDisplayName\tAreaTypeCode\tAreaMapCode\tProductionType\t"
    "ActualGenerationOutput[MW]\tActualConsumption[MW]\tUpdateTime(UTC)"
)


def line(kind, output, consumption="0", kinds="BZN", zone="AT", update="2026-11-20 03:00:00", at="23:00"):
    area = f"{EIC[zone]}\t{zone}\t{kinds}\t{zone}"
    return f"2026-11-19 {at}:00\tPT15M\t{area}\t{kind}\t{output}\t{consumption}\t{update}"


def library(*lines, header=HEADER):
    body = "\r\n".join([header, *lines, ""]).encode()
    return LIBRARY.parse(body, Request(LIBRARY.id, ""))


def test_the_library_has_every_type_of_the_web_api_by_name():
    assert set(PRODUCTION_TYPES.values()) == set(FUELS)


def test_the_library_states_output_and_consumption_in_one_row():
    rows = library(
        line("Hydro Pumped Storage", "12.5", "700.25"),
        line("Energy storage", "", "30"),
        line("Fossil Gas", "900", "12"),
        line("Fossil Coal-derived gas", "40.5", ""),
        line("Solar", "", ""),
    )
    assert {(row.fuel, row.ts, row.value) for row in rows} == {
        ("pumped_storage", QUARTERS[0], -687.75),
        ("battery", QUARTERS[0], -30),
        ("gas", QUARTERS[0], 940.5),
    }
    assert rows.dropped == {"consumption of B04, own use": 1}


def test_the_library_counts_rows_of_the_zone_alone_and_the_newest_update():
    rows = library(
        line("Nuclear", "1", kinds="CTA"),
        line("Nuclear", "2", kinds="BZN/CTA/CTY", update="2026-11-20 05:00:00"),
        line("Nuclear", "3", update="2026-11-20 04:00:00"),
        line("Nuclear", "4", zone="FR"),
    )
    assert [(row.zone, row.value) for row in rows] == [("AT", 2)]


def test_the_library_loses_an_unknown_type_alone():
    rows = library(line("Nuclear", "1"), line("Fusion", "500"))
    assert [row.fuel for row in rows] == ["nuclear"]
    assert [(member.zone, member.name) for member in rows.unknown] == [("AT", "production type 'Fusion'")]
