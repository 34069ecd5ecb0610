"""AEMO's monthly files of price and demand, and its dashboard."""

from __future__ import annotations

import json

import pytest

from tests.sources.aemo_reports import DASHBOARD, MONTHLY, START, read, values
from warehouse.market.clock import instant

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
