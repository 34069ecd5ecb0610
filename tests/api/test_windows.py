"""Test `/v1/windows/{zone}`: the best hours from published prices, what is unknown, refused and charged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.api.declared_sources import SOURCES
from warehouse.market.clock import HOUR, instant
from warehouse.store import layout

NOW = instant("2026-03-30T12:10:00Z")
RUNNING = instant("2026-03-30T12:00:00Z")
HALF = 1800


@pytest.fixture
def ahead(rig: Any) -> Any:
    """Return DE-LU's prices to the end of tomorrow and US-NYISO's auction. GB has no known future prices."""
    start = RUNNING - 12 * HOUR
    rig.put("north.price", "DE-LU", "price", rig.every(start, HALF, 92, lambda i: 60 - i % 7), "EUR/MWh", "30m")
    rig.put("north.auction", "US-NYISO", "price_day_ahead", rig.every(start, HOUR, 20, float), "USD/MWh", "1h")
    rig.put("north.price", "GB", "price", rig.every(start, HALF, 24, float), "GBP/MWh", "30m")
    rig.publish()
    return rig


@pytest.fixture
def ask(ahead: Any) -> Any:
    """Return `ask(zone, **query)`, which requests with a key and returns the status and body."""
    client = ahead.client()
    key = ahead.key(client)

    def get(zone: str, **query: Any) -> tuple[int, Any]:
        answer = client.get(f"/v1/windows/{zone}", query_string=query, headers=key)
        return answer.status_code, answer.get_json()

    return get


def test_from_to_and_between_bound_the_search(ask: Any) -> None:
    """Check bounds in UTC and in Berlin's civil time, which is two hours ahead."""
    _, body = ask("DE-LU", hours=1, **{"from": RUNNING + HOUR, "to": "2026-03-30T16:00:00Z"})
    assert (body["horizon"]["from"], body["horizon"]["until"]) == (RUNNING + HOUR, RUNNING + 4 * HOUR)
    assert body["horizon"]["complete"] is True
    assert body["now"] == {"in_best": False, "rank": None}
    _, body = ask("DE-LU", hours=2, between="23:00-01:00")
    assert body["start"] == instant("2026-03-30T23:00:00+02:00")
    assert (body["between"], body["blocks"]) == ("23:00-01:00", 1)
    _, body = ask("DE-LU", **{"from": "2026-04-02"})
    assert (body["available"], body["reason"], body["horizon"]["complete"]) == (False, "not_known_yet", False)
    assert body["horizon"]["until"] == RUNNING - 12 * HOUR + 92 * HALF


@pytest.mark.parametrize("query", [{}, {"hours": 5}, {"kwh": 22, "kw": 5}])
@pytest.mark.parametrize("zone", ["DE-LU", "GB"])
def test_a_block_that_is_longer_than_between_is_refused_whatever_is_known(
    ask: Any, zone: str, query: dict[str, Any]
) -> None:
    """Include Great Britain, which has no known future prices."""
    status, body = ask(zone, between="23:00-01:00", **query)
    assert (status, [(fault["parameter"], fault["code"]) for fault in body["errors"]]) == (
        400,
        [("between", "out-of-range")],
    )
    assert body["errors"][0]["detail"].startswith("lasts 2 hours, but the block ")
    assert ask(zone, between="23:00-01:00", slots=6)[0] == ask(zone, between="22:00-01:00")[0] == 200


