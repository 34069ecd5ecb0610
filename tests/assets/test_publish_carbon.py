"""Check `carbon` in current documents: published or estimated, refused without becoming stale, and GB's two names."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.documents import published
from api.geo.layers import GeoLayer
from api.mcp import text
from assets.documents.publish import publish
from tests.assets.conftest import World
from tests.stand_ins import declared
from warehouse.market.carbon import CURRENT_SET, factor_set
from warehouse.market.clock import DAY, HOUR
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Metric
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 30 * DAY
FAST = Publication(10, grace_minutes=10)
SOURCE = declared.source("toy", [
    declared.feed("toy.price", ["FR", "GB", "NL"], [Metric.PRICE], "1h", publication=Publication(grace_minutes=130)),
    declared.feed("toy.mix", ["FR", "GB", "NL"], [Metric.MIX, Metric.CARBON_ESTIMATE], "1h", publication=FAST),
    declared.feed("toy.neso", ["GB"], [Metric.CARBON_INTENSITY], "1h", publication=FAST),
    declared.feed("toy.rte", ["FR"], [Metric.CARBON], "1h", publication=FAST),
])  # fmt: skip
MIX = {"gas": 4000.0, "nuclear": 500.0, "wind": 3000.0, "other": 100.0}


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(Folder(tmp_path), SOURCE)
    for zone in ("FR", "GB", "NL"):
        world.fold(zone, "price", START, [50.0 + i % 24 for i in range(721)])
    world.catalogue(now=NOW)
    return world


def documents(world: World, zone: str) -> list[dict]:
    """Publish the zone, and return its parts of latest, brief and snapshot."""
    assert publish(world.storage, NOW + 60, [zone]) == []
    named = [artefact.load(world.storage, name) for name in (layout.latest(zone), layout.brief(zone), layout.SNAPSHOT)]
    return [named[0], named[1], named[2]["zones"][zone]]


def mix(world: World, zone: str, hours: int, until: int = NOW, **more: float) -> None:
    for fuel, mw in (MIX | more).items():
        world.fold(zone, "mix", until - (hours - 1) * HOUR, [mw] * hours, fuel=fuel)


def carbon_of(member: dict) -> dict:
    return {name: part for name, part in member.items() if name.startswith("carbon")}


def test_an_estimate_is_current_and_named_as_one(world: World) -> None:
    mix(world, "NL", 721)
    world.fold("NL", "carbon_estimate", START, [*[200.0 + i % 24 for i in range(720)], 219.4])
    latest, brief, member = documents(world, "NL")
    for values in (latest["metrics"], brief["current"], member["metrics"]):
        assert (values["carbon"]["value"], values["carbon"]["ts"], values["carbon"]["source"]) == (219.4, NOW, "toy")
    assert carbon_of(latest) == carbon_of(brief) == carbon_of(member) == {"carbon_basis": "estimate"}
    credit = f"{SOURCE.attribution}; {factor_set(CURRENT_SET).attribution}"
    assert latest["attribution"] == brief["attribution"] == member["attribution"] == credit
    for name in (layout.LIVE, layout.live_history("NL")):
        assert credit in artefact.encode(artefact.load(world.storage, name)).decode()
    assert brief["context"]["carbon"]["sample_count"] == 720
    assert brief["trend_24h"]["carbon"]["from_value"] == 200.0
    assert brief["summary_parts"]["carbon"] == (
        "Estimated carbon intensity is 219 gCO2/kWh, higher than 83% of the time in the past 30 days."
    )


def test_a_zone_refused_for_three_days_gives_the_reason_and_stays_fresh(world: World) -> None:
    mix(world, "NL", 721)
    world.fold("NL", "carbon_estimate", START, [200.0] * (721 - 72))
    before = documents(world, "NL")
    assert {carbon_of(each).get("carbon_omitted") for each in before} == {"refused"}, "its rows do not show why"
    mix(world, "NL", 72, other=4000.0)
    latest, brief, member = documents(world, "NL")
    for each in (latest, brief, member):
        assert carbon_of(each) == {"carbon_omitted": "other_share"}
        assert each["valid_until"] == before[0]["valid_until"] > NOW
    for part in ("current", "context", "context_omitted", "trend_24h", "trend_omitted"):
        assert "carbon" not in brief[part]
    assert "carbon" not in {*latest["metrics"], *member["metrics"]}
    assert brief["summary_parts"]["carbon"] == (
        "Carbon intensity is not estimated because too much of the generation has no known fuel."
    )
    snapshot = artefact.load(world.storage, layout.SNAPSHOT)
    assert snapshot is not None
    [alone] = published.filtered_snapshot(snapshot, ("carbon",), ("NL",))["zones"].values()
    assert (alone["metrics"], alone["carbon_omitted"]) == ({}, "other_share")
    price = published.filtered_snapshot(snapshot, ("price",), ("NL",))["zones"]["NL"]
    assert not carbon_of(price)
    assert published._count_values(price) == 1, "what is there is charged as before"


def test_an_interval_that_waits_for_a_fuel_refuses_nothing(world: World) -> None:
    mix(world, "NL", 720, NOW - HOUR)
    world.fold("NL", "mix", NOW, [4000.0], fuel="gas")
    world.fold("NL", "carbon_estimate", START, [200.0] * 720)
    assert documents(world, "NL")[0]["metrics"]["carbon"]["ts"] == NOW - HOUR


def test_storage_does_not_delay_an_estimate(world: World) -> None:
    mix(world, "NL", 721)
    world.fold("NL", "mix", START, [-50.0] * 715, fuel="pumped_storage")
    world.fold("NL", "carbon_estimate", START, [200.0] * 700)
    latest = documents(world, "NL")[0]
    assert (latest["mix_ts"], latest["carbon_omitted"]) == (NOW - 6 * HOUR, "refused")


def test_a_published_series_is_served_and_never_mixed_with_estimates(world: World) -> None:
    mix(world, "FR", 721)
    world.fold("FR", "carbon_estimate", START, [70.0] * 721)
    world.fold("FR", "carbon", START, [20.0] * 715)
    latest, brief, _ = documents(world, "FR")
    assert (latest["metrics"]["carbon"]["value"], latest["metrics"]["carbon"]["ts"]) == (20.0, NOW - 6 * HOUR)
    assert latest["carbon_basis"] == "published"
    assert latest["attribution"] == SOURCE.attribution
    assert latest["metrics"]["carbon"]["expected_by"] < NOW < latest["valid_until"]
    assert brief["context"]["carbon"]["max"] == 20.0
    assert brief["summary_parts"]["carbon"].startswith("Carbon intensity was 20 gCO2/kWh at 07:00 CET (06:00 UTC)")
    assert "had not arrived" not in brief["summary"]


def test_documents_of_gb_carry_both_names_with_one_number(world: World) -> None:
    world.fold("GB", "carbon_intensity", START, [100.0 + i % 24 for i in range(721)])
    latest, brief, member = documents(world, "GB")
    for part in (latest["metrics"], member["metrics"], *(brief[name] for name in ("current", "context", "trend_24h"))):
        assert part["carbon"] == part["carbon_intensity"]
    assert latest["carbon_basis"] == "published"
    assert brief["summary"].lower().count("carbon intensity") == 1
    assert "carbon" not in brief["summary_parts"]


def test_samples_keep_no_carbon_but_in_the_brief(world: World) -> None:
    world.fold("GB", "carbon_intensity", START, [100.0] * 721)
    latest, _, _ = documents(world, "GB")
    assert not carbon_of(published.sample_latest(latest))
    assert "carbon" not in published.sample_latest(latest)["metrics"]


def test_the_map_knows_the_basis_and_waits_for_no_carbon(world: World) -> None:
    mix(world, "NL", 721)
    world.fold("NL", "carbon_estimate", START, [204.0] * 715)
    world.fold("GB", "carbon_intensity", START, [100.0] * 721)
    world.fold("FR", "carbon", START, [20.0] * 700)
    assert publish(world.storage, NOW + 60) == []
    zones = {f["id"]: f["properties"] for f in artefact.load(world.storage, layout.LIVE)["features"]}
    assert [(zones[z]["carbon"], zones[z]["carbon_basis"]) for z in ("FR", "GB", "NL")] == [
        (20, "published"),
        (100, "published"),
        (None, None),
    ]
    layer = GeoLayer.parse(artefact.encode(artefact.load(world.storage, layout.LIVE)))
    assert layer.ends[[*zones].index("FR")] == zones["FR"]["price_expected_by"]
    hours = artefact.load(world.storage, layout.LIVE_HOURS)["zones"]
    assert hours["GB"]["carbon"] == hours["GB"]["carbon_intensity"]


def test_nothing_ranks_zones_across_bases(world: World) -> None:
    mix(world, "NL", 721)
    world.fold("NL", "carbon_estimate", START, [204.0] * 721)
    world.fold("FR", "carbon", START, [20.0] * 721)
    world.fold("GB", "carbon_intensity", START, [100.0] * 721)
    assert publish(world.storage, NOW + 60) == []
    snapshot = artefact.load(world.storage, layout.SNAPSHOT)
    assert snapshot is not None
    groups = [group for group in text.ranked(snapshot["zones"]) if group["metric"] == "carbon"]
    assert [(group["basis"], group["zone"], group["rank"]) for group in groups] == [
        ("estimate", ["NL"], [1]),
        ("published", ["GB", "FR"], [1, 2]),
    ]
