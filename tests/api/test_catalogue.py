"""Test zones, status, the catalogue and publishers, with states that follow the schedules of the feeds."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from api.endpoints.table import ENDPOINTS
from assets.documents import publishers
from tests.api.conftest import NOW, Rig, fill
from tests.stand_ins.declared import feed, source
from warehouse.documents import attempts
from warehouse.documents.health import Health, note
from warehouse.errors import name_unknown
from warehouse.market.clock import DAY
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.market.zones import ZONES
from warehouse.store import layout


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
    members = {"source", "zone", "last_ok", "last_error", "state", "expected_by", "served_by"}
    assert all(set(m) == members for m in status["sources"])


def test_the_serving_feed_is_the_one_that_reaches_furthest_then_the_best_ranked(market: Any) -> None:
    client, now = market.client(), market.now
    for north, south, serving in ((0, 0, None), (0, now, "south.hourly"), (now, now, "north.grid")):
        note(market.storage, "north", [Health("north.grid", "GB", data_until=north)])
        note(market.storage, "south", [Health("south.hourly", "GB", data_until=south)])
        assert entry(client, "south", "GB")["served_by"].get("demand") == serving


@pytest.mark.parametrize(("days_ago", "serving"), [(0, "north.ahead"), (1, "north.ahead"), (3, "south.ahead")])
def test_of_forecasts_the_best_ranked_feed_serves_as_far_ahead_as_its_vintages_reach(
    rig: Rig, days_ago: int, serving: str
) -> None:
    """Set `reached` to the publication time of each feed's newest vintage, which is now for the feed of rank 9."""
    for code, rank in (("north", 1), ("south", 9)):
        own = feed(
            f"{code}.ahead", ("GB",), (Forecast.DEMAND,), "1h", rank=rank, publication=Publication(day_offset=-1)
        )
        rig.sources[code] = source(code, (own,))
        reached = {Forecast.DEMAND.value: rig.now - (DAY * days_ago - 60 if rank == 1 else 0)}
        note(rig.storage, code, [Health(own.id, "GB", data_until=rig.now, reached=reached)])
    rig.publish()
    assert entry(rig.client(), "north", "GB")["served_by"] == {"demand_forecast": serving}


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
    unknown = Health(
        "north.grid", "AU-NSW", last_error=name_unknown(["interconnector 'X'"]), error_kind="unknown_member", **known
    )
    failed = Health("north.price", "AU-NSW", last_error="503", last_error_at=market.now + 1)
    note(market.storage, "north", [unknown, failed])
    row = entry(market.client(), "north", "AU-NSW")
    assert row["last_error"] == "north.price: 503; north.grid: unknown to this service: interconnector 'X'"


def with_daily_feed(market: Any) -> None:
    """Publish the catalogue with a second feed of AU-SA's demand, which delivers whole days one day late."""
    north = market.sources["north"]
    grid = next(f for f in north.feeds if f.id == "north.grid")
    out = Publication(daily_at=dt.time(0, 15), day_offset=1, grace_minutes=18 * 60)
    daily = replace(grid, id="north.daily", zones=("AU-SA",), metrics=(Metric.DEMAND,), publication=out)
    market.sources["north"] = replace(north, feeds=(*north.feeds, daily))
    market.publish()


Report = tuple[str, int | None, dict[str, int]]
"""The error of a failed feed or an empty text, and how many minutes ago its rows end, in total or by metric."""


def fast(ago: int | None = None, error: str = "", **reached: int) -> Report:
    return error, ago, reached


