"""Simulated SPP: files hold the model's values, publish on time, and are shaped as recorded."""

from __future__ import annotations

import csv
from datetime import date

import numpy as np
import pytest

from assets.simulated import grid, spp
from assets.sources import feed
from warehouse.clock import DAY, HOUR, MarketDay, instant
from warehouse.market import Request

TZ = "America/Chicago"
ZONE = "US-SPP"
DAYS = [MarketDay(date(2026, 11, 20), TZ), MarketDay(date(2026, 3, 8), TZ), MarketDay(date(2026, 11, 1), TZ)]
LATER = "2026-11-25T12:00:00Z"


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def values(rows):
    return [r.value for r in rows]


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("feed_id", ["spp.lmp_rt", "spp.lmp_rt_daily"])
def test_real_time_prices_are_the_grids_by_interval_and_by_day(day, feed_id, ask, inside):
    rows, refused = ask(feed_id, [day], LATER)
    readings = inside(rows, day, "price", ZONE)
    assert not refused
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.price(ZONE, starts(day)), abs=0.0000501)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_day_ahead_prices_are_the_grids(day, ask, inside):
    readings = inside(ask("spp.lmp_da", [day], LATER)[0], day, "price_day_ahead", ZONE)
    assert [r.ts for r in readings] == starts(day, HOUR).tolist()
    assert values(readings) == pytest.approx(grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"), abs=0.0000501)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_hourly_load_is_the_grids(day, ask, inside):
    rows, _ = ask("spp.load_hourly", [day], LATER)
    assert rows.dropped["hour still running"] == (day.next().day < date(2026, 9, 25))
    readings = inside(rows, day, "demand", ZONE)
    assert [r.ts for r in readings] == starts(day, HOUR).tolist(), "a file reaches back 25 hours"
    assert values(readings) == pytest.approx(grid.demand(ZONE, starts(day, HOUR), HOUR), abs=0.501)


def test_the_load_chart_holds_the_last_24_hours(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-06:00"
    rows, _ = ask("spp.load", [day.next(-1), day], now)
    last = instant("2026-11-20T11:55:00-06:00")
    published = np.arange(last - DAY + 300, last + 1, 300)
    assert [r.ts for r in rows.sorted()] == published.tolist()
    assert values(rows.sorted()) == pytest.approx(grid.demand(ZONE, published), abs=0.000501)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_interchange_is_the_grids_by_chart_and_by_month(day, ask, inside):
    for now in ((day.end + HOUR), instant(LATER)):
        rows, refused = ask("spp.interchange", [day], str(now))
        readings = inside(rows, day, "interchange", ZONE)
        assert not refused
        assert [r.ts for r in readings] == starts(day).tolist()
        assert values(readings) == pytest.approx(grid.interchange(ZONE, starts(day)), abs=0.00501)


def test_a_running_day_says_what_is_out(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-06:00"
    rows, refused = ask("spp.lmp_rt", [day], now)
    assert not refused
    assert max(r.ts for r in rows) == instant("2026-11-20T11:55:00-06:00")
    assert max(r.ts for r in ask("spp.interchange", [day], now)[0]) == instant("2026-11-20T12:05:00-06:00")
    assert max(r.ts for r in ask("spp.load_hourly", [day], now)[0]) == instant("2026-11-20T10:00:00-06:00")
    days_ago = day.next(-5)
    assert len(ask("spp.lmp_rt_daily", [days_ago], now)[0]) == 288
    assert not len(ask("spp.lmp_rt_daily", [days_ago], "2026-11-20T04:00:00-06:00")[0])


def test_the_auction_is_out_after_one_in_the_afternoon(ask):
    tomorrow = MarketDay(date(2026, 11, 21), TZ)
    assert not len(ask("spp.lmp_da", [tomorrow], "2026-11-20T12:59:00-06:00")[0])
    assert len(ask("spp.lmp_da", [tomorrow], "2026-11-20T13:01:00-06:00")[0]) == 24


def test_spellings_change_from_day_to_day():
    headers, dates = set(), set()
    for day in (date(2026, 9, d) for d in range(1, 15)):
        header, line = spp.render_prices([MarketDay(day, TZ).start + HOUR], [30.0], day).decode().splitlines()[:2]
        headers.add(header)
        dates.add((line.split(",")[1][0] == "0", line.count(":")))
    assert len(headers) == 2
    assert len(dates) > 1


@pytest.mark.parametrize(
    ("product", "path"),
    [
        ("historical-tie-flow", "/TieFlows_Feb2014x.csv"),
        ("historical-tie-flow", "/TieFlows_SPP_Dec2026.csv"),
        ("rtbm-lmp-by-location", "/x.csv"),
        ("mtlf-vs-actual", "/2026/11/20/OP-MTLF-202611200030.csv"),
        ("da-lmp-by-settlement-location", "/2026/11/By_Day/DA-LMP-SL-202611210100"),
        ("hourly-load", "/2026/DAILY_HOURLY_LOAD-20261120.csv"),
        ("rtbm-lmp-by-location", "/2026/11/By_Interval/20/RTBM-LMP-SL-202611200107.csv"),
    ],
)
def test_what_is_not_there_answers_404_with_an_empty_body(product, path):
    request = Request("spp.load", f"https://portal.spp.org/file-browser-api/download/{product}", (("path", path),))
    reply = spp.answer(request, instant("2026-11-20T18:00:00Z"))
    assert (reply.status, reply.body) == (404, b"")


# Compared with recordings


def table(body):
    return list(csv.reader(body.decode().splitlines()))


@pytest.mark.parametrize("name", ["202511020100", "202604010100", "202610040100"])
def test_prices_look_like_the_recorded_ones(name, recorded, monkeypatch):
    body, rows = recorded(f"spp/DA-LMP-SL-{name}_TRIMMED.csv")
    there = [line for line in table(body) if "SPPSOUTH_HUB" in line]
    monkeypatch.setattr(spp, "choice", lambda what, day, count: 0 if there[0][0][0] in "01" else 1)
    made = spp.render_prices(
        [r.ts + HOUR for r in rows], [r.value for r in rows], date(int(name[:4]), int(name[4:6]), int(name[6:8]))
    )
    ours = [line for line in table(made) if "SPPSOUTH_HUB" in line]
    assert made.split(b"\n")[0] == body.split(b"\n")[0].rstrip(b"\r")
    last = there[0].index("SPPSOUTH_H") + 2
    assert [line[:last] for line in ours] == [line[:last] for line in there]


def test_an_interval_looks_like_the_recorded_one(recorded, monkeypatch):
    body, rows = recorded("spp/RTBM-LMP-SL-202503310840.csv")
    monkeypatch.setattr(spp, "choice", lambda what, day, count: 0)
    made = spp.render_prices([r.ts + 300 for r in rows], [r.value for r in rows], date(2025, 3, 31))
    assert made.split(b"\n")[0] == body.split(b"\n")[0].rstrip(b"\r")
    ours, there = ([line for line in table(text) if "SPPSOUTH_HUB" in line] for text in (made, body))
    assert [line[:5] for line in ours] == [line[:5] for line in there]


def test_hourly_load_looks_like_the_recorded_one(recorded):
    body, rows = recorded("spp/OP-MTLF-202607150000.csv")
    first = min(r.ts for r in rows)
    ends = range(first + HOUR, first + HOUR + 193 * HOUR, HOUR)
    made = spp.render_hourly_load(ends, [*[r.value for r in rows.sorted()], 20432.0], parted=True)
    ours, there = table(made), table(body)
    assert [[line[0], line[1], line[4]] for line in ours] == [[line[0], line[1], line[4]] for line in there]
    assert [line[3] for line in ours if line[4] == "SPP"] == [line[3] for line in there if line[4] == "SPP"]
    assert [line[3] == "" for line in ours] == [line[3] == "" for line in there]


def test_flows_look_like_the_recorded_western_twin(recordings):
    body = (recordings / "spp/TieFlows_SWPW_Mar2026.csv").read_bytes()
    there = table(body)
    instants = range(instant(there[-3][0]), instant(there[-1][0]) + 1, 60)
    made = spp.render_flows(instants, [0.0] * 3, {name: [0.0] * 3 for name in there[0][3:]}, chart=False)
    assert table(made) == [there[0], *there[-3:]]
    assert made.split(b"\n")[0] == body.split(b"\n")[0]


def test_every_request_of_a_poll_is_answered(monkeypatch):
    now = "2026-11-20T12:07:30-06:00"
    monkeypatch.setenv("EMDS_NOW", now)
    day = MarketDay(date(2026, 11, 20), TZ)
    for product in ("spp.lmp_rt", "spp.load", "spp.interchange", "spp.lmp_da", "spp.load_hourly"):
        requests = feed(product).requests([day], instant(now))
        assert {spp.answer(request, instant(now)).status for request in requests} == {200}, product
