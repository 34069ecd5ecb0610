"""Test AEMO: tables by their latest header, interventions, bundles, monthly files, the dashboard, file locations."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import clock
from warehouse.market.clock import instant, market_days
from warehouse.market.feeds import Request

DISPATCH = sources.feed("aemo.dispatch")
DASHBOARD, MONTHLY = sources.feed("aemo.five_minute"), sources.feed("aemo.price_and_demand")
NOON = "2026/11/20 12:00:00"
"""The end of an interval in market time; the interval starts at 01:55Z."""
START = instant("2026-11-20T01:55:00Z")

PRICE = "I,DISPATCH,PRICE,5,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,RRP,LASTCHANGED"
REGION = "I,DISPATCH,REGIONSUM,9,SETTLEMENTDATE,RUNNO,REGIONID,INTERVENTION,TOTALDEMAND,NETINTERCHANGE"
TIE = "I,DISPATCH,INTERCONNECTORRES,3,SETTLEMENTDATE,RUNNO,INTERCONNECTORID,INTERVENTION,METEREDMWFLOW,MWFLOW"


def price(region, value, stamp=NOON, intervention=0, version=5):
    return f'D,DISPATCH,PRICE,{version},"{stamp}",1,{region},{intervention},{value},"{stamp}"'


def tie(name, flow, stamp=NOON):
    return f"D,DISPATCH,INTERCONNECTORRES,3,{stamp},1,{name},0,1.5,{flow}"


def report(*lines, name="DISPATCHIS", count=None):
    """Return a report with its first and last line; `count` overrides the number of lines in the last one."""
    count = len(lines) + 2 if count is None else count
    first, last = f"C,NEMP.WORLD,{name},AEMO,PUBLIC,2026/11/20,11:55:11,1,{name},1", f'C,"END OF REPORT",{count}'
    return "\r\n".join([first, *lines, last, ""]).encode()


def zipped(**members):
    """Return a zip of the members, by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def read(feed, body, zone=None):
    return feed.parse(body, Request(feed.id, "", zone=zone))


def values(rows):
    """Return values by zone, metric and time, without borders."""
    return {(r.zone, r.metric, r.ts): r.value for r in rows if r.counterparty is None}


WHOLE = report(PRICE, price("NSW1", 81.5), price("SA1", 91.5), TIE, tie("V-SA", 3))


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


def test_of_two_reports_of_one_interval_in_a_bundle_the_newer_counts():
    names = [f"PUBLIC_DISPATCHIS_202611201200_000000000000000{number}.CSV" for number in (1, 2)]
    reports = [report(PRICE, price("NSW1", figure)) for figure in (81.5, 70.25)]
    for order in (1, -1):
        members = dict(list(zip(names, reports, strict=True))[::order])
        nested = {f"{at}.zip": zipped(**{name: members[name]}) for at, name in enumerate(members)}
        for body in (zipped(**members), zipped(**nested)):
            assert [r.value for r in read(DISPATCH, body)] == [70.25]


def test_an_empty_report_in_a_bundle_costs_no_other():
    whole = report(PRICE, price("NSW1", 81.5))
    names = [f"PUBLIC_DISPATCHIS_202611201200_000000000000000{number}.CSV" for number in (1, 2)]
    for empty in (b"", b"\xef\xbb\xbf\r\n"):
        for body in (zipped(a=whole, b=empty), zipped(**{names[0]: whole, names[1]: empty})):
            assert [r.value for r in read(DISPATCH, body)] == [81.5]
        with pytest.raises(NotPublished):
            read(DISPATCH, zipped(a=empty, b=empty))


def test_monthly_archives_are_read_though_their_rows_were_filtered():
    body = WHOLE.replace(b"NEMP.WORLD,DISPATCHIS", b"SETP.WORLD,DVD_DISPATCHPRICE").replace(
        b'REPORT",7', b'REPORT",43203'
    )
    assert len(read(DISPATCH, body)) == 4
    with pytest.raises(FeedChanged):
        read(DISPATCH, body[: body.rindex(b"C,")])


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


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """Set the time to noon of 20 November 2026 in market time."""
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T02:00:00Z")


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


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
