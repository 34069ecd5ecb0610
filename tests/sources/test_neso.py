"""Test NESO: half hours matched by their end, only actual values, and rejections by type."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.judge.quality import judge
from warehouse.market import clock
from warehouse.market.clock import market_days
from warehouse.market.feeds import Request

INTENSITY, GENERATION = sources.feed("neso.carbon_intensity"), sources.feed("neso.generation")


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


def read(feed, document):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return feed.parse(body, Request(feed.id, ""))


def half_hour(start, end, **what):
    return {"from": start, "to": end, **what}


MIDNIGHT = half_hour(
    "2026-08-01T00:00Z", "2026-08-01T00:30Z", intensity={"forecast": 167, "actual": 165, "index": "moderate"}
)
RUNNING = half_hour(
    "2026-08-01T00:30Z", "2026-08-01T01:00Z", intensity={"forecast": 164, "actual": None, "index": "low"}
)
MIX = half_hour(
    "2021-04-30T21:30Z",
    "2021-04-30T22:00Z",
    generationmix=[{"fuel": "biomass", "perc": 7.8}, {"perc": 0, "fuel": "coal"}, {"fuel": "imports", "perc": None}],
)


@pytest.mark.parametrize("forecast", [89, 185, None])
def test_zero_where_carbon_was_foreseen_is_a_missing_reading(forecast):
    zero = {**MIDNIGHT, "intensity": {"forecast": forecast, "actual": 0, "index": "very low"}}
    rows = read(INTENSITY, {"data": [zero]})
    assert not len(rows)
    assert rows.dropped == {"actual of 0": 1}
    assert rows.refused == {("GB", "carbon_intensity"): {1785542400}}


def test_no_grid_is_free_of_carbon():
    rows = read(INTENSITY, {"data": [{**MIDNIGHT, "intensity": {"forecast": 20, "actual": 0}}, RUNNING]})
    assert not len(judge(rows, INTENSITY, (), 0).accepted)


def test_no_request_crosses_the_new_year():
    for feed in (INTENSITY, GENERATION):
        requests = ask(feed, date(2026, 12, 30), date(2027, 1, 2))
        assert [(r.days[0], r.days[-1]) for r in requests] == [
            (date(2026, 12, 30), date(2026, 12, 31)),
            (date(2027, 1, 1), date(2027, 1, 2)),
        ]


@pytest.mark.parametrize("data", [MIX, [MIX]], ids=["object", "list"])
def test_data_may_be_an_object_or_a_list(data):
    rows = read(GENERATION, {"data": data})
    assert [(r.fuel, r.value, r.unit, r.ts) for r in rows] == [
        ("biomass", 7.8, "%", 1619818200),
        ("coal", 0.0, "%", 1619818200),
    ]


def test_a_mix_that_lacks_a_fuel_is_dropped_and_counted():
    shares = [{"fuel": "gas", "perc": 60.0}, {"fuel": "wind", "perc": 39.9}]
    whole = half_hour("2026-08-01T00:00Z", "2026-08-01T00:30Z", generationmix=shares)
    cut = half_hour("2026-08-01T00:30Z", "2026-08-01T01:00Z", generationmix=shares[:1])
    rows = read(GENERATION, {"data": [whole, cut]})
    assert {r.ts for r in rows} == {1785542400}
    assert rows.dropped == {"shares that are not 100 per cent": 1}