def test_energy_stands_in_place_of_hours_and_its_cost_in_the_answer(ask: Any) -> None:
    _, body = ask("DE-LU", kwh="22", kw="7.4")
    assert body["end"] - body["start"] == -(-22 * 36000 // 74)
    assert body["hours"] == 2.9731, "at most four decimals, which name the second"
    assert round(body["hours"] * 3600) == body["end"] - body["start"]
    cost = body["cost"]
    assert (cost["unit"], cost["kwh"], cost["kw"]) == ("EUR", 22, 7.4)
    assert cost["value"] == pytest.approx(0.022 * body["mean"], abs=1e-4)
    assert "without tariff" in cost["note"]


def vintage(rig: Any, published: int, values: list[float], zone: str = "AU-NSW") -> None:
    """Store a forecast of half hours, which starts with the half hour of its publication time."""
    feed, metric, unit = {
        "AU-NSW": ("east.price", "price_forecast", "AUD/MWh"),
        "GB": ("east.carbon", "carbon_intensity_forecast", "gCO2/kWh"),
    }[zone]
    rows = rig.every(published - published % HALF, HALF, len(values), values.__getitem__)
    rig.put(feed, zone, metric, rows, unit, "30m", published, published_at=published, basis="name")


@pytest.mark.parametrize("zone", ["AU-NSW", "GB"])
def test_where_no_auction_is_held_the_newest_forecast_of_the_operator_answers(ask: Any, ahead: Any, zone: str) -> None:
    vintage(ahead, NOW - 2400, [10.0] * 6 + [2, 50, 50, 1], zone)
    vintage(ahead, NOW - 600, [40, 30, 9, 30, 30, 30], zone)
    metric = "price" if zone == "AU-NSW" else "carbon_intensity"
    _, body = ask(zone, hours=1, metric=metric)
    # The older vintage still serves the half hours that the newer one does not reach.
    assert [body[name] for name in ("available", "basis", "published_at")] == [True, "operator_forecast", NOW - 600]
    assert body["horizon"]["until"] == RUNNING - HALF + 10 * HALF
    assert body["horizon"]["next_auction_by"] is None
    assert (body["start"], body["mean"]) == (RUNNING + HALF, 19.5)
    assert body["lead_s"] == body["start"] - (NOW - 600)
    assert body["error"] is None
    assert "market" not in body
    errors = [None if hour == 3 else 7.5 * hour for hour in range(1, 49)]
    ahead.put_document(layout.PUBLISHERS, {"scores": [{"zone": zone, "metric": metric, "mae_by_hour": errors}]})
    for begin, error in ((0, 7.5), (2, 7.5), (3, 15), (6, None), (7, 30)):
        _, body = ask(
            zone, slots=1, metric=metric, **{"from": RUNNING + begin * HALF, "to": RUNNING + (begin + 1) * HALF}
        )
        assert (body["slots"][0]["start"] - RUNNING, body["error"]) == (begin * HALF, error)
    _, body = ask(zone, slots=2, metric=metric)
    assert [slot["value"] for slot in body["slots"]] == [1, 9] or [slot["value"] for slot in body["slots"]] == [9, 1]
    assert body["lead_s"] == body["slots"][-1]["start"] - (NOW - 600)
    _, body = ask(zone, kwh=10, kw=10, metric=metric)
    assert body["cost"]["value"] == (0.195 if zone == "AU-NSW" else 195)
    assert body["cost"]["unit"] == ("AUD" if zone == "AU-NSW" else "gCO2")


def test_a_forecast_is_used_until_its_publisher_had_two_chances_to_renew_it(ask: Any, ahead: Any) -> None:
    """Check an age of two fetch intervals (`every_minutes`), in which the publisher could renew the forecast twice."""
    step = 60 * next(feed for feed in SOURCES["east"].feeds if feed.id == "east.price").every_minutes
    for age, reason in ((2 * step + 1, "forecast_too_old"), (2 * step, None)):
        vintage(ahead, NOW - age, [10.0] * 40)
        _, body = ask("AU-NSW", hours=1)
        assert (body["available"], body.get("reason")) == (reason is None, reason)


def test_a_forecast_that_is_withheld_is_none(ask: Any, ahead: Any) -> None:
    vintage(ahead, NOW, [10.0] * 40)
    assert ask("AU-NSW", hours=1)[1]["available"]
    ahead.sources["east"] = replace(SOURCES["east"], withheld=True, redistributable="no")
    ahead.publish()
    assert ask("AU-NSW", hours=1)[1]["reason"] == "nothing_ahead"


@pytest.mark.parametrize(
    ("zone", "query", "reason"),
    [
        ("GB", {}, "nothing_ahead"),
        ("GB", {"metric": "carbon_intensity"}, "not_known_yet"),
        ("AU-NSW", {}, "not_known_yet"),
        ("FR", {}, "not_known_yet"),
        ("US-NYISO", {"hours": 20}, "horizon_too_short"),
    ],
)
def test_what_is_not_known_is_said(ask: Any, zone: str, query: dict[str, Any], reason: str) -> None:
    status, body = ask(zone, **query)
    assert (status, body["available"], body["reason"]) == (200, False, reason)
    assert "mean" not in body


def test_what_cannot_be_is_refused(ask: Any) -> None:
    for query in (
        {"hours": 0},
        {"hours": "0.3"},
        {"within": "-1h"},
        {"kind": "best"},
        {"metric": "demand"},
        {"start": 5},
        {"slots": 0},
        {"slots": 2, "hours": 2},
        {"slots": 2, "kwh": 2, "kw": 2},
        {"kwh": 5},
        {"kwh": 0, "kw": 5},
        {"to": RUNNING},
        {"from": RUNNING + 2 * HOUR, "to": RUNNING + 2 * HOUR},
        {"to": RUNNING + 2 * HOUR, "within": 2},
        {"between": "22:00-22:00"},
        {"between": "22-23"},
    ):
        assert ask("DE-LU", **query)[0] == 400, query
    assert ask("XX")[0] == 404
    assert ask("FR", metric="carbon_intensity")[0] == 404
    assert ask("US-PJM")[0] == 404


def test_statistics_take_no_parameters_of_rows(ahead: Any) -> None:
    """Check only refusals. `tests.independent` computes the values of statistics a second time."""
    client = ahead.client()
    key = ahead.key(client)
    for path, status in (
        *((f"/v1/price/GB?stats=true&{wrong}", 400) for wrong in ("limit=5", "order=desc", "format=csv", "above=nan")),
        *((f"/v1/price/GB?stats=true&{wrong}", 400) for wrong in ("interval=1h", "above=much", "below=1e9")),
        ("/v1/price/GB?above=5", 400),
        (f"/v1/price/GB?stats=true&start=1970&end={NOW}", 400),
        ("/v1/capacity/FR?stats=true", 400),
        ("/v1/price/US-PJM?stats=true", 404),
    ):
        assert client.get(path, headers=key).status_code == status, path


def test_a_sample_keeps_the_best_block_alone(ahead: Any) -> None:
    body = ahead.client().get("/v1/windows/DE-LU?hours=1&sample=true").get_json()
    assert body["sample"] is True
    assert body["mean"] == 54.5
    assert "alternatives" not in body
    assert "now" not in body
