"""Simulated PJM: pages hold the model's values, publish on time, repeat the query, and are shaped as recorded."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.simulated import grid, pjm
from assets.sources import feed
from assets.sources.pjm import API, TZ
from warehouse import clock
from warehouse.clock import DAY, HOUR, MarketDay, instant, iso, market_days
from warehouse.market import Request

ZONE = "US-PJM"
ORDINARY, SPRING, AUTUMN = (MarketDay(day, TZ) for day in (date(2026, 11, 19), date(2026, 3, 8), date(2026, 11, 1)))
days = pytest.mark.parametrize("day", [ORDINARY, SPRING, AUTUMN], ids=str)


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def same(readings, day, step, truth):
    assert [r.ts for r in readings] == starts(day, step).tolist()
    assert [r.value for r in readings] == np.round(truth, 6).tolist()


@days
def test_verified_prices_are_the_grids(day, ask, inside):
    rows, refused = ask("pjm.lmp_rt", [day], iso(day.end + 20 * DAY))
    same(inside(rows, day, "price", ZONE), day, 300, grid.price(ZONE, starts(day)))
    assert not refused


@days
def test_day_ahead_prices_are_the_grids(day, ask, inside):
    rows, refused = ask("pjm.lmp_da", [day], iso(day.end + 20 * DAY))
    same(inside(rows, day, "price_day_ahead", ZONE), day, HOUR, grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"))
    assert not refused


@days
def test_unverified_prices_are_first_estimates_that_stand_until_they_go(day, ask, inside):
    first, later = (
        inside(ask("pjm.lmp_rt", [day], iso(day.end + after))[0], day, "price", ZONE) for after in (HOUR, 6 * DAY)
    )
    truth = grid.price(ZONE, starts(day))
    assert [r.ts for r in first] == starts(day).tolist()
    assert first == later
    assert [r.value for r in first] == pytest.approx(truth, rel=0.005)
    assert [r.value for r in first] != truth.round(6).tolist()


def test_a_running_day_says_what_is_out(ask):
    rows, _ = ask("pjm.lmp_rt", [MarketDay(date(2026, 11, 20), TZ)], "2026-11-20T12:07:30-05:00")
    assert iso(max(r.ts for r in rows)) == "2026-11-20T16:55:00Z"
    assert len(rows) == 144


def test_the_auction_is_out_in_the_afternoon_of_the_day_before(ask):
    tomorrow = MarketDay(date(2026, 11, 21), TZ)
    rows, refused = ask("pjm.lmp_da", [tomorrow], "2026-11-20T13:19:00-05:00")
    assert (len(rows), len(refused)) == (0, 1)
    assert len(ask("pjm.lmp_da", [tomorrow], "2026-11-20T13:20:00-05:00")[0]) == 24


def page(product, now="2026-11-20T17:00:00Z", **params):
    return pjm.answer(Request("pjm.lmp_rt", f"{API}/{product}", tuple(params.items())), instant(now))


def total(product, span, now):
    return json.loads(page(product, now, datetime_beginning_ept=span, pnode_id="1").body)["totalRows"]


def test_unverified_prices_go_and_verified_ones_come_on_business_days():
    november = "2026-11-01 00:00to2026-11-30 23:59"
    assert total("rt_unverified_fivemin_lmps", november, "2026-11-20T12:00:00-05:00") == 15 * 288 + 144 - 1
    friday, weekend = "2026-11-13 00:00to2026-11-13 23:59", "2026-11-13 00:00to2026-11-15 23:59"
    for now, of_friday, of_weekend in (
        ("2026-11-14T16:00:00-05:00", 0, 0),
        ("2026-11-16T14:59:00-05:00", 0, 0),
        ("2026-11-16T15:00:00-05:00", 288, 3 * 288),
    ):
        assert total("rt_fivemin_hrl_lmps", friday, now) == of_friday
        assert total("rt_fivemin_hrl_lmps", weekend, now) == of_weekend


@pytest.mark.parametrize(
    ("span", "count"),
    [
        ("2026-11-01 00:00to2026-11-01 23:59", 25),
        ("2026-03-08 00:00to2026-03-08 23:59", 23),
        ("2026-11-10 01:00to2026-11-10 01:00", 1),
        ("2026-11-10 01:01to2026-11-10 02:59", 1),
        ("2026-11-01 01:00to2026-11-01 01:59", 2),
    ],
)
def test_a_ranges_end_is_included(span, count):
    assert total("da_hrl_lmps", span, "2026-11-20T17:00:00Z") == count


def test_pages_follow_each_other_and_repeat_the_question(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T17:00:00Z")
    (request,) = feed("pjm.lmp_da").requests(market_days(date(2026, 10, 1), date(2026, 10, 4), TZ), clock.now())
    params = tuple((name, "40" if name == "rowCount" else value) for name, value in request.params)
    queue, sizes = [Request(request.feed, request.url, params, request.days)], []
    while queue:
        page_request = queue.pop()
        body = json.loads(pjm.answer(page_request, instant("2026-11-20T17:00:00Z")).body)
        assert body["searchSpecification"]["startRow"] == int(dict(page_request.params)["startRow"])
        sizes.append((len(body["items"]), body["totalRows"], [link["rel"] for link in body["links"]]))
        queue = feed("pjm.lmp_da").follow(json.dumps(body).encode(), page_request)
    assert sizes == [
        (40, 96, ["self", "next", "metadata"]),
        (40, 96, ["self", "next", "metadata"]),
        (16, 96, ["self", "metadata"]),
    ]


def test_what_is_not_known_is_refused():
    assert page("inst_load").status == 404
    assert page("da_hrl_lmps").status == 400
    assert page("da_hrl_lmps", datetime_beginning_ept="yesterday").status == 400
    assert (
        page("da_hrl_lmps", fields="total_lmp_rt", datetime_beginning_ept="2026-11-01 00:00to2026-11-01 23:59").status
        == 400
    )
    assert total("da_hrl_lmps", "2026-11-25 00:00to2026-11-25 23:59", "2026-11-20T17:00:00Z") == 0


# Compared with recordings


def test_a_page_is_the_recorded_one(recordings):
    body = json.loads((recordings / "pjm/da_hrl_lmps_zones_20260609.json").read_bytes())
    fields = "datetime_beginning_utc,pnode_id,pnode_name,type,total_lmp_da"
    params = (
        ("rowCount", "600"),
        ("startRow", "1"),
        ("fields", fields),
        ("type", "ZONE"),
        ("datetime_beginning_ept", "2026-06-09 00:00to2026-06-09 23:59"),
    )
    made = pjm.render_page("da_hrl_lmps", params, body["items"])
    assert json.dumps(json.loads(made)) == json.dumps(body)
    ours = json.loads(
        pjm.answer(Request("pjm.lmp_da", f"{API}/da_hrl_lmps", params), instant("2026-11-20T17:00:00Z")).body
    )
    assert [list(item) for item in ours["items"]] == [list(item) for item in body["items"]]
    for mine, theirs in zip(ours["items"], body["items"], strict=True):
        assert {**mine, "total_lmp_da": 0} == {**theirs, "total_lmp_da": 0}
    assert {key: ours[key] for key in ("links", "searchSpecification", "totalRows")} == {
        key: body[key] for key in ("links", "searchSpecification", "totalRows")
    }
