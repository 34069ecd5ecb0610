"""Simulated Elexon: the model's values over London days of 46, 48 and 50 periods, publication times, shapes."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.simulated import elexon, grid
from assets.sources import feed
from assets.sources.elexon import BASE, TIES
from warehouse.clock import MarketDay, instant, iso
from warehouse.market import Request

LONDON = "Europe/London"
DAYS = [
    MarketDay(date(2026, 11, 18), LONDON),
    MarketDay(date(2026, 3, 29), LONDON),
    MarketDay(date(2026, 10, 25), LONDON),
]
LATER = "2026-11-21T12:00:00Z"
DAY = MarketDay(date(2026, 11, 21), LONDON)


def starts(day):
    return np.arange(day.start, day.end, 1800)


def answered(path, now=LATER, **params):
    reply = elexon.answer(Request("elexon.price", f"{BASE}/{path}", tuple(params.items())), instant(now))
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize(("day", "count"), list(zip(DAYS, (48, 46, 50), strict=True)), ids=str)
def test_price_and_demand_are_the_grids(day, count, ask, inside):
    rows, refused = ask("elexon.price", [day], LATER)
    readings = inside(rows, day, "price", "GB")
    assert [r.ts for r in readings] == starts(day).tolist()
    assert len(readings) == count
    assert [r.value for r in readings] == grid.price("GB", starts(day), 1800).round(2).tolist()
    rows, _ = ask("elexon.demand", [day], LATER)
    readings = inside(rows, day, "demand", "GB")
    assert [(r.ts, r.value) for r in rows.sorted()] == [(r.ts, r.value) for r in readings], (
        "a settlement date and no more"
    )
    assert [r.value for r in readings] == grid.demand("GB", starts(day), 1800).round().tolist()
    assert not refused


def test_seven_days_of_the_index_are_time_and_not_days(monkeypatch):
    days = [MarketDay(date(2026, 10, number), LONDON) for number in range(19, 27)]
    week, longer = days[:7], {"from": iso(days[0].start), "to": iso(days[6].end)}
    assert week[-1].end - week[0].start == 7 * 86400 + 3600
    assert answered("balancing/pricing/market-index", **longer)[1]["status"] == 400
    for request in feed("elexon.price").requests(days, instant(LATER)):
        assert elexon.answer(request, instant(LATER)).status == 200


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_every_interconnector_and_the_net_are_the_grids(day, ask, inside):
    rows, _ = ask("elexon.interconnectors", [day], LATER)
    total = np.zeros(len(starts(day)))
    for tie in grid.ties("GB"):
        readings = [r for r in rows.sorted() if r.link == tie.id]
        truth = grid.inflow("GB", tie, starts(day), 1800).round()
        assert [(r.ts, r.value) for r in readings] == list(zip(starts(day).tolist(), truth.tolist(), strict=True))
        assert {r.counterparty for r in readings} == {tie.b if tie.a == "GB" else tie.a}
        total += truth
    net = inside(rows, day, "interchange", "GB")
    assert [r.value for r in net] == total.tolist()
    assert [r.value for r in net] == pytest.approx(grid.interchange("GB", starts(day), 1800), abs=0.5 * len(TIES))


def test_what_is_out_at_an_instant(ask):
    now = "2026-11-21T12:20:00Z"
    last = {
        feed: max(r.ts for r in ask(feed, [DAY], now)[0])
        for feed in ("elexon.price", "elexon.demand", "elexon.interconnectors")
    }
    assert last == {
        "elexon.price": instant("2026-11-21T11:00:00Z"),
        "elexon.demand": instant("2026-11-21T11:30:00Z"),
        "elexon.interconnectors": instant("2026-11-21T11:30:00Z"),
    }
    rows, refused = ask("elexon.demand", [DAY.next()], now)
    assert not len(rows)
    assert len(refused) == 1, "tomorrow's answer has no rows"


def test_periods_count_from_london_midnight():
    _, reply = answered("demand/outturn", settlementDateFrom="2026-10-25", settlementDateTo="2026-10-25")
    published = [(row["settlementPeriod"], row["startTime"]) for row in reply["data"]]
    assert published[0] == (1, "2026-10-24T23:00:00Z")
    assert published[-1] == (50, "2026-10-25T23:30:00Z")
    assert {row["settlementDate"] for row in reply["data"]} == {"2026-10-25"}
    assert all(row["initialTransmissionSystemDemandOutturn"] > row["initialDemandOutturn"] for row in reply["data"])


def test_the_second_index_is_zero_and_bounds_are_included():
    _, reply = answered("balancing/pricing/market-index", **{"from": "2026-11-18T10:00Z", "to": "2026-11-18T10:30Z"})
    published = [(row["startTime"], row["dataProvider"]) for row in reply["data"]]
    assert published == [
        (start, provider)
        for start in ("2026-11-18T10:30:00Z", "2026-11-18T10:00:00Z")
        for provider in ("APXMIDP", "N2EXMIDP")
    ]
    assert {(row["price"], row["volume"]) for row in reply["data"] if row["dataProvider"] == "N2EXMIDP"} == {(0.0, 0.0)}
    assert all(row["volume"] > 0 for row in reply["data"] if row["dataProvider"] == "APXMIDP")


def test_one_interconnector_may_be_asked_for():
    dates = {"settlementDateFrom": "2026-11-18", "settlementDateTo": "2026-11-18"}
    _, reply = answered("generation/outturn/interconnectors", **dates, interconnectorName="France(IFA)")
    assert {row["interconnectorName"] for row in reply["data"]} == {"France(IFA)"}
    assert set(elexon.ORDER) == set(TIES)


@pytest.mark.parametrize("params", [{}, {"settlementDateFrom": "yesterday", "settlementDateTo": "today"}])
def test_parameters_that_do_not_read_are_a_problem(params):
    assert answered("demand/outturn", **params)[1]["status"] == 400


def test_other_addresses_are_not_there():
    assert answered("datasets/NONE")[0] == 404


# Compared with recordings


def compact(document):
    return json.dumps(document, separators=(",", ":")).encode()


def test_bodies_are_written_as_recorded(recordings):
    def rows_of(file):
        document = json.loads((recordings / "elexon" / file).read_bytes())
        return document, [(instant(row["startTime"]), row) for row in document["data"]]

    document, rows = rows_of("market_index_MID_2026-07-01_SP22_EXCERPT.json")
    made = elexon.render_market_index([(ts, row["dataProvider"], row["price"], row["volume"]) for ts, row in rows])
    assert made == compact(document)
    document, rows = rows_of("indo_2026-07-11_subset.json")
    assert elexon.render_indo([ts for ts, _ in rows], [row["demand"] for _, row in rows]) == compact(document)
    document, rows = rows_of("interconnectors_2026-07-11_subset.json")
    made = elexon.render_interconnectors([(ts, row["interconnectorName"], row["generation"]) for ts, row in rows])
    assert made == compact(document)


def test_the_expected_price_and_demand_make_the_recorded_bodies(recorded, recordings):
    _, rows = recorded("elexon/market_index_MID_2026-07-01_SP22_EXCERPT.json")
    [price] = rows
    made = json.loads(elexon.render_market_index([(price.ts, "APXMIDP", price.value, 3310.45)]))
    body = json.loads((recordings / "elexon/market_index_MID_2026-07-01_SP22_EXCERPT.json").read_bytes())
    assert made["data"] == body["data"][:1]
    body, rows = recorded("elexon/indo_2026-07-11_subset.json")
    assert json.loads(elexon.render_indo([r.ts for r in rows], [int(r.value) for r in rows])) == json.loads(body)
