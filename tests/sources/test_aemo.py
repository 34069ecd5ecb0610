"""AEMO: tables by their latest header, interval ends in UTC+10, signs, interventions, footers, zips, addresses."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date

import pytest

from assets import sources
from assets.sources.aemo import SOURCE
from warehouse import clock
from warehouse.clock import MarketDay, instant, market_days
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import Request

DISPATCH, TRADING = sources.feed("aemo.dispatch"), sources.feed("aemo.trading")
DASHBOARD, MONTHLY = sources.feed("aemo.five_minute"), sources.feed("aemo.price_and_demand")
NOON = "2026/11/20 12:00:00"
"""An interval's end in market time: it starts at 01:55Z."""
START = instant("2026-11-20T01:55:00Z")

PRICE = "I,DISPATCH,PRICE,5,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,RRP,LASTCHANGED"
REGION = "I,DISPATCH,REGIONSUM,9,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,TOTALDEMAND,NETINTERCHANGE"
TIE = "I,DISPATCH,INTERCONNECTORRES,3,SETTLEMENTDATE,RUNNO,INTERCONNECTORID,INTERVENTION,METEREDMWFLOW,MWFLOW"


def price(region, value, stamp=NOON, intervention=0, version=5):
    return f'D,DISPATCH,PRICE,{version},"{stamp}",1,{region},{intervention},{value},"{stamp}"'


def tie(name, flow, stamp=NOON):
    return f"D,DISPATCH,INTERCONNECTORRES,3,{stamp},1,{name},0,1.5,{flow}"


def report(*lines, name="DISPATCHIS", count=None):
    count = len(lines) + 2 if count is None else count
    first, last = f"C,NEMP.WORLD,{name},AEMO,PUBLIC,2026/11/20,11:55:11,1,{name},1", f'C,"END OF REPORT",{count}'
    return "\r\n".join([first, *lines, last, ""]).encode()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def read(feed, body, zone=None):
    return feed.parse(body, Request(feed.id, "", zone=zone))


def values(rows):
    return {(r.zone, r.metric, r.ts): r.value for r in rows if r.counterparty is None}


@pytest.mark.parametrize(
    "file",
    [
        "PRICE_AND_DEMAND_202608_NSW1_slice.csv",
        "PUBLIC_DISPATCH_202403151945_20240315194011_LEGACY.zip",
        "PUBLIC_TRADINGIS_202308301800_0000000395916754.zip",
        "mmsdm_DISPATCHINTERCONNECTORRES_2026-04_filtered.zip",
        "mmsdm_DISPATCHPRICE_2026-04_filtered.zip",
        "mmsdm_DISPATCHREGIONSUM_2026-04_filtered.zip",
        "visualisations_5MIN_2021-10-06.json",
    ],
)
def test_recorded_answers_give_their_expected_rows(file, parsed, expected, stated):
    assert stated(parsed(f"aemo/{file}")) == expected(f"aemo/{file}")


def test_a_recorded_report_gives_each_tie_a_row_on_both_sides(parsed):
    rows = parsed("aemo/PUBLIC_DISPATCH_202403151945_20240315194011_LEGACY.zip")
    ties = {(r.zone, r.link): r.value for r in rows if r.counterparty}
    assert len(ties) == 12
    assert ties["AU-TAS", "au-tas-vic-basslink"] == -ties["AU-VIC", "au-tas-vic-basslink"]
    tasmania = next(
        r.value for r in rows if r.zone == "AU-TAS" and r.metric == "interchange" and r.counterparty is None
    )
    assert tasmania == pytest.approx(ties["AU-TAS", "au-tas-vic-basslink"], abs=1)


def test_stamps_are_interval_ends_in_market_time_in_summer_too():
    rows = read(DISPATCH, report(PRICE, price("NSW1", 81.5)))
    assert values(rows) == {("AU-NSW", "price", START): 81.5}
    assert {(r.unit, r.resolution) for r in rows} == {("AUD/MWh", "5m")}