SLOW, NEVER = 10 * 60, 1 << 30
STATES: list[tuple[Report, int | None, str, int | None]] = [
    # Each case has the report of the fast feed, the minutes since the slow feed's rows end, a state, and a due time.
    # Rows of 5 minutes are published 10 minutes after their end with 30 minutes of grace. The next row is due
    # 45 minutes after the last one.
    *((fast(ago), None, state, 45 - ago) for ago, state in ((0, "ok"), (44, "ok"), (46, "late"), (134, "late"))),
    (fast(136), None, "down", 45 - 136),
    (fast(demand=300, interchange=-36 * 60), None, "down", 45 - 300),  # one metric does not make up for another
    (fast(demand=0, interchange=NEVER), None, "unknown", None),  # a metric that never arrived
    (fast(demand=0, interchange=NEVER, error="503"), None, "down", None),
    # Both feeds carry demand. The slow feed does not excuse the fast one, and suffices if it reaches as far.
    *(
        (fast(demand=ago, interchange=0, error="503"), ago, state, 45 - ago)
        for ago, state in ((44, "ok"), (46, "late"))
    ),
    (fast(demand=136, interchange=0, error="503"), 136, "down", 45 - 136),
    (fast(demand=NEVER, interchange=0, error="503"), 0, "ok", None),
    # A feed without credentials promises nothing. It is the only feed of interchange, so that state is unknown.
    (fast(error="not configured: set X_KEY"), SLOW, "unknown", None),
]


@pytest.mark.parametrize(("report", "slow", "state", "due"), STATES)
def test_a_state_follows_each_feeds_own_schedule(
    market: Any, report: Report, slow: int | None, state: str, due: int | None
) -> None:
    """Check that the metric in the worst state decides for the zone."""
    if slow is not None:
        with_daily_feed(market)
    error, ago, reached = report
    ends = {metric: max(0, market.now - 60 * each) for metric, each in reached.items()}
    until = 0 if ago is None else market.now - 60 * ago
    kind = "not_configured" if error.startswith("not configured") else "server"
    at = market.now if error else 0
    rows = [Health("north.grid", "AU-SA", until or market.now, error, at, until, reached=ends, error_kind=kind)]
    if slow is not None:
        rows.append(Health("north.daily", "AU-SA", market.now, data_until=market.now - 60 * slow))
    note(market.storage, "north", rows)
    row = entry(market.client(), "north", "AU-SA")
    assert row["state"] == state
    assert due is None or row["expected_by"] == market.now + 60 * due


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


def measured(rig: Rig) -> None:
    fill(rig)
    attempts.note(rig.storage, "north.price", NOW - 60, 4, {"server": 2}, 900)
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)


def test_filters_keep_what_fits_all_of_them_and_name_what_is_allowed(rig: Rig) -> None:
    measured(rig)
    client = rig.client()
    whole = client.get("/v1/publishers").get_json()["publishers"]
    for query, wanted in (
        ("source=south", {"source": "south"}),
        ("feed=north.mix", {"feed": "north.mix"}),
        ("month=2026-03&source=north", {"month": "2026-03", "source": "north"}),
        ("month=1999-01", {"month": "1999-01"}),
    ):
        part = client.get(f"/v1/publishers?{query}").get_json()
        assert part["publishers"] == [entry for entry in whole if wanted.items() <= entry.items()], query
        assert part["count"] == len(part["publishers"])
    for query, allowed in (
        ("source=nowhere", "north, shut, south"),
        ("feed=north", "north.price"),
        ("month=2026-13", "a month such as 2026-11"),
    ):
        answer = client.get(f"/v1/publishers?{query}")
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json"), query
        assert allowed in answer.text, query


def test_a_zone_that_a_pipeline_with_more_zones_has_added_is_not_listed(rig: Rig) -> None:
    fill(rig)
    document = rig.client().get("/catalog").get_json()
    document["zones"]["ZZ-9"] = {**document["zones"]["FR"], "id": "ZZ-9"}
    rig.put_document(layout.CATALOGUE, document)
    assert [zone["id"] for zone in rig.client().get("/v1/zones").get_json()["zones"]] == [*ZONES]


@pytest.mark.parametrize("path", ["/v1/status", "/openapi.json", "/docs", "/llms.txt", "/v1/zones"])
def test_a_metric_that_this_release_does_not_know_leaves_the_others_served(rig: Rig, path: str) -> None:
    """Serve a newer release's catalogue, as after a rollback until the pipeline publishes again."""
    fill(rig)
    document = rig.client().get("/catalog").get_json()
    document["zones"]["FR"]["metrics"]["frequency"] = document["zones"]["FR"]["metrics"]["demand"]
    for entry in document["feeds"].values():
        entry["metrics"].append("frequency")
    rig.put_document(layout.CATALOGUE, document)
    answer = rig.client().get(path)
    assert answer.status_code == 200, answer.text
