"""Zones, status and the catalogue: the specification's fields, states by the feeds' own schedules, what is withheld."""

from __future__ import annotations

from typing import Any

import pytest

from api.endpoints import ENDPOINTS
from warehouse.clock import HOUR
from warehouse.health import Health, note
from warehouse.zones import ZONES


def test_zones_are_the_25_of_the_specification_in_its_order(market: Any) -> None:
    zones = market.client().get("/v1/zones").get_json()["zones"]
    assert [zone["id"] for zone in zones] == list(ZONES)
    assert all(set(zone) == {"id", "name", "source", "tz", "market_tz", "currency", "license", "attribution"} for zone in zones)
    madrid = next(zone for zone in zones if zone["id"] == "ES")
    assert (madrid["tz"], madrid["market_tz"], madrid["currency"]) == ("Europe/Madrid", "Europe/Brussels", "EUR")
    britain = next(zone for zone in zones if zone["id"] == "GB")
    assert britain["source"] == "North Market Operator, South Market Operator"


def entry(client: Any, source: str, zone: str) -> Any:
    found = client.get("/v1/status").get_json()
    return next(member for member in found["sources"] if (member["source"], member["zone"]) == (source, zone))


def test_status_names_every_source_and_zone(market: Any) -> None:
    found = market.client().get("/v1/status").get_json()
    assert found["now"] == market.now
    pairs = [(member["source"], member["zone"]) for member in found["sources"]]
    assert pairs == sorted({(f.source, z) for s in market.sources.values() for f in s.feeds for z in f.zones})
    assert all(set(m) == {"source", "zone", "last_ok", "last_error", "state", "expected_by"} for m in found["sources"])


def test_a_feed_that_never_ran_is_unknown(market: Any) -> None:
    found = entry(market.client(), "north", "DE-LU")
    assert (found["last_ok"], found["last_error"], found["state"], found["expected_by"]) == (0, "", "unknown", None)


@pytest.mark.parametrize(("minutes", "state"), [(0, "ok"), (44, "ok"), (46, "late"), (134, "late"), (136, "down")])
def test_a_state_follows_the_feeds_own_schedule(market: Any, minutes: int, state: str) -> None:
    """5-minute rows out 10 minutes after their interval, with 30 minutes of grace: due 45 minutes after the last."""
    behind = 60 * minutes
    note(market.storage, "north", [Health("north.grid", "AU-SA", last_ok=market.now - behind, data_until=market.now - behind)])
    found = entry(market.client(), "north", "AU-SA")
    assert found["state"] == state
    assert found["expected_by"] == market.now - behind + 45 * 60


def test_a_failing_feed_shows_at_once_and_the_other_zones_go_on(market: Any) -> None:
    client = market.client()
    for zone in ("AU-SA", "AU-NSW"):
        note(market.storage, "north", [Health("north.grid", zone, last_ok=market.now - 60, data_until=market.now)])
    assert entry(client, "north", "AU-SA")["last_error"] == ""
    note(market.storage, "north", [Health("north.grid", "AU-SA", last_error="503 from the publisher", last_error_at=market.now)])
    found = entry(client, "north", "AU-SA")
    assert found["last_error"] == "north.grid: 503 from the publisher"
    assert found["last_ok"] == market.now - 60
    assert entry(client, "north", "AU-NSW")["last_error"] == ""


def test_a_zone_is_as_badly_off_as_its_worst_metric(market: Any) -> None:
    note(market.storage, "north", [
        Health("north.grid", "AU-NSW", last_ok=market.now, data_until=market.now),
        Health("north.price", "AU-NSW", last_ok=market.now, data_until=market.now - 24 * HOUR),
    ])
    assert entry(market.client(), "north", "AU-NSW")["state"] == "down"


def test_status_is_computed_when_asked_for(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    note(market.storage, "north", [Health("north.grid", "AU-SA", last_ok=market.now, data_until=market.now)])
    client = market.client()
    assert entry(client, "north", "AU-SA")["state"] == "ok"
    monkeypatch.setenv("EMDS_NOW", "2026-03-31T12:10:00Z")
    assert entry(client, "north", "AU-SA")["state"] == "down"


def test_the_catalogue_holds_metrics_feeds_spans_and_prices(market: Any) -> None:
    found = market.client().get("/catalog").get_json()
    price = found["zones"]["GB"]["metrics"]["price"]
    assert (price["unit"], price["resolution"], price["rows"]) == ("GBP/MWh", "30m", 97)
    assert price["first"] < price["last"] <= market.now
    assert [feed["id"] for feed in found["zones"]["GB"]["metrics"]["demand"]["feeds"]] == ["north.grid", "south.hourly"]
    assert found["feeds"]["shut.price"]["withheld"] is True
    prices = {member["path"]: member.get("price_usd") for member in found["endpoints"]}
    assert (prices["/v1/brief/{zone}"], prices["/v1/latest/{zone}"], prices["/v1/zones"]) == ("0.02", "0.001", None)
    assert {member["id"] for member in found["endpoints"]} == set(ENDPOINTS)


def test_a_new_catalogue_is_seen_without_a_restart(market: Any) -> None:
    client = market.client()
    before = client.get("/catalog").get_json()["zones"]["GB"]["metrics"]["price"]["rows"]
    market.put("north.price", "GB", "price", [(market.now + 3600, 1.0)], "GBP/MWh", "30m")
    market.publish()
    assert client.get("/catalog").get_json()["zones"]["GB"]["metrics"]["price"]["rows"] == before + 1