def test_columns_are_found_by_the_latest_header_of_the_table():
    moved = "I,DISPATCH,PRICE,6,INTERVENTION,RRP,REGIONID,SETTLEMENTDATE"
    body = report(PRICE, price("NSW1", 81.5), moved, f"D,DISPATCH,PRICE,6,0,-1000,SA1,{NOON}")
    assert values(read(DISPATCH, body)) == {("AU-NSW", "price", START): 81.5, ("AU-SA", "price", START): -1000.0}


def test_tables_may_be_interleaved_and_others_are_passed_over():
    body = report(
        PRICE,
        REGION,
        "I,DISPATCH,CONSTRAINT,3,SETTLEMENTDATE,RHS",
        price("QLD1", 60),
        f'D,DISPATCH,CONSTRAINT,3,"{NOON}",five',
        f"D,DISPATCH,REGIONSUM,9,{NOON},1,QLD1,0,7000.5,-120.25",
        price("VIC1", 61),
    )
    assert values(read(DISPATCH, body)) == {
        ("AU-QLD", "price", START): 60.0,
        ("AU-VIC", "price", START): 61.0,
        ("AU-QLD", "demand", START): 7000.5,
        ("AU-QLD", "interchange", START): 120.25,
    }


def test_the_second_name_may_be_empty():
    body = report(
        "I,DREGION,,3,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,RRP,TOTALDEMAND,NETINTERCHANGE",
        f'D,DREGION,,3,"{NOON}",1,TAS1,0,55.1,1200,441',
        name="DISPATCH",
    )
    assert values(read(DISPATCH, body)) == {
        ("AU-TAS", "price", START): 55.1,
        ("AU-TAS", "demand", START): 1200.0,
        ("AU-TAS", "interchange", START): -441.0,
    }


def test_positive_net_interchange_is_export():
    rows = read(DISPATCH, report(REGION, f"D,DISPATCH,REGIONSUM,9,{NOON},1,NSW1,0,8025.43,268.61"))
    assert values(rows) == {("AU-NSW", "demand", START): 8025.43, ("AU-NSW", "interchange", START): -268.61}


def test_a_balanced_region_has_no_negative_zero():
    (row,) = read(DISPATCH, report(REGION, f"D,DISPATCH,REGIONSUM,9,{NOON},1,NSW1,0,,0"))
    assert str(row.value) == "0.0"


def test_a_tie_runs_from_its_first_region_to_its_second():
    rows = read(DISPATCH, report(TIE, tie("VIC1-NSW1", 300.5)))
    assert {(r.zone, r.counterparty, r.link, r.value) for r in rows} == {
        ("AU-NSW", "AU-VIC", "au-vic-nsw-vni", 300.5),
        ("AU-VIC", "AU-NSW", "au-vic-nsw-vni", -300.5),
    }


def test_an_unknown_interconnector_is_counted_and_its_fellows_stay():
    rows = read(DISPATCH, report(TIE, tie("PEC", 100), tie("V-SA", -50)))
    assert rows.dropped == {"interconnector PEC": 1}
    assert {(r.zone, r.value) for r in rows} == {("AU-SA", -50.0), ("AU-VIC", 50.0)}


def test_intervention_runs_are_dropped_and_counted():
    rows = read(DISPATCH, report(PRICE, price("SA1", 90), price("SA1", 300, intervention=1)))
    assert values(rows) == {("AU-SA", "price", START): 90.0}
    assert rows.dropped == {"intervention run": 1}


