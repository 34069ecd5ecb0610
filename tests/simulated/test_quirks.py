"""Quirks of publishers that their twins keep, beside what `test_twins` holds of every feed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from importlib import import_module

import pytest
import xlrd

from assets.simulated import caiso, eia, elexon, energy_charts, isone, miso
from assets.simulated.miso.workbook import workbook
from assets.sources import feed
from assets.sources.caiso import HUB, OASIS
from assets.sources.elexon import BASE
from assets.sources.miso.requests import REPORTS
from warehouse.errors import FeedError, NotLicensed
from warehouse.market.clock import HOUR, MarketDay, instant, iso
from warehouse.market.market import Request
from warehouse.rows.schema import Row, Rows

Ask = Callable[..., tuple[Rows, list[tuple[Request, FeedError]]]]
Inside = Callable[..., list[Row]]
LATER = "2026-11-25T12:00:00Z"


def test_caisos_current_files_are_yesterdays_until_a_quarter_past_midnight(ask: Ask) -> None:
    day = MarketDay(date(2026, 11, 20), "America/Los_Angeles")
    for product in ("caiso.demand", "caiso.fuelsource"):
        rows, refused = ask(product, [day], iso(day.start + 14 * 60))
        assert (len(rows), str(refused[0][1])) == (0, "the file still holds yesterday")
        assert {r.ts for r in ask(product, [day], iso(day.start + 16 * 60))[0]} == {day.start, day.start + 300}
        assert len({r.ts for r in ask(product, [day.next(-1)], iso(day.start + 14 * 60))[0]}) == 288


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("1000", {"node": "NO_SUCH_NODE"}),
        ("1000", {"queryname": "PRC_RTPD_LMP"}),
        ("1000", {"startdatetime": "yesterday"}),
        ("1000", {"startdatetime": "20261125T08:00-0000", "enddatetime": "20261126T08:00-0000"}),
        ("1004", {"startdatetime": "20260901T07:00-0000"}),
        ("1000", {"startdatetime": "20230701T07:00-0000", "enddatetime": "20230702T07:00-0000"}),
    ],
)
def test_what_oasis_does_not_have_is_an_error_under_status_200(code: str, params: dict[str, str]) -> None:
    query = {
        "queryname": "PRC_LMP",
        "market_run_id": "DAM",
        "node": HUB,
        "startdatetime": "20261101T07:00-0000",
        "enddatetime": "20261102T08:00-0000",
        **params,
    }
    request = Request("caiso.lmp_da", OASIS, tuple(query.items()))
    answer = caiso.answer(request, instant("2026-11-20T12:00:00Z"))
    assert answer.status == 200
    with pytest.raises(FeedError, match=f"OASIS {code}"):
        feed("caiso.lmp_da").parse(answer.body, request)


def test_eias_hours_are_null_until_their_authority_reports(ask: Ask) -> None:
    day, now = MarketDay(date(2026, 11, 20), "UTC"), "2026-11-20T12:20:00Z"
    answer = eia.answer(feed("eia.demand").requests([day], instant(now))[0], instant(now))
    page = json.loads(answer.body)["response"]["data"]
    newest = {row["respondent"]: row["value"] for row in page if row["period"] == "2026-11-20T11"}
    assert newest["CISO"] is not None
    assert newest["SWPP"] is None
    rows, _ = ask("eia.demand", [day], now)
    assert max(r.ts for r in rows if r.zone == "US-CAISO") == instant("2026-11-20T10:00Z")
    assert max(r.ts for r in rows if r.zone == "US-SPP") == instant("2026-11-20T09:00Z")


def test_eias_long_answers_come_in_pages(ask: Ask, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [MarketDay(date(2026, 10, d), "UTC") for d in range(1, 4)]
    monkeypatch.setattr(eia, "PAGE", 300)
    assert len(inside(ask("eia.demand", days, LATER)[0], days[1], "demand", "US-ERCOT")) == 24


def test_seven_days_of_elexons_index_are_time_and_not_days() -> None:
    days = [MarketDay(date(2026, 10, number), "Europe/London") for number in range(19, 27)]
    longer = (("from", iso(days[0].start)), ("to", iso(days[6].end)))
    assert days[6].end - days[0].start == 7 * 86400 + 3600
    refused = elexon.answer(Request("elexon.price", f"{BASE}/balancing/pricing/market-index", longer), instant(LATER))
    assert refused.status == 400
    for request in feed("elexon.price").requests(days, instant(LATER)):
        assert elexon.answer(request, instant(LATER)).status == 200


@pytest.mark.parametrize("name", ["ES", "SE3"])
def test_energy_charts_names_the_licence_of_zones_that_are_not_free(name: str) -> None:
    params = (("bzn", name), ("start", "2026-11-18"), ("end", "2026-11-18"))
    answer = energy_charts.answer(
        Request("energy_charts.price", "https://api.energy-charts.info/price", params), instant(LATER)
    )
    with pytest.raises(NotLicensed):
        feed("energy_charts.price").parse(answer.body, Request("", "", zone="FR"))


def test_isones_first_hour_comes_as_an_object(ask: Ask) -> None:
    day = MarketDay(date(2026, 11, 20), "America/New_York")
    request = feed("isone.load").requests([day], day.start)[0]
    document = json.loads(isone.answer(request, day.start + HOUR + 1600).body)
    assert isinstance(document["HourlySystemLoads"]["HourlySystemLoad"], dict)
    assert len(ask("isone.load", [day], "2026-11-20T01:30:00-05:00")[0]) == 1 + 17


def test_misos_preliminary_prices_stay_four_days_and_everything_three_years() -> None:
    for file, now, status in (
        ("20261115_rt_lmp_prelim.csv", "2026-11-19T23:59:59-05:00", 200),
        ("20261115_rt_lmp_prelim.csv", "2026-11-20T00:00:00-05:00", 404),
        ("20230101_rt_lmp_final.csv", "2026-11-20T00:00:00-05:00", 200),
        ("20221231_rt_lmp_final.csv", "2026-11-20T00:00:00-05:00", 404),
    ):
        assert miso.answer(Request("miso.lmp_da", f"{REPORTS}/{file}"), instant(now)).status == status


@pytest.mark.parametrize("count", [1, 300, 9000])
def test_workbooks_of_any_size_open(count: int) -> None:
    rows = [[i, f"line {i}", None, date(2026, 3, 9)] for i in range(count)]
    sheet = xlrd.open_workbook(file_contents=workbook(rows)).sheet_by_index(0)
    assert sheet.nrows == count
    assert sheet.row_values(count - 1) == [count - 1, f"line {count - 1}", "", 46090.0]
    assert sheet.cell_type(count - 1, 3) == xlrd.XL_CELL_DATE


def test_new_york_has_stray_readings_on_some_days(ask: Ask) -> None:
    days = [MarketDay(date(2026, 9, d), "America/New_York") for d in range(1, 11)]
    for product in ("nyiso.load", "nyiso.flows", "nyiso.lbmp_rt"):
        counts = [ask(product, [day], LATER)[0].dropped["off the five-minute grid"] for day in days]
        assert 0 in counts
        assert any(counts)


def test_new_yorks_dark_meter_costs_the_sums_of_its_time_and_is_counted(ask: Ask, inside: Inside) -> None:
    day = MarketDay(date(2026, 8, 31), "America/New_York")
    rows, _ = ask("nyiso.load", [day], LATER)
    dark = range(day.start + 9 * 3600, day.start + 9 * 3600 + 5400)
    read = [r.ts for r in inside(rows, day, "demand", "US-NYISO")]
    assert read == [ts for ts in range(day.start, day.end, 300) if ts not in dark]
    assert rows.dropped["a zone at 0 MW: meter outage"] == 18


def test_spp_spells_its_prices_otherwise_from_day_to_day() -> None:
    answer = import_module("assets.simulated.spp").answer
    headers, stamps = set(), set()
    for number in range(1, 15):
        days = [MarketDay(date(2026, 9, number), "America/Chicago")]
        (request,) = feed("spp.lmp_da").requests(days, instant(LATER))
        header, line = answer(request, instant(LATER)).body.decode().splitlines()[:2]
        headers.add(header)
        stamps.add((line[0] == "0", line.split(",")[0].count(":")))
    assert len(headers) > 1
    assert len(stamps) > 1


@pytest.mark.parametrize(
    ("files", "api"),
    [
        ("entsoe_files.price", "entsoe.price"),
        ("entsoe_files.load", "entsoe.demand"),
        ("entsoe_files.flows", "entsoe.flows"),
    ],
)
@pytest.mark.parametrize("day", [date(2026, 11, 1), date(2026, 10, 25)])
def test_the_file_library_states_what_the_web_api_states(ask: Ask, files: str, api: str, day: date) -> None:
    """On a day that lies in two monthly files, and in autumn."""
    window = MarketDay(day, feed(files).tz).window
    by_files, by_api = (
        {row for row in ask(feed_id, [MarketDay(day, feed(feed_id).tz)], "2026-11-19T12:00:00Z")[0] if row.ts in window}
        for feed_id in (files, api)
    )
    assert by_files == by_api
    assert by_files
