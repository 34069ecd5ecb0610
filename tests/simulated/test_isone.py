"""Simulated ISO New England: services hold the model's values, prices become final, pages lag, shapes."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.simulated import grid, isone
from assets.sources import feed
from warehouse import clock
from warehouse.clock import HOUR, MarketDay, instant
from warehouse.market import Request

TZ = "America/New_York"
ZONE = "US-ISONE"
DAYS = [MarketDay(date(2026, 11, 20), TZ), MarketDay(date(2026, 3, 8), TZ), MarketDay(date(2026, 11, 1), TZ)]
LATER = "2026-11-28T12:00:00Z"


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def values(rows):
    return [r.value for r in rows]


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_prices_are_the_grids(day, ask, inside):
    readings = inside(ask("isone.lmp_rt", [day], LATER)[0], day, "price", ZONE)
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.price(ZONE, starts(day)), abs=0.00501)
    readings = inside(ask("isone.lmp_da", [day], LATER)[0], day, "price_day_ahead", ZONE)
    assert [r.ts for r in readings] == starts(day, HOUR).tolist()
    assert values(readings) == pytest.approx(grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"), abs=0.00501)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_load_is_the_grids_by_hours_and_five_minutes(day, ask, inside):
    readings = inside(ask("isone.load", [day], LATER)[0], day, "demand", ZONE)
    for resolution, step in (("5m", 300), ("1h", HOUR)):
        part = [r for r in readings if r.resolution == resolution]
        assert [r.ts for r in part] == starts(day, step).tolist()
        assert values(part) == pytest.approx(grid.demand(ZONE, starts(day, step), step), abs=0.000501)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_flows_are_the_grids(day, ask, inside):
    rows, _ = ask("isone.flows", [day], LATER)
    readings = inside(rows, day, "interchange", ZONE)
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.interchange(ZONE, starts(day)), abs=0.00401)
    for tie in grid.ties(ZONE):
        published = [r.value for r in rows.sorted() if r.link == tie.id]
        assert published == pytest.approx(grid.inflow(ZONE, tie, starts(day)), abs=0.000501)


def test_preliminary_prices_become_final(ask, inside):
    day = DAYS[0]
    first = values(inside(ask("isone.lmp_rt", [day], "2026-11-21T12:00:00Z")[0], day, "price", ZONE))
    final = values(inside(ask("isone.lmp_rt", [day], LATER)[0], day, "price", ZONE))
    assert len(first) == len(final) == 288
    assert np.mean(np.array(first) != np.array(final)) > 0.5
    assert np.abs(np.array(first) / np.array(final) - 1).max() < 0.02


def test_a_running_day_says_what_is_out(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-05:00"
    assert max(r.ts for r in ask("isone.lmp_rt", [day], now)[0]) == instant("2026-11-20T11:55:00-05:00")
    load, _ = ask("isone.load", [day], now)
    assert max(r.ts for r in load if r.resolution == "1h") == instant("2026-11-20T10:00:00-05:00")
    assert max(r.ts for r in load if r.resolution == "5m") == instant("2026-11-20T11:55:00-05:00")
    flows, _ = ask("isone.flows", [day], now)
    assert max(r.ts for r in flows if r.link == "nyiso-isone-ac") == instant("2026-11-20T11:55:00-05:00")
    assert max(r.ts for r in flows if r.link is None) == instant("2026-11-20T11:40:00-05:00"), "the Quebec page lags"
    rows, refused = ask("isone.lmp_rt", [day.next()], now)
    assert not len(rows)
    assert len(refused) == 1


def test_the_auction_is_out_after_one_in_the_afternoon(ask):
    tomorrow = MarketDay(date(2026, 11, 21), TZ)
    assert not len(ask("isone.lmp_da", [tomorrow], "2026-11-20T12:59:00-05:00")[0])
    assert len(ask("isone.lmp_da", [tomorrow], "2026-11-20T13:01:00-05:00")[0]) == 24


def test_the_first_hour_comes_as_an_object(ask):
    day = MarketDay(date(2026, 11, 20), TZ)
    request = feed("isone.load").requests([day], clock.now())[0]
    document = json.loads(isone.answer(request, day.start + HOUR + 1600).body)
    assert isinstance(document["HourlySystemLoads"]["HourlySystemLoad"], dict)
    assert len(ask("isone.load", [day], "2026-11-20T01:30:00-05:00")[0]) == 1 + 17


@pytest.mark.parametrize("path", ["/api/v1.1/genfuelmix/day/20261120", "/api/v1.1/hourlysysload/day/today", "/"])
def test_other_addresses_are_not_there(path):
    assert isone.answer(Request("isone.load", f"https://webservices.iso-ne.com{path}"), instant(LATER)).status == 404


# Compared with recordings


def forms(entries):
    """Member names in order with the types that their values take in any entry."""
    types = {name: {type(entry[name]).__name__ for entry in entries} - {"int"} for name in entries[0]}
    return [list(entry) for entry in entries[:1]], types


@pytest.mark.parametrize("name", ["20240309", "20240310", "current"])
def test_loads_look_like_the_recorded_ones(name, recorded):
    body, rows = recorded(f"isone/hourlysysload_{name}.json")
    made = isone.render(
        "HourlySystemLoads", "HourlySystemLoad", isone.loads_of([r.ts for r in rows], [r.value for r in rows], "Load")
    )
    ours, there = (json.loads(text)["HourlySystemLoads"]["HourlySystemLoad"] for text in (made, body))
    assert type(ours) is type(there)
    ours, there = ([entries] if isinstance(entries, dict) else entries for entries in (ours, there))
    assert forms(ours) == forms(there)
    for name in ("BeginDate", "Location", "Load"):
        assert [entry[name] for entry in ours] == [entry[name] for entry in there]
    assert made[:60] == body[:60]


def test_prices_look_like_the_recorded_ones(recorded):
    body, rows = recorded("isone/hourlylmp_da_final_4000_20260308.json")
    made = isone.render("HourlyLmps", "HourlyLmp", isone.prices_of([r.ts for r in rows], [r.value for r in rows]))
    ours, there = (json.loads(text)["HourlyLmps"]["HourlyLmp"] for text in (made, body))
    assert forms(ours) == forms(there)
    for name in ("BeginDate", "Location", "LmpTotal"):
        assert [entry[name] for entry in ours] == [entry[name] for entry in there]
    assert made[:60] == body[:60]


@pytest.mark.parametrize("border", ["CA-NB", "CA-QC", "US-NY"])
def test_tie_pages_look_like_the_recorded_ones(border, recorded):
    body, rows = recorded(f"isone/externalflow_{border}_20250326.json")
    there = json.loads(body)
    links = {tie.link: number for number, tie in isone.TIES.items()}
    pages = {number: [(r.ts, r.value) for r in rows if links[r.link] == number] for number in there[0]["data"]}
    ours = json.loads(isone.render_ties(pages))
    assert list(ours[0]) == list(there[0])
    assert list(ours[0]["data"]) == list(there[0]["data"])
    for number, entries in there[0]["data"].items():
        made = ours[0]["data"][number]
        assert forms(made) == forms(entries)
        for name in ("BeginDate", "Location", "Actual"):
            assert [entry[name] for entry in made] == [entry[name] for entry in entries]
