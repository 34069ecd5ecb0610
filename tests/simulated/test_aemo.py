"""Simulated AEMO: model values by every route, directories and bundles over time."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from assets.sources import feed
from assets.sources.aemo.files import monthly_url
from tests.simulated.aemo_answers import NOON, answered, names
from warehouse.market.clock import instant, local_date
from warehouse.market.market import Request

TZ = "Australia/Brisbane"


def test_names_never_change():
    early, late = (
        names(answered("/Reports/Current/DispatchIS_Reports/", now).body) for now in (NOON, "2026-11-22T00:02:00+10:00")
    )
    assert len(early) == len(late) == 577
    assert early[-1].startswith("PUBLIC_DISPATCHIS_202611211205_")
    assert early[144:] == late[:-144]
    assert early == sorted(early)
    once, again = (
        answered(f"/{folder}/DispatchIS_Reports/{early[-1]}") for folder in ("Reports/Current", "REPORTS/CURRENT")
    )
    assert once.status == 200
    assert once.body == again.body


def test_a_file_that_is_not_there_is_not_found():
    current = names(answered("/Reports/Current/DispatchIS_Reports/").body)
    tomorrow = current[-1].replace("20261121", "20261122")
    other_number = re.sub(r"\d\.zip", "x.zip", current[-1])
    for path in (
        f"/Reports/Current/DispatchIS_Reports/{tomorrow}",
        f"/Reports/Current/DispatchIS_Reports/{other_number}",
        "/Reports/Current/DispatchIS_Reports/PUBLIC_DISPATCHIS_202613991205_0000000000000001.zip",
        "/Reports/Current/Nothing/",
        "/Reports/ARCHIVE/DispatchIS_Reports/PUBLIC_DISPATCHIS_20261121.zip",
        "/Reports/OLD/DispatchIS_Reports/",
        "/Reports/ARCHIVE/DispatchIS_Reports/PUBLIC_DISPATCHIS_20240101.zip",
        monthly_url("DISPATCHPRICE", 2026, 11),
        monthly_url("DISPATCHPRICE", 2026, 10).replace("DISPATCHPRICE", "NONE"),
        "https://aemo.com.au/",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_202612_NSW1.csv",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_199811_NSW1.csv",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_202610_WA1.csv",
    ):
        assert answered(path).status == 404, path
    assert answered("https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN").status == 405


@pytest.mark.parametrize("day", [14, 15, 16, 21])
def test_between_bundles_and_single_reports_no_trading_day_is_missing(day):
    """A week, Sunday to Saturday, is bundled on the Sunday eight days after; until then its reports lie in Current."""
    now = f"2026-11-{day:02d}T12:00:00+10:00"
    product = feed("aemo.trading")
    params = tuple(local_date(instant(now), TZ) - timedelta(days=n) for n in range(1, 36))
    days = set()
    for place in ("ARCHIVE", "Current"):
        url = f"https://nemweb.com.au/Reports/{place}/TradingIS_Reports/"
        files = product.follow(answered(url, now).body, Request("aemo.trading", url, days=params, kind="listing"))
        here = {day for file in files for day in file.days}
        assert not days & here
        days |= here
    assert set(params) <= days
