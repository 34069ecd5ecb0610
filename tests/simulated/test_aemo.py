"""Simulated AEMO: model values by every route, directories and bundles over time."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import date, timedelta

import numpy as np
import pytest

from assets.simulated import grid
from assets.simulated.aemo import reports
from assets.sources import feed
from assets.sources.aemo.files import monthly_url
from assets.sources.aemo.rows import REGIONS, TIES
from tests.simulated.aemo_answers import NOON, answered, names
from warehouse.clock import MarketDay, instant, iso, local_date
from warehouse.market import Request

TZ = "Australia/Brisbane"
DAYS = [MarketDay(date(2026, 11, 18), TZ), MarketDay(date(2026, 4, 5), TZ), MarketDay(date(2026, 10, 4), TZ)]
"""An ordinary day, and two on which the southern states' clocks change: market days always have 24 hours."""
TODAY = MarketDay(date(2026, 11, 21), TZ)


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def series_of(rows, day, metric, zone, other=None, link=None):
    """Instants and values of a series in a market day, ascending."""
    points, window = [], day.window
    for key, readings in rows.readings.items():
        if (key.zone, key.metric, key.counterparty, key.link) == (zone, metric, other, link):
            points += [(ts, value) for ts, value in zip(readings.ts, readings.values, strict=True) if ts in window]
    return [ts for ts, _ in sorted(points)], [value for _, value in sorted(points)]


def check(rows, day, metrics=("price", "demand", "interchange"), cents=False):
    """The figures of all regions over a whole day against the grid."""
    truth = {"price": grid.price, "demand": grid.demand, "interchange": grid.interchange}
    for zone in REGIONS.values():
        for metric in metrics:
            ts, values = series_of(rows, day, metric, zone)
            assert ts == starts(day).tolist()
            exact = metric == "price" and not cents
            assert values == pytest.approx(truth[metric](zone, starts(day)), abs=0.51e-5 if exact else 0.501e-2)


def check_ties(rows, day):
    for tie in {tie for zone in ("AU-NSW", "AU-VIC") for tie in grid.ties(zone) if tie.since <= day.start}:
        for zone, other in ((tie.a, tie.b), (tie.b, tie.a)):
            ts, values = series_of(rows, day, "interchange", zone, other, tie.id)
            assert ts == starts(day).tolist()
            assert values == pytest.approx(grid.inflow(zone, tie, starts(day)), abs=0.51e-5)


NOWS = {
    "single reports": lambda day: day.next().start + 7200,
    "bundles": lambda day: day.next(20).start + 7200,
    "monthly archive": lambda day: day.next(50).start,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", NOWS)
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_dispatch_is_the_grids_whichever_way_it_lies(day, way, ask):
    rows, refused = ask("aemo.dispatch", [day], iso(NOWS[way](day)))
    assert not refused
    check(rows, day)
    check_ties(rows, day)
    month = [day.day.replace(day=1) + timedelta(days=n) for n in range(30)] if way == "monthly archive" else [day.day]
    assert bool(rows.dropped["intervention run"]) == any(map(reports.intervened, month))


@pytest.mark.parametrize("way", NOWS)
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_trading_is_the_grids_to_cents(day, way, ask):
    rows, refused = ask("aemo.trading", [day], iso(NOWS[way](day)))
    assert not refused
    check(rows, day, ["price"], cents=True)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_the_dashboard_is_the_grids(day, ask):
    rows, refused = ask("aemo.five_minute", [day], iso(day.end + 600))
    assert not refused
    assert len(rows) == 576 * 5 * 3
    check(rows, day)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_price_and_demand_are_the_grids(day, ask):
    rows, refused = ask("aemo.price_and_demand", [day], iso(day.end + 6 * 3600))
    assert not refused
    check(rows, day, ["price", "demand"], cents=True)
    assert max(r.ts for r in rows) == day.end - 300


def test_trading_was_half_hourly_before_october_2021(ask):
    days = [MarketDay(date(2021, 9, 30), TZ), MarketDay(date(2021, 10, 1), TZ)]
    for product in ("aemo.trading", "aemo.price_and_demand"):
        rows, refused = ask(product, days, NOON)
        assert not refused
        for day, step, resolution in zip(days, (1800, 300), ("30m", "5m"), strict=True):
            ts, values = series_of(rows, day, "price", "AU-SA")
            assert ts == starts(day, step).tolist()
            assert values == pytest.approx(grid.price("AU-SA", starts(day, step), step), abs=0.501e-2)
            assert any(key.resolution == resolution and ts[0] in readings.ts for key, readings in rows.readings.items())


def test_an_intervention_doubles_lines_and_changes_no_row(ask):
    """Prices and demand are those of run 0, flows those of run 1."""
    day = next(day for day in (DAYS[0].next(-n) for n in range(60)) if reports.intervened(day.day))
    rows, _ = ask("aemo.dispatch", [day], iso(NOWS["bundles"](day)))
    assert rows.dropped == {"intervention run": 12 * (5 + 5), "pricing run of an intervention": 12 * (5 + 7)}
    check(rows, day)


@pytest.mark.slow
def test_the_running_intervals_report_is_out_within_seconds(ask):
    for second, last in ((15, "2026-11-21T00:35:00+10:00"), (5, "2026-11-21T00:30:00+10:00")):
        for product in ("aemo.dispatch", "aemo.trading"):
            assert max(r.ts for r in ask(product, [TODAY], f"2026-11-21T00:35:{second:02d}+10:00")[0]) == instant(last)
    assert max(r.ts for r in ask("aemo.five_minute", [TODAY], NOON)[0]) == instant("2026-11-21T11:55:00+10:00")
    rows, _ = ask("aemo.price_and_demand", [TODAY], NOON)
    assert max(r.ts for r in rows) == TODAY.start - 300
    assert (
        max(r.ts for r in ask("aemo.price_and_demand", [TODAY], "2026-11-21T04:59:00+10:00")[0])
        == TODAY.next(-1).start - 300
    )


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


def test_the_monthly_archive_comes_on_the_eighth():
    url = monthly_url("DISPATCHINTERCONNECTORRES", 2026, 10)
    assert answered(url, "2026-11-08T11:00:00+10:00").status == 404
    body = answered(url, "2026-11-08T11:30:00+10:00").body
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.namelist() == ["PUBLIC_ARCHIVE#DISPATCHINTERCONNECTORRES#FILE01#202610010000.CSV"]
    with zipfile.ZipFile(io.BytesIO(answered(monthly_url("TRADINGPRICE", 2024, 7)).body)) as archive:
        assert archive.namelist() == ["PUBLIC_DVD_TRADINGPRICE_202407010000.CSV"]


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


def test_the_regions_ties_have_the_models_lines():
    for name, (origin, target, link) in TIES.items():
        [tie] = [tie for tie in grid.TIES if tie.id == link]
        assert (tie.a, tie.b) == (origin, target), name
