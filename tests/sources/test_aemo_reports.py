"""AEMO's reports: tables by their latest header, interval ends in UTC+10, signs, interventions, footers, zips."""

from __future__ import annotations

import pytest

from tests.sources.aemo_reports import (
    DISPATCH,
    NOON,
    PRICE,
    REGION,
    START,
    TIE,
    TRADING,
    WHOLE,
    price,
    read,
    report,
    tie,
    values,
    zipped,
)
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import instant


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


def test_a_tie_runs_from_its_first_region_to_its_second():
    rows = read(DISPATCH, report(TIE, tie("VIC1-NSW1", 300.5)))
    assert {(r.zone, r.counterparty, r.link, r.value) for r in rows} == {
        ("AU-NSW", "AU-VIC", "au-vic-nsw-vni", 300.5),
        ("AU-VIC", "AU-NSW", "au-vic-nsw-vni", -300.5),
    }


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


def test_a_zip_of_zips_gives_the_rows_of_all():
    second = report(PRICE, price("NSW1", 82.5, "2026/11/20 12:05:00"))
    body = zipped(**{"1.zip": zipped(a=report(PRICE, price("NSW1", 81.5))), "2.zip": zipped(b=second)})
    assert values(read(DISPATCH, body)) == {("AU-NSW", "price", START): 81.5, ("AU-NSW", "price", START + 300): 82.5}


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
