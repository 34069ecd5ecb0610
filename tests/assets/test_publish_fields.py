"""The published documents' fields: as specified, explained, static between two publications, and named on the page."""

from __future__ import annotations

from assets.documents.publish import publish
from tests.assets.published_zones import HOUR, NOW, document, fill
from warehouse.market.zones import ZONES
from warehouse.store.layout import SNAPSHOT

ZONE_FIELDS = {"attribution": str, "license": str}
VALUE = {"value": float, "unit": str, "ts": int, "resolution": str}
LATEST = {"zone": str, "metrics": dict, "attribution": str, "license": str, "updated": int}
CURRENT = {"value": float, "unit": str, "ts": int}
BRIEF = {
    "zone": str,
    "zone_name": str,
    "as_of": int,
    "current": dict,
    "context": dict,
    "context_window_requested_days": int,
    "trend_24h": dict,
    "generation_mix": dict,
    "generation_mix_unit": str,
    "summary": str,
    "coverage_note": str,
    "attribution": str,
    "license": str,
}
CONTEXT = {
    "percentile": int,
    "vs_median_pct": float,
    "median": float,
    "min": float,
    "max": float,
    "sample_count": int,
    "window_days_actual": float,
    "unit": str,
}
TREND = {"direction": str, "change_pct": float, "from_value": float}


def check(member, fields):
    assert {name: type(member.get(name)) for name in fields} == fields


def test_the_specifications_fields_and_types(world):
    fill(world)
    fill(world, "GB")
    for fuel in ("gas", "wind"):
        world.fold("GB", "generation", NOW - HOUR, [30.5, 31], "30m", fuel=fuel)
    publish(world.storage, NOW + 60)
    for zone in ("FR", "GB"):
        latest, brief = document(world, f"latest/{zone}.json"), document(world, f"brief/{zone}.json")
        check(latest, LATEST)
        check(brief, BRIEF)
        assert sorted(latest["metrics"]) == sorted(brief["current"]) == ["demand", "price"]
        for metric in ("demand", "price"):
            check(latest["metrics"][metric], VALUE | {"expected_by": int, "percentile": int, "source": str})
            check(brief["current"][metric], CURRENT)
            check(brief["context"][metric], CONTEXT)
            check(brief["trend_24h"][metric], TREND)
        assert brief["context_window_requested_days"] == 30
        assert brief["method"] == "brief/1"
    assert document(world, "latest/GB.json")["generation_mix"]["fuels"] == {"gas": 31, "wind": 31}
    assert document(world, "brief/GB.json")["generation_mix"] == {"gas": 31, "wind": 31}
    assert (
        document(world, "brief/FR.json")["generation_mix"],
        document(world, "brief/FR.json")["generation_mix_unit"],
    ) == ({}, "")
    snapshot = document(world, SNAPSHOT)
    check(snapshot, {"generated": int, "zones": dict})
    assert list(snapshot["zones"]) == list(ZONES)
    for zone, member in snapshot["zones"].items():
        check(member, ZONE_FIELDS | {"metrics": dict, "updated": int})
        latest = document(world, f"latest/{zone}.json")
        assert member["metrics"] == ({} if latest is None else latest["metrics"])


def test_a_zone_says_why_a_metric_is_missing(world):
    fill(world)
    publish(world.storage, NOW + 60, ["FR"])
    brief = document(world, "brief/FR.json")
    assert brief["context_omitted"] == brief["trend_omitted"] == {"interchange": "no_rows"}
    assert "No interchange is known." in brief["summary"]
    assert "No context for interchange: no value is known." in brief["coverage_note"]


def test_bodies_are_static_between_two_publications(world):
    fill(world)
    publish(world.storage, NOW + 60)
    before = {key: world.storage.get(key) for key in world.storage.keys("published/")}
    assert publish(world.storage, NOW + 60) == []
    assert {key: world.storage.get(key) for key in world.storage.keys("published/")} == before
