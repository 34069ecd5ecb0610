"""Zones, status and the catalogue: the specification's fields, states by the feeds' own schedules, what is withheld."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from api.endpoints.table import ENDPOINTS
from warehouse.documents.health import Health, note
from warehouse.errors import UNKNOWN_MEMBER
from warehouse.market.clock import HOUR, instant
from warehouse.market.market import Metric, Publication
from warehouse.market.zones import ZONES


def test_zones_are_the_25_of_the_specification_in_its_order(market: Any) -> None:
    zones = market.client().get("/v1/zones").get_json()["zones"]
    assert [zone["id"] for zone in zones] == list(ZONES)
    assert all(
        set(zone) == {"id", "name", "source", "tz", "market_tz", "currency", "license", "attribution"} for zone in zones
    )
    madrid = next(zone for zone in zones if zone["id"] == "ES")
    assert (madrid["tz"], madrid["market_tz"], madrid["currency"]) == ("Europe/Madrid", "Europe/Brussels", "EUR")
    britain = next(zone for zone in zones if zone["id"] == "GB")
    assert britain["source"] == "North Market Operator, South Market Operator"


def entry(client: Any, source: str, zone: str) -> Any:
    status = client.get("/v1/status").get_json()
    return next(member for member in status["sources"] if (member["source"], member["zone"]) == (source, zone))


def test_status_names_every_source_and_zone(market: Any) -> None:
    status = market.client().get("/v1/status").get_json()
    assert status["now"] == market.now
    pairs = [(member["source"], member["zone"]) for member in status["sources"]]
    assert pairs == sorted({(f.source, z) for s in market.sources.values() for f in s.feeds for z in f.zones})
    members = {"source", "zone", "last_ok", "last_error", "state", "expected_by", "serving"}
    assert all(set(m) == members for m in status["sources"])


@pytest.mark.parametrize(("minutes", "state"), [(0, "ok"), (44, "ok"), (46, "late"), (134, "late"), (136, "down")])
def test_a_state_follows_the_feeds_own_schedule(market: Any, minutes: int, state: str) -> None:
    """5-minute rows, published 10 minutes after their interval, 30 minutes of grace: due 45 minutes after the last."""
    behind = 60 * minutes
    note(
        market.storage,
        "north",
        [Health("north.grid", "AU-SA", last_ok=market.now - behind, data_until=market.now - behind)],
    )
    row = entry(market.client(), "north", "AU-SA")
    assert row["state"] == state
    assert row["expected_by"] == market.now - behind + 45 * 60


def test_a_failing_feed_shows_at_once_and_the_other_zones_go_on(market: Any) -> None:
    client = market.client()
    for zone in ("AU-SA", "AU-NSW"):
        note(market.storage, "north", [Health("north.grid", zone, last_ok=market.now - 60, data_until=market.now)])
    assert entry(client, "north", "AU-SA")["last_error"] == ""
    note(
        market.storage,
        "north",
        [Health("north.grid", "AU-SA", last_error="503 from the publisher", last_error_at=market.now)],
    )
    row = entry(client, "north", "AU-SA")
    assert row["last_error"] == "north.grid: 503 from the publisher"
    assert row["last_ok"] == market.now - 60
    assert entry(client, "north", "AU-NSW")["last_error"] == ""


def test_an_unknown_member_stands_beside_another_feeds_newer_failure(market: Any) -> None:
    known = {"last_ok": market.now, "data_until": market.now, "last_error_at": market.now}
    unknown = Health("north.grid", "AU-NSW", last_error=f"{UNKNOWN_MEMBER}interconnector 'X'", **known)
    failed = Health("north.price", "AU-NSW", last_error="503", last_error_at=market.now + 1)
    note(market.storage, "north", [unknown, failed])
    row = entry(market.client(), "north", "AU-NSW")
    assert row["last_error"] == "north.price: 503; north.grid: unknown to this service: interconnector 'X'"


def test_a_zone_is_as_badly_off_as_its_worst_metric(market: Any) -> None:
    note(
        market.storage,
        "north",
        [
            Health("north.grid", "AU-NSW", last_ok=market.now, data_until=market.now),
            Health("north.price", "AU-NSW", last_ok=market.now, data_until=market.now - 24 * HOUR),
        ],
    )
    assert entry(market.client(), "north", "AU-NSW")["state"] == "down"


def with_daily_feed(market: Any) -> None:
    """Publishes the catalogue with a second feed of AU-SA's demand, which brings whole days one day late."""
    north = market.sources["north"]
    grid = next(f for f in north.feeds if f.id == "north.grid")
    out = Publication(daily_at=dt.time(0, 15), day_offset=1, grace_minutes=18 * 60)
    daily = replace(grid, id="north.daily", zones=("AU-SA",), metrics=(Metric.DEMAND,), publication=out)
    market.sources["north"] = replace(north, feeds=(*north.feeds, daily))
    market.publish()