def test_an_intervention_settles_at_the_pricing_run_and_flows_as_its_own_run_says():
    later = "2026/11/20 12:05:00"
    rows = read(
        DISPATCH,
        report(
            REGION,
            f"D,DISPATCH,REGIONSUM,9,{NOON},1,SA1,0,1500,-100",
            f"D,DISPATCH,REGIONSUM,9,{NOON},1,SA1,1,1510,-240",
            f"D,DISPATCH,REGIONSUM,9,{later},1,SA1,0,1520,-90",
            TIE,
            tie("V-SA", 100),
            tie("V-SA", 240).replace(",0,1.5,", ",1,100,"),
            tie("V-SA", 90, later),
        ),
    )
    assert values(rows) == {
        ("AU-SA", "demand", START): 1500.0,
        ("AU-SA", "demand", START + 300): 1520.0,
        ("AU-SA", "interchange", START): 240.0,
        ("AU-SA", "interchange", START + 300): 90.0,
    }
    assert {(r.ts, r.value) for r in rows if r.counterparty == "AU-VIC"} == {(START, 240.0), (START + 300, 90.0)}
    assert rows.dropped == {"intervention run": 1, "pricing run of an intervention": 2}


def test_an_empty_cell_is_no_row():
    rows = read(DISPATCH, report(REGION, f"D,DISPATCH,REGIONSUM,9,{NOON},1,SA1,0,,12"))
    assert [r.metric for r in rows] == ["interchange"]


def test_readings_off_the_five_minute_grid_are_dropped_and_counted():
    rows = read(DISPATCH, report(PRICE, price("SA1", 90), price("SA1", 91, "2026/11/20 12:01:00")))
    assert len(rows) == 1
    assert rows.dropped == {"off the grid": 1}


def test_the_region_abolished_in_2008_is_left_out():
    rows = read(DISPATCH, report(PRICE, price("SNOWY1", 20), price("SA1", 90)))
    assert list(values(rows)) == [("AU-SA", "price", START)]


def test_trading_was_half_hourly_until_october_2021():
    header = "I,TRADING,PRICE,2,SETTLEMENTDATE,RUNNO,REGIONID,PERIODID,RRP"
    body = report(
        header,
        *(
            f"D,TRADING,PRICE,2,{stamp},1,NSW1,1,{rrp}"
            for stamp, rrp in (("2021/09/30 23:30:00", 40), ("2021/10/01 00:00:00", 41), ("2021/10/01 00:05:00", 42))
        ),
        name="TRADINGIS",
    )
    assert [(r.ts, r.value, r.resolution) for r in read(TRADING, body).sorted()] == [
        (instant("2021-09-30T13:00:00Z"), 40.0, "30m"),
        (instant("2021-09-30T13:30:00Z"), 41.0, "30m"),
        (instant("2021-09-30T14:00:00Z"), 42.0, "5m"),
    ]


def test_one_report_is_not_taken_for_the_other(recordings):
    trading = (recordings / "aemo/PUBLIC_TRADINGIS_202308301800_0000000395916754.zip").read_bytes()
    dispatch = (recordings / "aemo/PUBLIC_DISPATCH_202403151945_20240315194011_LEGACY.zip").read_bytes()
    scada = report("I,DISPATCH,UNIT_SCADA,1,SETTLEMENTDATE,DUID,SCADAVALUE")
    for feed, body in ((DISPATCH, trading), (TRADING, dispatch), (DISPATCH, scada)):
        with pytest.raises(FeedChanged, match="none of the tables"):
            read(feed, body)


def test_a_zip_of_zips_gives_the_rows_of_all():
    second = report(PRICE, price("NSW1", 82.5, "2026/11/20 12:05:00"))
    body = zipped(**{"1.zip": zipped(a=report(PRICE, price("NSW1", 81.5))), "2.zip": zipped(b=second)})
    assert values(read(DISPATCH, body)) == {("AU-NSW", "price", START): 81.5, ("AU-NSW", "price", START + 300): 82.5}


WHOLE = report(PRICE, price("NSW1", 81.5), price("SA1", 91.5), TIE, tie("V-SA", 3))


