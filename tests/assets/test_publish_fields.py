"""Check the published documents' fields: specified, described on the page, and static between two publications."""

from __future__ import annotations

from msgspec import to_builtins

from api.documents.published import filtered_snapshot, sample_brief, sample_latest
from assets.documents.publish import publish
from tests.assets.published_zones import HOUR, NOW, document, fill
from warehouse.documents.present import Brief, Latest, Snapshot
from warehouse.market.metric_definition import CurrentMix
from warehouse.market.metrics import MIXES
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.store.artefact import load_as
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


def without_mixes(body):
    """Return `body` without the values by fuel, which the types do not list."""
    return {name: part for name, part in body.items() if not any(mix.names(name) for mix in MIXES.values())}


def test_documents_have_the_fields_of_their_types_and_no_others(world):
    for zone in ("FR", "GB"):
        fill(world, zone)
    world.fold("GB", "generation", NOW - 2 * HOUR, [31.0], "1h", fuel="gas")
    publish(world.storage, NOW + 60)
    for name, kind in (("latest/GB.json", Latest), ("brief/GB.json", Brief), ("brief/FR.json", Brief)):
        assert to_builtins(load_as(world.storage, name, kind)) == without_mixes(document(world, name))
    snapshot = document(world, SNAPSHOT)
    zones = {zone: without_mixes(member) for zone, member in snapshot["zones"].items()}
    assert to_builtins(load_as(world.storage, SNAPSHOT, Snapshot)) == {**snapshot, "zones": zones}


def test_a_zone_says_why_a_metric_is_missing(world):
    fill(world)
    publish(world.storage, NOW + 60, ["FR"])
    brief = document(world, "brief/FR.json")
    assert brief["context_omitted"] == brief["trend_omitted"] == {"interchange": "no_rows"}
    assert "No interchange data is available." in brief["summary"]
    assert "No ranking for interchange: no data is available." in brief["coverage_note"]


def test_bodies_are_static_between_two_publications(world):
    fill(world)
    publish(world.storage, NOW + 60)
    before = {key: world.storage.get(key) for key in world.storage.keys("published/")}
    assert publish(world.storage, NOW + 60) == []
    assert {key: world.storage.get(key) for key in world.storage.keys("published/")} == before


def test_a_metric_by_fuel_is_in_the_documents_as_its_definition_says(world, monkeypatch):
    """The metric has another, flat field.

    Documents do not wait for it: an old mix changes neither staleness nor the charge.
    """
    fill(world, "GB")
    for fuel, share in (("gas", 60.5), ("wind", 12.5)):
        world.fold("GB", "generation", NOW - 60 * HOUR, [share], "30m", fuel=fuel)
    publish(world.storage, NOW + 60)
    awaited = document(world, "latest/GB.json")
    assert awaited["generation_mix"]["fuels"] == {"gas": 60.5, "wind": 12.5}
    assert awaited["valid_until"] < NOW
    monkeypatch.setitem(MIXES, Metric.GENERATION, CurrentMix("blend"))
    publish(world.storage, NOW + 120)
    latest, brief, snapshot = (document(world, name) for name in ("latest/GB.json", "brief/GB.json", SNAPSHOT))
    expected = {"blend": {"gas": 60.5, "wind": 12.5}, "blend_unit": "%", "blend_ts": NOW - 60 * HOUR}
    for body in (latest, brief, snapshot["zones"]["GB"]):
        assert {name: body[name] for name in body if name.startswith(("blend", "generation_mix"))} == expected
    assert latest["valid_until"] == brief["valid_until"] > NOW
    assert "blend" not in brief["summary_parts"]
    assert not [name for body in (sample_latest(latest), sample_brief(brief)) for name in body if "blend" in name]
    [of_price, of_blend] = [
        filtered_snapshot(snapshot, [each], ["GB"])["zones"]["GB"] for each in ("price", "generation")
    ]
    assert "blend" not in of_price
    assert (of_blend["blend"], of_blend["metrics"]) == (expected["blend"], {})
