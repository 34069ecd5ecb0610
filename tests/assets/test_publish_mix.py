"""Check the newest complete mix in latest, brief and snapshot. Neither `valid_until` nor a document depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.documents import published
from assets.documents.publish import publish
from tests.assets.conftest import World
from tests.stand_ins import declared
from warehouse.market.clock import DAY, HOUR
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Metric
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
SOURCE = declared.source("toy", [
    declared.feed("toy.price", ["FR", "AU-SA"], [Metric.PRICE], "1h", publication=Publication(10, grace_minutes=120)),
    declared.feed("toy.mix", ["FR", "AU-SA"], [Metric.MIX], "1h", publication=Publication(10, grace_minutes=10)),
])  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(Folder(tmp_path), SOURCE)
    world.fold("FR", "price", NOW - 2 * DAY, [50.0] * 49)
    world.catalogue(now=NOW)
    return world


def members(world: World, zone: str = "FR") -> list[dict]:
    """Publish the zone, and return its parts of latest, brief and snapshot."""
    assert publish(world.storage, NOW + 60, [zone]) == []
    named = [artefact.load(world.storage, name) for name in (layout.latest(zone), layout.brief(zone), layout.SNAPSHOT)]
    return [named[0], named[1], named[2]["zones"][zone]]


def test_the_mix_is_that_of_the_newest_whole_interval(world: World) -> None:
    world.fold("FR", "mix", NOW - 2 * DAY, [40_000.5] * 49, fuel="nuclear")
    world.fold("FR", "mix", NOW - 2 * DAY, [-800.0] * 47, fuel="pumped_storage")
    for member in members(world):
        assert member["mix"] == {"nuclear": 40_000.5, "pumped_storage": -800.0}
        assert (member["mix_unit"], member["mix_ts"]) == ("MW", NOW - 2 * HOUR)


def test_half_hours_of_rooftop_solar_stand_beside_five_minutes(world: World) -> None:
    world.fold("AU-SA", "price", NOW - 2 * DAY, [50.0] * 49)
    world.fold("AU-SA", "mix", NOW - DAY, [100.0] * 288, "5m", fuel="gas")
    world.fold("AU-SA", "mix", NOW - DAY, [250.0] * 48, "30m", fuel="solar_rooftop")
    latest = members(world, "AU-SA")[0]
    assert (latest["mix"], latest["mix_ts"]) == ({"gas": 100.0, "solar_rooftop": 250.0}, NOW - 300)


def test_valid_until_does_not_depend_on_the_mix(world: World) -> None:
    before = [member["valid_until"] for member in members(world)]
    world.fold("FR", "mix", NOW - 40 * DAY, [40_000.0] * 24, fuel="nuclear")
    after = members(world)
    assert [member["valid_until"] for member in after] == before
    assert all(member["mix_ts"] == NOW - 40 * DAY + 23 * HOUR for member in after)
    assert all(member["valid_until"] > NOW for member in after)


def test_a_zone_without_a_mix_is_served_without_one(world: World) -> None:
    for member in members(world):
        assert not {name for name in member if name.startswith("mix")}
    assert "mix" not in members(world)[1]["summary"]


def test_a_zone_with_a_mix_alone_has_no_document(world: World) -> None:
    world.fold("AU-SA", "mix", NOW - DAY, [100.0] * 24, fuel="gas")
    assert publish(world.storage, NOW + 60, ["AU-SA"]) == []
    assert artefact.load(world.storage, layout.latest("AU-SA")) is None


def test_samples_carry_no_mix_and_a_filtered_snapshot_counts_it(world: World) -> None:
    world.fold("FR", "mix", NOW - 2 * DAY, [40_000.5] * 49, fuel="nuclear")
    latest, brief, _ = members(world)
    snapshot = artefact.load(world.storage, layout.SNAPSHOT)
    assert snapshot is not None
    samples = [published.sample_latest(latest), published.sample_brief(brief)]
    for sample in [*samples, published.sample_snapshot(snapshot)["zones"]["FR"]]:
        assert not {name for name in sample if name.startswith("mix")}
    alone = published.filtered_snapshot(snapshot, ("mix",), ("FR",))["zones"]["FR"]
    assert (alone["metrics"], alone["mix"]) == ({}, {"nuclear": 40_000.5})
    assert published._count_values(alone) == 1
    assert not set(published.filtered_snapshot(snapshot, ("price",), None)["zones"]["FR"]) & {"mix"}
