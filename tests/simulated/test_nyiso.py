"""Simulated New York ISO: files hold the model's values, only what is published by then, shaped as recorded."""

from __future__ import annotations

import csv
import re
from datetime import date

import numpy as np
import pytest

from assets.simulated import grid, nyiso
from assets.sources.nyiso import TIES
from warehouse.clock import MarketDay, instant
from warehouse.market import Request

TZ = "America/New_York"
DAYS = [MarketDay(date(2026, 11, 20), TZ), MarketDay(date(2026, 3, 8), TZ), MarketDay(date(2026, 11, 1), TZ)]
LATER = "2026-11-25T12:00:00Z"


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def values(rows):
    return [r.value for r in rows]


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_prices_are_the_grids(day, ask, inside):
    rows, refused = ask("nyiso.lbmp_rt", [day], LATER)
    readings = inside(rows, day, "price", "US-NYISO")
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.price("US-NYISO", starts(day)), abs=0.00501)
    rows, _ = ask("nyiso.lbmp_da", [day], LATER)
    readings = inside(rows, day, "price_day_ahead", "US-NYISO")
    assert [r.ts for r in readings] == starts(day, 3600).tolist()
    assert values(readings) == pytest.approx(grid.price("US-NYISO", starts(day, 3600), 3600, "day_ahead"), abs=0.00501)
    assert not refused


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_load_and_flows_are_the_grids(day, ask, inside):
    rows, _ = ask("nyiso.load", [day], LATER)
    readings = inside(rows, day, "demand", "US-NYISO")
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.demand("US-NYISO", starts(day)), abs=0.0501)
    rows, _ = ask("nyiso.flows", [day], LATER)
    readings = inside(rows, day, "interchange", "US-NYISO")
    assert [r.ts for r in readings] == starts(day).tolist()
    assert values(readings) == pytest.approx(grid.interchange("US-NYISO", starts(day)), abs=0.0501)
    there = {tie.link for tie in TIES.values() if tie.since <= day.start}
    assert {r.link for r in rows if r.counterparty} == there


def test_a_running_day_says_what_is_out_and_advisory_prices_are_none(ask):
    day, now = MarketDay(date(2026, 11, 20), TZ), "2026-11-20T12:07:30-05:00"
    rows, _ = ask("nyiso.lbmp_rt", [day], now)
    assert max(r.ts for r in rows) == instant("2026-11-20T12:00:00-05:00")
    assert rows.dropped["advisory quarter hour"] >= 9
    assert max(r.ts for r in ask("nyiso.load", [day], now)[0]) == instant("2026-11-20T12:05:00-05:00")
    assert max(r.ts for r in ask("nyiso.flows", [day], now)[0]) == instant("2026-11-20T12:00:00-05:00")
    assert not ask("nyiso.lbmp_rt", [day.next()], now)[0].readings, "tomorrow has no file"


def test_the_auction_is_out_before_noon_of_the_day_before(ask):
    tomorrow = MarketDay(date(2026, 11, 21), TZ)
    assert not len(ask("nyiso.lbmp_da", [tomorrow], "2026-11-20T09:00:00-05:00")[0])
    assert len(ask("nyiso.lbmp_da", [tomorrow], "2026-11-20T11:00:00-05:00")[0]) == 24


def test_stray_readings_come_on_some_days(ask):
    days = [MarketDay(date(2026, 9, d), TZ) for d in range(1, 11)]
    for feed in ("nyiso.load", "nyiso.flows", "nyiso.lbmp_rt"):
        counts = [ask(feed, [day], LATER)[0].dropped["off the five-minute grid"] for day in days]
        assert 0 in counts
        assert any(counts)


def test_old_real_time_prices_come_as_monthly_zips(ask, inside):
    days = [MarketDay(date(2025, 11, d), TZ) for d in (1, 2, 30)]
    rows, refused = ask("nyiso.lbmp_rt", days, LATER)
    assert not refused
    for day in days:
        assert len(inside(rows, day, "price", "US-NYISO")) == len(starts(day))
    assert len(rows) == (31 * 24 - 24 + 1) * 12, "a zip holds its month"