@pytest.mark.parametrize(
    ("behind", "state"), [(44, "ok"), (46, "late"), (134, "late"), (136, "down"), (12 * 60, "down")]
)
def test_a_slow_feed_on_its_own_schedule_does_not_excuse_a_fast_one(market: Any, behind: int, state: str) -> None:
    """Both feeds carry demand; the rows of both end where the fast feed stopped."""
    with_daily_feed(market)
    until = market.now - 60 * behind
    reached = {"demand": until, "interchange": market.now}
    note(
        market.storage,
        "north",
        [
            Health("north.grid", "AU-SA", last_ok=until, last_error="503", last_error_at=market.now, reached=reached),
            Health("north.daily", "AU-SA", last_ok=market.now, data_until=until),
        ],
    )
    row = entry(market.client(), "north", "AU-SA")
    assert row["state"] == state
    assert row["expected_by"] == until + 45 * 60


def test_rows_of_a_slow_feed_that_reach_as_far_as_the_fast_one_owes_are_ok(market: Any) -> None:
    with_daily_feed(market)
    reached = {"demand": 300, "interchange": market.now}
    grid = Health("north.grid", "AU-SA", last_ok=1, last_error="503", last_error_at=market.now, reached=reached)
    note(market.storage, "north", [grid, Health("north.daily", "AU-SA", last_ok=market.now, data_until=market.now)])
    assert entry(market.client(), "north", "AU-SA")["state"] == "ok"


def test_a_feed_without_credentials_promises_nothing_beside_one_that_needs_none(market: Any) -> None:
    with_daily_feed(market)
    unset = Health("north.grid", "AU-SA", last_error="not configured: set X_KEY", last_error_at=market.now)
    until = market.now - 10 * HOUR
    note(market.storage, "north", [unset, Health("north.daily", "AU-SA", last_ok=market.now, data_until=until)])
    row = entry(market.client(), "north", "AU-SA")
    assert row["state"] == "unknown"  # of interchange, which nobody else carries
    assert row["expected_by"] == instant("2026-03-31T18:15:00Z")


def test_one_metric_of_a_feed_does_not_make_up_for_another(market: Any) -> None:
    """Rows of another metric in the future do not hide that demand is late."""
    ahead, dead = market.now + 36 * HOUR, market.now - 5 * HOUR
    note(
        market.storage,
        "north",
        [
            Health(
                "north.grid",
                "AU-SA",
                last_ok=market.now,
                data_until=ahead,
                reached={"demand": dead, "interchange": ahead},
            )
        ],
    )
    row = entry(market.client(), "north", "AU-SA")
    assert (row["state"], row["expected_by"]) == ("down", dead + 45 * 60)


def test_a_metric_that_never_came_is_unknown_and_down_where_asking_fails(market: Any) -> None:
    reached = {"demand": market.now, "interchange": 0}
    note(
        market.storage,
        "north",
        [Health("north.grid", "AU-SA", last_ok=market.now, data_until=market.now, reached=reached)],
    )
    client = market.client()
    assert entry(client, "north", "AU-SA")["state"] == "unknown"
    note(
        market.storage,
        "north",
        [Health("north.grid", "AU-SA", last_error="503", last_error_at=market.now, reached=reached)],
    )
    assert entry(client, "north", "AU-SA")["state"] == "down"


def test_status_is_computed_when_asked_for(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    note(market.storage, "north", [Health("north.grid", "AU-SA", last_ok=market.now, data_until=market.now)])
    client = market.client()
    assert entry(client, "north", "AU-SA")["state"] == "ok"
    monkeypatch.setenv("EMDS_NOW", "2026-03-31T12:10:00Z")
    assert entry(client, "north", "AU-SA")["state"] == "down"


def test_the_catalogue_holds_metrics_feeds_spans_and_prices(market: Any) -> None:
    catalog = market.client().get("/catalog").get_json()
    price = catalog["zones"]["GB"]["metrics"]["price"]
    assert (price["unit"], price["resolution"], price["rows"]) == ("GBP/MWh", "30m", 97)
    assert price["first"] < price["last"] <= market.now
    assert [feed["id"] for feed in catalog["zones"]["GB"]["metrics"]["demand"]["feeds"]] == [
        "north.grid",
        "south.hourly",
    ]
    assert catalog["feeds"]["shut.price"]["withheld"] is True
    prices = {member["path"]: member.get("price_usd") for member in catalog["endpoints"]}
    assert (prices["/v1/brief/{zone}"], prices["/v1/latest/{zone}"], prices["/v1/zones"]) == ("0.02", "0.001", None)
    assert {member["id"] for member in catalog["endpoints"]} == set(ENDPOINTS)


def test_a_new_catalogue_is_seen_without_a_restart(market: Any) -> None:
    client = market.client()
    before = client.get("/catalog").get_json()["zones"]["GB"]["metrics"]["price"]["rows"]
    market.put("north.price", "GB", "price", [(market.now + 3600, 1.0)], "GBP/MWh", "30m")
    market.publish()
    assert client.get("/catalog").get_json()["zones"]["GB"]["metrics"]["price"]["rows"] == before + 1