@pytest.mark.parametrize("cut", range(1, len(WHOLE) - 2, 7))
def test_a_report_cut_anywhere_is_refused(cut):
    with pytest.raises(FeedChanged):
        read(DISPATCH, WHOLE[:cut])


@pytest.mark.parametrize(
    "body",
    [
        report(PRICE, price("NSW1", 81.5), count=5),
        WHOLE.replace(b"\r\nI,DISPATCH,PRICE", b"\r\nI,DISPATCH,PRICES", 1),
        report(PRICE, price("NSW1", 81.5, version=6)),
        report(PRICE.replace("RRP", "RRP2"), price("NSW1", 81.5)),
        report(PRICE, price("NSW9", 81.5)),
        report(PRICE, price("NSW1", "81,5")).replace(b"81,5", b"8_1"),
        report(PRICE, price("NSW1", "n/a")),
        report(PRICE, price("NSW1", "inf")),
        report(PRICE, price("NSW1", 81.5, "2026/11/20 24:00:00")),
        report(PRICE, price("NSW1", 81.5, "20/11/2026 12:00")),
        report(PRICE, price("NSW1", 81.5, intervention=2)),
        report(PRICE, "D,DISPATCH,PRICE,5,2026/11/20"),
        report("I,DISPATCH", price("NSW1", 81.5)),
        report(PRICE, "X,1,2,3"),
        b"<html><body>403 Forbidden</body></html>",
        b"PK\x03\x04 and no more",
        zipped(),
        zipped(a=b"REGION,SETTLEMENTDATE\r\n"),
    ],
)
def test_what_is_no_dispatch_report_fails_by_type(body):
    with pytest.raises(FeedChanged):
        read(DISPATCH, body)


@pytest.mark.parametrize("feed", SOURCE.feeds, ids=lambda feed: feed.id)
def test_an_empty_body_is_not_published(feed):
    with pytest.raises(NotPublished):
        read(feed, b"\r\n")


def test_monthly_archives_are_read_though_their_rows_were_filtered():
    body = WHOLE.replace(b"NEMP.WORLD,DISPATCHIS", b"SETP.WORLD,DVD_DISPATCHPRICE").replace(
        b'REPORT",7', b'REPORT",43203'
    )
    assert len(read(DISPATCH, body)) == 4
    with pytest.raises(FeedChanged):
        read(DISPATCH, body[: body.rindex(b"C,")])


# The monthly price and demand csv.

HEADER = "REGION,SETTLEMENTDATE,TOTALDEMAND,RRP,PERIODTYPE"


def monthly(*lines):
    return "\r\n".join([HEADER, *lines, ""]).encode()


def test_a_month_ends_with_the_first_midnight_of_the_next():
    rows = read(
        MONTHLY, monthly("SA1,2026/08/31 23:55:00,1500.5,86,TRADE", "SA1,2026/09/01 00:00:00,1499,80.70,TRADE"), "AU-SA"
    )
    assert {r.ts for r in rows} == {instant("2026-08-31T13:50:00Z"), instant("2026-08-31T13:55:00Z")}


@pytest.mark.parametrize("stamp", ["1999/01/05 00:30:00", "1999/01/05 00:30", "05/01/1999 0:30", "5/1/1999 00:30:00"])
def test_old_months_are_half_hourly_and_write_dates_in_several_ways(stamp):
    rows = read(MONTHLY, monthly(f"NSW1,{stamp},6000,20.1,TRADE"))
    assert {(r.metric, r.ts, r.resolution) for r in rows} == {
        ("price", instant("1999-01-04T14:00:00Z"), "30m"),
        ("demand", instant("1999-01-04T14:00:00Z"), "30m"),
    }