@pytest.mark.parametrize(
    "path", ["/NO_SUCH/CSV/2026/11/20/x-20261120.csv", "/RT_LBMP_ZONE/CSV/2025/12/05/realtime_zone-20251205.csv", "/"]
)
def test_other_addresses_are_not_there(path):
    assert (
        nyiso.answer(Request("nyiso.load", f"https://oasis-postings.prod.nysdi.com{path}"), instant(LATER)).status
        == 404
    )


# Compared with recordings


def table(body):
    return list(csv.reader(body.decode().splitlines()))


def number_form(cell):
    return re.sub(r"\d+", "9", cell)


def test_prices_look_like_the_recorded_ones(recorded):
    body, rows = recorded("nyiso/damlbmp_zone_20260923.csv")
    made = nyiso.render_day_ahead([r.ts for r in rows], [r.value for r in rows])
    assert made.split(b"\r\n")[0] == body.split(b"\r\n")[0]
    assert [line[:3] for line in table(made)] == [line[:3] for line in table(body)]
    hub = [line[:4] for line in table(made) if line[1] == "N.Y.C."]
    assert hub == [line[:4] for line in table(body) if line[1] == "N.Y.C."]
    assert {number_form(line[4].lstrip("-")) for line in table(made)[1:]} == {
        number_form(line[4].lstrip("-")) for line in table(body)[1:]
    }
    assert made.endswith(b"\r\n")
    assert body.endswith(b"\r\n")


def test_real_time_prices_look_like_the_recorded_ones(recordings):
    body = (recordings / "nyiso/realtime_zone_20251102_CAPITL_only.csv").read_bytes()
    day = MarketDay(date(2025, 11, 2), TZ)
    ends = range(day.start + 300, day.end + 300, 300)
    prices = [float(line[3]) for line in table(body)[1:]]
    made = nyiso.render_real_time(ends, prices).decode().splitlines()
    assert made[0] == body.decode().splitlines()[0]
    ours = [line.rsplit(",", 2)[0] for line in made if '"N.Y.C.",61761' in line]
    assert [line.replace('"N.Y.C.",61761', '"CAPITL",61757') for line in ours] == [
        line.rsplit(",", 2)[0] for line in body.decode().splitlines()[1:]
    ]


def test_load_looks_like_the_recorded_one(recorded):
    body, rows = recorded("nyiso/pal_20171122.csv")
    made = nyiso.render_load([r.ts for r in rows], [r.value for r in rows])
    regular = [line for line in table(body) if line[0] == "Time Stamp" or line[0].endswith(("0:00", "5:00"))]
    assert [line[:4] for line in table(made)] == [line[:4] for line in regular]
    assert made.split(b"\r\n")[0] == body.split(b"\r\n")[0]
    quotes = re.compile(rb'^"[^"]+","E[DS]T","[^"]+",\d+,\d+(\.\d)?$')
    assert all(quotes.match(line) for sample in (made, body) for line in sample.split(b"\r\n")[1:-1])


def test_flows_look_like_the_recorded_ones(recorded):
    body, rows = recorded("nyiso/ExternalLimitsFlows_20171122.csv")
    flows = {point: [r.value for r in rows if r.link == tie.link] for point, tie in TIES.items()}
    ties = {point: values for point, values in flows.items() if values}
    stamps = [r.ts for r in rows if r.link == "pjm-nyiso-htp"]
    made = nyiso.render_flows(stamps, ties)
    regular = [line for line in table(body) if line[0][-1] in "p05"]
    assert [line[:3] for line in table(made)] == [line[:3] for line in regular]
    assert [line[3] for line in table(made) if line[2] in TIES] == [line[3] for line in regular if line[2] in TIES]
    assert {line[1]: line[5] for line in table(made) if "9999" in line[5]} == {
        line[1]: line[5] for line in regular if "9999" in line[5]
    }


def test_a_dark_meter_costs_the_sums_of_its_time_and_is_counted(ask, inside):
    day = MarketDay(date(2026, 8, 31), TZ)
    rows, _ = ask("nyiso.load", [day], LATER)
    dark = range(day.start + 9 * 3600, day.start + 9 * 3600 + 5400)
    read = [r.ts for r in inside(rows, day, "demand", "US-NYISO")]
    assert read == [ts for ts in starts(day).tolist() if ts not in dark]
    assert rows.dropped["a zone at 0 MW: meter outage"] == 18
