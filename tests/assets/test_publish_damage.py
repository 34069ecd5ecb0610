"""Check what is published from damaged files, over damaged documents, and without rows or redistribution permission."""

from __future__ import annotations

import pytest

import assets.documents.publish
from assets.documents.publish import publish
from tests.assets.published_zones import ALL_OF_FRANCE, NOW, document, fill
from warehouse.market.zones import ZONES
from warehouse.store import artefact, layout
from warehouse.store.layout import SNAPSHOT


def damage(world, zone, metric="demand"):
    """Empty the newest monthly file of a zone's metric, and return the file's key."""
    key = [k for k in world.storage.keys(layout.series_prefix()) if f"{zone}/" in k and metric in k.split("/")[1]][-1]
    world.storage.put(key, b"")
    return key


def test_an_unreadable_file_costs_its_zone_and_metric_and_is_named(world, caplog):
    for zone in ("FR", "GB", "AU-SA"):
        fill(world, zone)
    publish(world.storage, NOW)
    key = damage(world, "FR")
    done = publish(world.storage, NOW + 60)
    assert len(done) == 1
    assert key in done[0]
    assert any(key in record.getMessage() for record in caplog.records)
    for zone in ("FR", "GB", "AU-SA"):
        assert document(world, f"latest/{zone}.json")["updated"] == NOW + 60, "the others are renewed"
    brief = document(world, "brief/FR.json")
    assert list(brief["current"]) == ["price"]
    assert brief["context_omitted"]["demand"] == brief["trend_omitted"]["demand"] == "unreadable"
    assert "No ranking for demand: its stored data is temporarily unavailable." in brief["coverage_note"]
    assert "Demand data is temporarily unavailable." in brief["summary"]
    assert set(document(world, SNAPSHOT)["zones"]["FR"]["metrics"]) == {"price"}
    assert set(document(world, SNAPSHOT)["zones"]["GB"]["metrics"]) == {"price", "demand"}


def test_a_zone_of_which_nothing_can_be_read_keeps_its_documents(world):
    for zone in ("FR", "GB"):
        fill(world, zone)
    publish(world.storage, NOW)
    before = document(world, "brief/FR.json")
    damage(world, "FR"), damage(world, "FR", "price")
    done = publish(world.storage, NOW + 60)
    assert len(done) == 2
    assert document(world, "brief/FR.json") == before
    assert document(world, SNAPSHOT)["zones"]["FR"]["updated"] == NOW
    assert document(world, SNAPSHOT)["zones"]["GB"]["updated"] == NOW + 60


@pytest.mark.parametrize("name", [SNAPSHOT, "latest/GB.json", "brief/GB.json"])
@pytest.mark.parametrize("size", [1, 200])
def test_a_cut_document_is_made_anew(world, name, size):
    for zone in ("FR", "GB"):
        fill(world, zone)
    publish(world.storage, NOW)
    whole = document(world, name)
    world.storage.put(layout.published(name), world.storage.get(layout.published(name))[:size])
    publish(world.storage, NOW + 60, ["FR"])
    assert set(document(world, SNAPSHOT)["zones"]) == set(ZONES)
    assert document(world, SNAPSHOT)["zones"]["GB"]["metrics"] or name == "latest/GB.json"
    assert publish(world.storage, NOW + 60) == []
    assert type(document(world, name)) is type(whole)
    assert document(world, SNAPSHOT)["zones"]["GB"]["metrics"]


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