def test_forecasts_in_the_monthly_file_are_left_out():
    rows = read(
        MONTHLY, monthly("SA1,2026/08/31 23:55:00,1500.5,86,TRADE", "SA1,2026/09/01 00:00:00,1499,80.70,FORECAST")
    )
    assert len(rows) == 2
    assert rows.dropped == {"forecast": 1}


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (monthly(), NotPublished),
        (monthly("SA1,2026/08/31 23:55:00,1500.5,86,TRADE")[:-8], FeedChanged),
        (monthly("SA1,2026/08/31 23:55:00,1500.5,86,TRADE")[:-20], FeedChanged),
        (monthly("SA1,2026/07/31 23:55:00,1500.5,86,TRADE", "SA1,2026/08/31 23:55:00,1500.5,86,TRADE"), FeedChanged),
        (monthly("NSW1,2026/08/31 23:55:00,1500.5,86,TRADE"), FeedChanged),
        (monthly("SA1,2026/08/31 23:55:00,1500.5,n/a,TRADE"), FeedChanged),
        (monthly("SA1,31.08.2026 23:55,1500.5,86,TRADE"), FeedChanged),
        (b"REGION,SETTLEMENTDATE,TOTALDEMAND,PRICE,PERIODTYPE\r\n", FeedChanged),
    ],
)
def test_what_is_no_month_of_that_region_fails_by_type(body, failure):
    with pytest.raises(failure):
        read(MONTHLY, body, "AU-SA")


# The dashboard.


def entry(**changes):
    return {
        "SETTLEMENTDATE": "2026-11-20T12:00:00",
        "REGIONID": "NSW1",
        "RRP": 0.0001,
        "TOTALDEMAND": 5768.91,
        "PERIODTYPE": "ACTUAL",
        "NETINTERCHANGE": -47.63,
        **changes,
    }


def test_the_dashboard_states_actuals_and_its_forecasts_are_left_out():
    rows = read(
        DASHBOARD,
        json.dumps(
            {"5MIN": [entry(), entry(PERIODTYPE="FORECAST", RRP=300), entry(REGIONID="SA1", RRP=None)]}
        ).encode(),
    )
    assert values(rows) == {
        ("AU-NSW", "price", START): 0.0001,
        ("AU-NSW", "demand", START): 5768.91,
        ("AU-NSW", "interchange", START): 47.63,
        ("AU-SA", "demand", START): 5768.91,
        ("AU-SA", "interchange", START): 47.63,
    }
    assert rows.dropped == {"forecast": 1}


@pytest.mark.parametrize(
    "document",
    [
        {"30MIN": []},
        {"5MIN": {}},
        {"5MIN": [entry(PERIODTYPE="TREND")]},
        {"5MIN": [entry(REGIONID="NZ1")]},
        {"5MIN": [entry(RRP="cheap")]},
        {"5MIN": [entry(SETTLEMENTDATE="2026-11-20T12:00:00+10:00")]},
        {"5MIN": [{"REGIONID": "NSW1"}]},
        {"5MIN": ["NSW1"]},
    ],
)
def test_what_is_no_dashboard_fails_by_type(document):
    with pytest.raises(FeedChanged):
        read(DASHBOARD, json.dumps(document).encode())


# Addresses of files.


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


def test_every_day_and_month_of_the_year_is_alike_in_market_time():
    for day in (date(2026, 4, 5), date(2026, 10, 4)):
        assert MarketDay(day, DISPATCH.tz).hours == 24
        assert len(ask(DISPATCH, day)) == 3


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


def test_the_dashboard_is_asked_once():
    (request,) = ask(DASHBOARD, date(2026, 11, 19), date(2026, 11, 20))
    assert (request.method, request.body) == ("POST", '{"timeScale":["30MIN"]}')
    assert request.url == "https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN"


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


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>503</body></html>",
        page("PUBLIC_DISPATCHIS_202611201200_0000000000000004.zip")[:-40],
        page(),
    ],
)
def test_what_is_no_listing_is_refused(body):
    with pytest.raises(FeedChanged):
        DISPATCH.follow(body, LISTING)


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


def test_files_lead_nowhere():
    assert DISPATCH.follow(WHOLE, Request(DISPATCH.id, "")) == []
