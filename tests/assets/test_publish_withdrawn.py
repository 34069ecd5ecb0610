"""What may be published: documents of zones without rows or rights are withdrawn, also from late publishers."""

from __future__ import annotations

import assets.documents.publish
from assets.documents.publish import publish
from tests.assets.published_zones import ALL_OF_FRANCE, NOW, document, fill
from warehouse.store import artefact, layout
from warehouse.store.layout import SNAPSHOT


def test_rights_taken_back_stay_taken_back_from_a_publisher_that_read_before(world, monkeypatch):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    read = assets.documents.publish.figures

    def overtaken(*args):
        figures = read(*args)
        monkeypatch.setattr(assets.documents.publish, "figures", read)
        world.withhold()
        world.catalogue()
        publish(world.storage, NOW)
        return figures

    monkeypatch.setattr(assets.documents.publish, "figures", overtaken)
    publish(world.storage, NOW)
    assert artefact.load(world.storage, "latest/FR.json") is None
    assert artefact.load(world.storage, "brief/FR.json") is None


def test_a_zone_without_rows_is_withdrawn(world):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW + 60)
    for metric in ("price", "demand"):
        for month in ("2026-10", "2026-11"):
            world.storage.delete(layout.series(metric, "FR", month))
    publish(world.storage, NOW + 120, ["FR"])
    assert artefact.identity(world.storage, "latest/FR.json") is None
    assert artefact.identity(world.storage, "brief/FR.json") is None
    snapshot = document(world, SNAPSHOT)
    assert snapshot["zones"]["FR"]["metrics"] == {}
    assert snapshot["zones"]["GB"]["metrics"] != {}


def test_the_last_zone_withdrawn_takes_the_snapshot_away(world):
    fill(world)
    publish(world.storage, NOW + 60)
    for key in world.storage.keys("series/"):
        world.storage.delete(key)
    publish(world.storage, NOW + 120)
    assert [artefact.load(world.storage, name) for name in ALL_OF_FRANCE] == [None] * len(ALL_OF_FRANCE)


def test_a_lost_snapshot_is_put_together_from_the_latests(world):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW + 60)
    world.storage.delete(layout.published(SNAPSHOT))
    publish(world.storage, NOW + 120, ["GB"])
    zones = document(world, SNAPSHOT)["zones"]
    assert zones["FR"]["updated"] == NOW + 60
    assert zones["GB"]["updated"] == NOW + 120
