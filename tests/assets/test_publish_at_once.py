"""Check concurrent, killed and late publishers: no document reverts, and each is either the old or the new one."""

from __future__ import annotations

import os
import threading
import time

import orjson

import assets.documents.publish
from assets.documents.publish import publish
from tests.assets.published_zones import NOW, document, fill
from warehouse.store import artefact, layout
from warehouse.store.layout import SNAPSHOT


def test_a_publisher_that_read_less_never_sets_a_zone_back(world, monkeypatch):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    read, resume = threading.Event(), threading.Event()
    real = assets.documents.publish.figures

    def slow(*args):
        figures = real(*args)
        read.set()
        resume.wait(30)
        return figures

    done = []
    monkeypatch.setattr(assets.documents.publish, "figures", slow)
    late = threading.Thread(target=lambda: done.append(publish(world.storage, NOW + 60, ["FR"])))
    late.start()
    assert read.wait(30)
    monkeypatch.setattr(assets.documents.publish, "figures", real)
    world.fold("FR", "demand", NOW, [31000])
    publish(world.storage, NOW + 61, ["FR"])
    publish(world.storage, NOW + 62, ["GB"])
    resume.set()
    late.join(30)
    assert done == [[]]
    assert document(world, "latest/FR.json")["metrics"]["demand"]["value"] == 31000
    assert document(world, SNAPSHOT)["zones"]["FR"] == {
        k: v for k, v in document(world, "latest/FR.json").items() if k != "zone"
    }
    assert document(world, SNAPSHOT)["zones"]["GB"]["updated"] == NOW + 62


def test_a_clock_set_back_does_not_freeze_a_document(world):
    fill(world)
    publish(world.storage, NOW)
    for name in ("latest/FR.json", SNAPSHOT):
        key = layout.published(name)
        world.storage.put(key, world.storage.get(key), time.time_ns() + 10**15)
    publish(world.storage, NOW + 60)
    assert document(world, "latest/FR.json")["updated"] == NOW + 60
    assert document(world, SNAPSHOT)["zones"]["FR"]["updated"] == NOW + 60


def coherent(world, old, new):
    """Check that every document is the old or the new one, and the snapshot is not older than any latest document."""
    latest, brief, snapshot = (document(world, name) for name in ("latest/FR.json", "brief/FR.json", SNAPSHOT))
    assert {latest["updated"], brief["as_of"], snapshot["zones"]["FR"]["updated"]} <= {old, new}
    assert snapshot["generated"] >= snapshot["zones"]["FR"]["updated"] >= latest["updated"]
    assert snapshot["zones"]["GB"]["updated"] == NOW


def test_a_kill_at_any_point_leaves_the_old_or_the_new(world, killed_at):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    new, killed = NOW, True
    while killed:
        old, new = new, new + 1
        killed = killed_at(lambda new=new: publish(world.storage, new, ["FR"]), new - NOW)
        coherent(world, old, new)
        if killed:
            publish(world.storage, new, ["FR"])  # the next run completes the publication
        coherent(world, new, new)
    assert new - NOW > 15


def test_readers_and_publishers_together(world, thorough):
    fill(world)
    fill(world, "GB")
    publish(world.storage, NOW)
    pids = []
    for zones in (["FR"], ["GB"], ["FR", "GB"], None):
        pid = os.fork()
        if pid == 0:
            try:
                for second in range(20 if thorough else 6):
                    publish(world.storage, NOW + second, zones)
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    seen, reads = {}, 0
    statuses = {}
    while len(statuses) < len(pids):
        # Rounds instead of time: a busy machine publishes and reads as often as an idle one.
        ended = (os.waitpid(pid, os.WNOHANG) for pid in pids if pid not in statuses)
        statuses |= {pid: status for pid, status in ended if pid}
        for name in ("latest/FR.json", "latest/GB.json", "brief/FR.json", SNAPSHOT):
            stored = artefact.get(world.storage, name)
            body = orjson.loads(stored.body)
            instant = body.get("updated", body.get("as_of", body.get("generated")))
            version, before = seen.get(name, (0, 0))
            assert stored.identity.version >= version
            seen[name] = (stored.identity.version, instant)
            reads += before != instant
    assert list(statuses.values()) == [0] * 4
    assert reads > 4
    for zone in ("FR", "GB"):
        assert document(world, SNAPSHOT)["zones"][zone]["metrics"] == document(world, f"latest/{zone}.json")["metrics"]
