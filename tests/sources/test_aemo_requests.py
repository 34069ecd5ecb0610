"""Where AEMO's files are looked for: listings, bundles of days, monthly archives."""

from __future__ import annotations

from datetime import date

import pytest

from tests.sources.aemo_reports import DISPATCH, MONTHLY, TRADING
from warehouse.market import clock
from warehouse.market.clock import market_days
from warehouse.market.market import Request


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """Noon of 20 November 2026 in market time."""
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T02:00:00Z")


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


@pytest.mark.parametrize("day", [date(2026, 11, 19), date(2026, 11, 20)])
def test_the_last_days_are_found_by_the_listing(day):
    (request,) = ask(DISPATCH, day)
    assert (request.url, request.kind) == ("https://nemweb.com.au/Reports/Current/DispatchIS_Reports/", "listing")
    assert request.days == (day,)


def test_days_before_are_bundled_and_months_before_are_tables():
    requests = ask(DISPATCH, date(2026, 10, 30), date(2026, 11, 20))
    assert [r.part for r in requests[:3]] == ["DISPATCHPRICE", "DISPATCHREGIONSUM", "DISPATCHINTERCONNECTORRES"]
    assert requests[0].days == (date(2026, 10, 30), date(2026, 10, 31))
    assert requests[3].url == "https://nemweb.com.au/Reports/ARCHIVE/DispatchIS_Reports/PUBLIC_DISPATCHIS_20261101.zip"
    assert [r.kind for r in requests].count("listing") == 1
    assert len(requests) == 3 + 18 + 1


def test_a_month_that_may_not_yet_be_archived_is_asked_for_by_day(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-10T02:00:00Z")
    assert len(ask(DISPATCH, date(2026, 10, 1), date(2026, 10, 31))) == 31


def test_the_monthly_archive_renamed_its_files_in_august_2024():
    archive = "https://nemweb.com.au/Data_Archive/Wholesale_Electricity/MMSDM"
    folder = "MMSDM_Historical_Data_SQLLoader/DATA"
    assert (
        ask(DISPATCH, date(2024, 7, 3))[0].url
        == f"{archive}/2024/MMSDM_2024_07/{folder}/PUBLIC_DVD_DISPATCHPRICE_202407010000.zip"
    )
    assert ask(DISPATCH, date(2024, 8, 3))[1].url == (
        f"{archive}/2024/MMSDM_2024_08/{folder}/PUBLIC_ARCHIVE%2523DISPATCHREGIONSUM%2523FILE01%2523202408010000.zip"
    )


def test_a_recorded_month_was_asked_for_as_we_do(recorded):
    assert [r.url for r in ask(DISPATCH, date(2026, 4, 1), date(2026, 4, 30))] == [
        recorded(f"aemo/mmsdm_{table}_2026-04_filtered.zip")["request_url"]
        for table in ("DISPATCHPRICE", "DISPATCHREGIONSUM", "DISPATCHINTERCONNECTORRES")
    ]


def test_trading_weeks_are_found_by_their_listing():
    requests = ask(TRADING, date(2026, 11, 3))
    assert [r.url for r in requests] == [
        "https://nemweb.com.au/Reports/ARCHIVE/TradingIS_Reports/",
        "https://nemweb.com.au/Reports/Current/TradingIS_Reports/",
    ]
    assert [r.part for r in ask(TRADING, date(2021, 10, 1))] == ["TRADINGPRICE"]


def test_a_month_of_price_and_demand_is_one_file_a_region(recorded):
    requests = ask(MONTHLY, date(2026, 8, 1), date(2026, 8, 31))
    assert len(requests) == 5
    assert requests[0].url == recorded("aemo/PRICE_AND_DEMAND_202608_NSW1_slice.csv")["request_url"]
    assert (requests[0].zone, len(requests[0].days)) == ("AU-NSW", 31)


def page(*names, href="/Reports/Current/DispatchIS_Reports/"):
    links = "<br>".join(f'<A HREF="{href}{name}">{name}</A>' for name in names)
    folder = f'<A HREF="{href}DUPLICATE/">DUPLICATE</A>'
    head = "<html><head><title>nemweb.com.au</title></head>"
    return f"{head}<body><pre>{folder}<br>{links}</pre></body></html>\r\n".encode()


LISTING = Request(
    "aemo.dispatch",
    "https://nemweb.com.au/Reports/Current/DispatchIS_Reports/",
    days=(date(2026, 11, 20),),
    kind="listing",
)


def test_of_a_listing_the_files_of_the_day_are_followed_the_newer_of_two():
    requests = DISPATCH.follow(
        page(
            "PUBLIC_DISPATCHIS_202611200000_0000000000000001.zip",
            "PUBLIC_DISPATCHIS_202611200005_0000000000000002.zip",
            "PUBLIC_DISPATCHIS_202611201200_0000000000000004.zip",
            "PUBLIC_DISPATCHIS_202611201200_0000000000000003.zip",
            "PUBLIC_DISPATCHIS_202611210000_0000000000000005.ZIP",
            "PUBLIC_DISPATCHIS_202611210005_0000000000000006.zip",
        ),
        LISTING,
    )
    assert [r.url.rsplit("/", 1)[1] for r in requests] == [
        "PUBLIC_DISPATCHIS_202611200005_0000000000000002.zip",
        "PUBLIC_DISPATCHIS_202611201200_0000000000000004.zip",
        "PUBLIC_DISPATCHIS_202611210000_0000000000000005.ZIP",
    ]
    assert {r.days for r in requests} == {(date(2026, 11, 20),)}
    assert {(r.kind, r.once) for r in requests} == {("rows", True)}


def test_files_are_asked_for_at_the_publisher_wherever_the_listing_points():
    (request,) = DISPATCH.follow(
        page("PUBLIC_DISPATCHIS_202611201200_0000000000000004.zip", href="http://elsewhere.example/"), LISTING
    )
    assert request.url == LISTING.url + "PUBLIC_DISPATCHIS_202611201200_0000000000000004.zip"


def test_the_recorded_listings_lead_to_their_files(recordings):
    page = (recordings / "aemo/dirlisting_DispatchIS_2021-11_browser-saved.html").read_bytes()
    day = Request(DISPATCH.id, LISTING.url, days=(date(2021, 11, 9),), kind="listing")
    assert len(DISPATCH.follow(page, day)) == 288
    page = (recordings / "aemo/dirlisting_TradingIS_ARCHIVE_2023-09.html").read_bytes()
    archive = "https://nemweb.com.au/Reports/ARCHIVE/TradingIS_Reports/"
    days = Request(TRADING.id, archive, days=(date(2023, 7, 29), date(2023, 7, 30)), kind="listing")
    assert [(r.part, r.days, r.once) for r in TRADING.follow(page, days)] == [
        ("PUBLIC_TRADINGIS_20230723_20230729", (date(2023, 7, 29),), False),
        ("PUBLIC_TRADINGIS_20230730_20230805", (date(2023, 7, 30),), False),
    ]
