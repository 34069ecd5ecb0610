"""Test Australia's mix: signs, sums and stamps of units, unknown units, rooftop solar, file locations, the table."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from assets import sources
from assets.sources.__main__ import main
from assets.sources.aemo import units
from assets.sources.aemo.mix import NO_MIX
from assets.sources.aemo.units import Unit, encode, known_units, renew
from tests.sources.test_aemo import report, zipped
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import instant, market_days
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel

MIX = sources.feed("aemo.mix")
NOON = "2026/11/20 12:00:00"
START = instant("2026-11-20T01:55:00Z")
SCADA = "I,DISPATCH,UNIT_SCADA,1,SETTLEMENTDATE,DUID,SCADAVALUE"
ROOFTOP = "I,ROOFTOP,ACTUAL,2,INTERVAL_DATETIME,REGIONID,POWER,QI,TYPE,LASTCHANGED"


def unit(name, megawatts, stamp=NOON):
    return f'D,DISPATCH,UNIT_SCADA,1,"{stamp}",{name},{megawatts}'


def roof(region, megawatts, kind="MEASUREMENT", stamp=NOON):
    return f'D,ROOFTOP,ACTUAL,2,"{stamp}",{region},{megawatts},1,{kind},"{stamp}"'


def read(*lines):
    return MIX.parse(report(*lines), Request(MIX.id, ""))


def values(rows):
    return {(row.zone, row.fuel, row.ts): row.value for row in rows}


def test_a_reading_belongs_to_the_start_of_the_interval_and_loads_are_turned():
    rows = read(SCADA, unit("BW01", 400.5), unit("SNOWYP", 150), unit("HPRG1", 0), unit("HPRL1", 30.25))
    assert values(rows) == {
        ("AU-NSW", "coal", START): 400.5,
        ("AU-NSW", "pumped_storage", START): -150,
        ("AU-SA", "battery", START): -30.25,
    }
    assert {(row.unit, row.resolution) for row in rows} == {("MW", "5m")}


def test_units_of_a_region_and_fuel_are_added_up_and_a_negative_sum_stays():
    rows = read(SCADA, unit("BW01", 400.1), unit("BW02", 0.2), unit("CALL_B_1", 7), unit("ERGT01", -0.206753))
    assert values(rows) == {
        ("AU-NSW", "coal", START): 400.3,
        ("AU-QLD", "coal", START): 7,
        ("AU-NSW", "oil", START): -0.206753,
    }


def test_a_unit_stated_twice_counts_once_and_one_with_two_values_or_none_costs_its_sum():
    rows = read(
        *(SCADA, unit("BW01", 400), unit("BW01", 400), unit("BW02", 5)),
        *(unit("CALL_B_1", 7), unit("CALL_B_1", 8), unit("CALL_B_2", 9)),
        *(unit("LYA1", ""), unit("LYA2", 500)),
    )
    assert values(rows) == {("AU-NSW", "coal", START): 405}
    assert rows.dropped == {"sum without all its parts": 2}


def test_a_month_of_intervals_is_read_at_once():
    stamps = ("2026/11/20 12:00:00", "2026/11/20 12:05:00")
    rows = read(SCADA, *(unit(name, mw, stamp) for stamp in stamps for name, mw in (("BW01", 400), ("BW02", 10))))
    assert values(rows) == {("AU-NSW", "coal", START): 410, ("AU-NSW", "coal", START + 300): 410}


def test_stamps_off_the_five_minutes_are_counted():
    assert read(SCADA, unit("BW01", 1), unit("BW01", 2, "2026/11/20 12:01:00")).dropped == {"off the grid": 1}


def test_unknown_units_of_two_per_cent_lose_their_own_readings_alone():
    rows = read(SCADA, unit("BW01", 98), unit("NEW1", -2))
    assert values(rows) == {("AU-NSW", "coal", START): 98}
    assert rows.dropped == {"reading of a unit that the table of units lacks": 1}
    assert not rows.unknown


def test_unknown_units_of_more_cost_the_interval_its_rows_in_all_regions_and_are_named():
    later = "2026/11/20 12:05:00"
    rows = read(
        *(SCADA, unit("BW01", 97.9), unit("BASTYAN", 0), unit("NEW1", -2), unit("NEW2", 0.1)),
        *(unit("BW01", 97.9, later), unit("BASTYAN", 1, later), unit("NEW1", 0, later)),
    )
    assert values(rows) == {("AU-NSW", "coal", START + 300): 97.9, ("AU-TAS", "hydro", START + 300): 1}
    assert {(member.zone, member.metric, member.name) for member in rows.unknown} == {
        ("", "mix", name) for name in (NO_MIX, "unit 'NEW1'", "unit 'NEW2'")
    }
    assert set(map(tuple, rows.unknown.values())) == {(START,)}


def test_a_file_whose_units_are_all_unknown_has_no_row_and_is_no_failure():
    rows = read(SCADA, *(unit(f"NEW{number}", number) for number in range(9)))
    assert not len(rows)
    assert sorted(member.name for member in rows.unknown if member.name != NO_MIX) == [
        f"unit 'NEW{number}'" for number in (4, 5, 6, 7, 8)
    ]


def test_rooftop_solar_is_measured_by_half_hours_that_end_at_the_stamp_and_parts_of_regions_are_left_out():
    rows = read(
        *(ROOFTOP, roof("NSW1", 2810.045), roof("QLD1", 12.434), roof("QLDC", 0.18), roof("QLDN", 12.17)),
        *(roof("TASS", 3), roof("NSW1", 2655, "SATELLITE"), roof("SA1", "")),
    )
    assert values(rows) == {
        ("AU-NSW", "solar_rooftop", START - 1500): 2810.045,
        ("AU-QLD", "solar_rooftop", START - 1500): 12.434,
    }
    assert {row.resolution for row in rows} == {"30m"}


def test_the_monthly_archive_has_the_columns_of_rooftop_solar_in_another_order():
    header = "I,ROOFTOP,ACTUAL,2,INTERVAL_DATETIME,REGIONID,POWER,LASTCHANGED,TYPE,QI"
    rows = read(header, f"D,ROOFTOP,ACTUAL,2,{NOON},VIC1,5.5,{NOON},MEASUREMENT,1")
    assert values(rows) == {("AU-VIC", "solar_rooftop", START - 1500): 5.5}


def test_an_unknown_region_of_rooftop_solar_loses_its_own_rows():
    rows = read(ROOFTOP, roof("NSW1", 1), roof("WA1", 2))
    assert len(rows) == 1
    assert [member.name for member in rows.unknown] == ["region 'WA1'"]
    with pytest.raises(FeedChanged, match="WA1"):
        read(ROOFTOP, roof("WA1", 2))


def test_a_file_without_readings_is_not_published():
    with pytest.raises(NotPublished):
        read(SCADA)


NOW = instant("2026-11-20T03:00:00Z")


def asked(first, last):
    """Return the path and number of days of each request at noon of 20 November, market time."""
    requests = MIX.requests(market_days(date.fromisoformat(first), date.fromisoformat(last), MIX.tz), NOW)
    return {(request.url.removeprefix("https://nemweb.com.au/"), len(request.days)) for request in requests}


def test_recent_days_are_listed_then_bundled_then_in_the_monthly_archive():
    assert asked("2026-11-19", "2026-11-20") == {
        ("Reports/Current/Dispatch_SCADA/", 2),
        ("Reports/Current/ROOFTOP_PV/ACTUAL/", 2),
    }
    assert asked("2026-11-07", "2026-11-08") == {
        ("Reports/ARCHIVE/Dispatch_SCADA/PUBLIC_DISPATCHSCADA_20261107.zip", 1),
        ("Reports/ARCHIVE/Dispatch_SCADA/PUBLIC_DISPATCHSCADA_20261108.zip", 1),
        ("Reports/ARCHIVE/ROOFTOP_PV/ACTUAL/", 1),
        ("Reports/Current/ROOFTOP_PV/ACTUAL/", 1),
    }
    archive = "Data_Archive/Wholesale_Electricity/MMSDM/2026/MMSDM_2026_09/MMSDM_Historical_Data_SQLLoader/DATA"
    assert asked("2026-09-01", "2026-09-30") == {
        (f"{archive}/PUBLIC_ARCHIVE%2523{table}%2523FILE01%2523202609010000.zip", 30)
        for table in ("DISPATCH_UNIT_SCADA", "ROOFTOP_PV_ACTUAL")
    }


def followed(place, names, *days):
    """Return the part, the days and the `once` mark of each file that a listing leads to."""
    url = f"https://nemweb.com.au/Reports/{place}/"
    page = "".join(f'<A HREF="/Reports/{place}/{name}">{name}</A><br>' for name in names)
    request = Request(MIX.id, url, days=tuple(map(date.fromisoformat, days)), kind="listing")
    files = MIX.follow(f"<html><body>{page}</body></html>".encode(), request)
    assert all(file.url == f"{url}{file.part}.zip" for file in files)
    return {(file.part, tuple(map(str, file.days)), file.once) for file in files}


MEASURED = "PUBLIC_ROOFTOP_PV_ACTUAL_MEASUREMENT"


def test_a_file_of_rooftop_solar_is_named_half_an_hour_after_its_end():
    names = [
        *(f"{MEASURED}_20261120003000_0000000528917241.zip", f"{MEASURED}_20261120010000_0000000528917242.zip"),
        *(f"{MEASURED}_20261120010000_0000000528917243.zip", f"{MEASURED}_20261121003000_0000000528917244.zip"),
        "PUBLIC_ROOFTOP_PV_ACTUAL_SATELLITE_20261120010000_0000000528917245.zip",
    ]
    assert followed("Current/ROOFTOP_PV/ACTUAL", names, "2026-11-20") == {
        (names[2][:-4], ("2026-11-20",), True),
        (names[3][:-4], ("2026-11-20",), True),
    }


def test_the_bundles_on_both_sides_of_a_day_are_read():
    names = [f"{MEASURED}_{day}.zip" for day in ("20261015", "20261022", "20261029", "20261105")]
    assert followed("ARCHIVE/ROOFTOP_PV/ACTUAL", names, "2026-10-27", "2026-10-28") == {
        (names[1][:-4], ("2026-10-27", "2026-10-28"), False),
        (names[2][:-4], ("2026-10-27", "2026-10-28"), False),
    }


def test_another_page_is_no_listing_of_rooftop_solar():
    with pytest.raises(FeedChanged, match="not a listing"):
        followed("Current/ROOFTOP_PV/ACTUAL", ["PUBLIC_DISPATCHSCADA_202611201200_0000000528917241.zip"], "2026-11-20")


def test_scada_files_and_rooftop_solar_may_stand_in_one_bundle():
    body = zipped(
        **{
            "PUBLIC_DISPATCHSCADA_202611201200_0000000000000001.CSV": report(SCADA, unit("BW01", 1)),
            f"{MEASURED}_20261120123000_0000000000000002.CSV": report(ROOFTOP, roof("NSW1", 2)),
        }
    )
    assert len(MIX.parse(body, Request(MIX.id, ""))) == 2


LISTED = "I,CO2EII,PUBLISHING,1,STATIONNAME,DUID,GENSETID,REGIONID,CO2E_EMISSIONS_FACTOR,CO2E_ENERGY_SOURCE"


def listed(duid, region, source, name="STATION"):
    return f'D,CO2EII,PUBLISHING,1,"{name}",{duid},{duid},{region},0.5,"{source}"'


def test_a_list_of_generators_adds_units_and_changes_none():
    known = {"BW01": Unit("NSW1", Fuel.COAL, False)}
    renewal = renew(
        known,
        report(
            *(
                LISTED,
                listed("BW01", "NSW1", "Brown coal"),
                listed("HAUGHT11", "QLD1", "Solar", "Haughton, Units 1-81"),
            ),
            *(
                listed("MURRAY", "NSW1", "Water"),
                listed("MURRAY", "NSW1", "Water"),
                listed("WAUBL1", "SA1", "Battery Storage"),
            ),
            *(listed("WAUB1", "SA1", "Battery storage"), listed("PUMP9", "QLD1", "Hydro"), listed("", "QLD1", "Solar")),
            *(listed("FUSION1", "VIC1", "Fusion"), listed("WEST1", "WA1", "Solar")),
            *(listed("TWICE1", "VIC1", "Solar"), listed("TWICE1", "VIC1", "Wind")),
            name="CO2EII_AVAILABLE_GENERATORS_WEB",
        ),
    )
    assert renewal.units == known | {
        "HAUGHT11": Unit("QLD1", Fuel.SOLAR, False),
        "MURRAY": Unit("NSW1", Fuel.HYDRO, False),
        "PUMP9": Unit("QLD1", Fuel.PUMPED_STORAGE, True),
        "WAUB1": Unit("SA1", Fuel.BATTERY, False),
        "WAUBL1": Unit("SA1", Fuel.BATTERY, True),
    }
    assert renewal.added == ("HAUGHT11", "MURRAY", "PUMP9", "WAUB1", "WAUBL1")
    assert renewal.notes == (
        "FUSION1 is left out: region 'VIC1', energy source 'Fusion'",
        "WEST1 is left out: region 'WA1', energy source 'Solar'",
        "BW01 stays NSW1 coal, not NSW1 lignite",
        "TWICE1 is left out: the list gives it several regions or fuels",
    )


def test_another_list_or_half_of_one_adds_nothing():
    summary = "I,CO2EII,PUBLISHING,1,CONTRACTYEAR,WEEKNO,SETTLEMENTDATE,REGIONID,TOTAL_SENT_OUT_ENERGY"
    for body in (report(summary), report(LISTED, listed("A1", "NSW1", "Solar"), count=9)):
        with pytest.raises(FeedChanged):
            renew({}, body)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Yield a copy of the shipped table, which the command changes."""
    copy = tmp_path / "units.csv"
    copy.write_text(units.TABLE.read_text())
    monkeypatch.setattr(units, "TABLE", copy)
    known_units.cache_clear()
    yield copy
    monkeypatch.undo()
    known_units.cache_clear()


