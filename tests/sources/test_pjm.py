"""Test PJM: pages against totalRows, stray seconds, verified and unverified prices, ranges that include their end."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged, FeedUnavailable
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant, market_days
from warehouse.market.feeds import Request

RT, DA = sources.feed("pjm.lmp_rt"), sources.feed("pjm.lmp_da")
FIRST = date(2026, 10, 1)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def item(
    stamp: str, price: object = 31.862345, node: object = 1, name: str = "PJM-RTO", market: str = "da", **more: object
):
    return {"datetime_beginning_utc": stamp, "pnode_id": node, "pnode_name": name, f"total_lmp_{market}": price, **more}


def page(items: list[object], total: int | None = None, row: int = 1) -> bytes:
    counted = len(items) if total is None else total
    return json.dumps({"items": items, "totalRows": counted, "searchSpecification": {"startRow": row}}).encode()


def read(feed, body: bytes, **params: str):
    return feed.parse(body, Request(feed.id, "", tuple(params.items())))


def test_hourly_real_time_prices_are_not_taken_for_those_of_five_minutes():
    hours = [item(f"2026-06-09T0{hour}:00:00", market="rt") for hour in range(4, 7)]
    with pytest.raises(FeedChanged, match="rt_hrl_lmps"):
        read(RT, page(hours))
    assert len(read(RT, page(hours[:1]))) == 1
    assert len(read(RT, page([*hours, item("2026-06-09T04:05:00", market="rt")]))) == 4


def test_a_node_is_known_by_its_number_or_its_name():
    nameless, numberless = item("2026-06-09T04:00:00"), item("2026-06-09T05:00:00")
    del nameless["pnode_name"], numberless["pnode_id"]
    assert len(read(DA, page([nameless, numberless]))) == 2
    del nameless["pnode_id"]
    with pytest.raises(FeedChanged, match="node"):
        read(DA, page([nameless]))


@pytest.mark.parametrize(
    "stamp", ["2026-06-09T04:05:01", "2026-06-09 04:05:00", "2026-06-09T04:05:00.37", "2026-06-09T04:05:00Z"]
)
def test_a_stray_second_means_the_minute(stamp):
    assert [r.ts for r in read(RT, page([item(stamp, market="rt")]))] == [instant("2026-06-09T04:05:00Z")]


def test_readings_off_the_grid_are_dropped_and_counted_and_old_versions_are_left():
    rows = read(
        RT,
        page(
            [
                item("2026-06-09T04:03:00", market="rt"),
                item("2026-06-09T04:05:00", 1, market="rt", row_is_current=False),
                item("2026-06-09T04:05:00", 2, market="rt", row_is_current=True),
            ]
        ),
    )
    assert [r.value for r in rows] == [2.0]
    assert rows.dropped == {"off the grid": 1}


def test_pages_are_followed_until_totalrows_are_there():
    (first,) = DA.requests([MarketDay(FIRST, DA.tz)], clock.now())
    two = [item("2026-10-01T04:00:00"), item("2026-10-01T05:00:00")]
    (second,) = DA.follow(page(two, 3), first)
    assert dict(second.params) == {**dict(first.params), "startRow": "3"}
    assert (second.days, second.secrets) == (first.days, first.secrets)
    assert DA.follow(page(two[:1], 3, 3), second) == []
    with pytest.raises(FeedUnavailable, match="row 1; expected row 3"):
        DA.follow(page(two[:1], 3, 1), second)
    with pytest.raises(FeedUnavailable, match="reports 4"):
        DA.parse(page(two[:1], 4, 3), second)


def test_recent_prices_are_unverified_and_every_question_about_today_is_a_new_one(monkeypatch):
    days = market_days(date(2026, 11, 11), date(2026, 11, 20), RT.tz)
    verified, recent = RT.requests(days, clock.now())
    assert verified.url.endswith("/rt_fivemin_hrl_lmps")
    assert verified.days == (date(2026, 11, 11), date(2026, 11, 12))
    assert recent.url.endswith("/rt_unverified_fivemin_lmps")
    assert len(recent.days) == 8
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:05:00Z")
    verified_later, later = RT.requests(days, clock.now())
    assert verified_later == verified
    assert dict(later.params)["rowCount"] != dict(recent.params)["rowCount"]
