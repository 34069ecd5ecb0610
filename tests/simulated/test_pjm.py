"""Simulated PJM: pages hold the model's values, publish on time, repeat the query, and are shaped as recorded."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets.simulated import pjm
from assets.sources import feed
from assets.sources.pjm import API, TZ
from warehouse.market import clock
from warehouse.market.clock import instant, market_days
from warehouse.market.market import Request


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


# Compared with recordings