def test_the_command_adds_units_of_which_the_next_file_has_rows(table, tmp_path, capsys):
    body = report(SCADA, unit("BW01", 1), unit("NEWSF1", 50))
    assert not len(MIX.parse(body, Request(MIX.id, "")))
    file = tmp_path / "CO2EII_AVAILABLE_GENERATORS.CSV"
    file.write_bytes(report(LISTED, listed("NEWSF1", "QLD1", "Solar"), listed("WAUBL1", "SA1", "Battery Storage")))
    before = len(known_units())
    assert main(["units", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NEWSF1 QLD1 solar",
        "WAUBL1 SA1 battery, a load",
        f"2 units added, {before + 2} in the table",
    ]
    known_units.cache_clear()
    assert values(MIX.parse(body, Request(MIX.id, ""))) == {
        ("AU-NSW", "coal", START): 1,
        ("AU-QLD", "solar", START): 50,
    }
    assert "WAUBL1,SA1,-battery\n" in table.read_text()


def test_the_command_refuses_another_file_and_leaves_the_table(table, tmp_path, capsys):
    file, before = tmp_path / "other.csv", table.read_text()
    file.write_text("DUID,REGIONID\n")
    assert main(["units", str(file)]) == 2
    assert capsys.readouterr().err.startswith("FeedChanged: ")
    assert table.read_text() == before


def test_the_shipped_table_is_as_the_command_writes_it():
    assert units.TABLE.read_text() == encode(known_units())
    assert {known.region for known in known_units().values()} == {"NSW1", "QLD1", "SA1", "TAS1", "VIC1"}
