"""Test published documents: only newer versions replace them, they stay complete, and they can be withdrawn."""

from __future__ import annotations

import threading
import time

import pytest

from warehouse.errors import DamagedFile
from warehouse.store import artefact, layout


def test_only_over_an_older_version(folder):
    assert artefact.put(folder, "x.json", b'{"n":1}', 10)
    assert not artefact.put(folder, "x.json", b'{"n":0}', 10)
    assert not artefact.put(folder, "x.json", b'{"n":0}', 9)
    assert artefact.get(folder, "x.json").body == b'{"n":1}'
    assert artefact.put(folder, "x.json", b'{"n":2}', 11)
    assert artefact.get(folder, "x.json").identity.version == 11


def test_the_same_bytes_again_are_not_put(folder):
    artefact.put(folder, "x.json", b'{"n":1}', 10)
    before = artefact.identity(folder, "x.json")
    assert artefact.put(folder, "x.json", b'{"n":1}', 11)
    assert artefact.identity(folder, "x.json") == before


def test_withdrawn_unless_a_newer_one_lies_there(folder):
    artefact.put(folder, "x.json", b'{"n":1}', 10)
    artefact.withdraw(folder, "x.json", 10)
    assert artefact.load(folder, "x.json") == {"n": 1}
    artefact.withdraw(folder, "x.json", 11)
    assert artefact.get(folder, "x.json") is None
    assert artefact.load(folder, "x.json") is None


def test_what_was_withdrawn_no_older_publisher_puts_back(folder):
    for name in ("x.json", "never-there.json"):
        artefact.withdraw(folder, name, 11)
        assert not artefact.put(folder, name, b'{"n":1}', 10)
        assert artefact.get(folder, name) is None
        assert artefact.put(folder, name, b'{"n":1}', 12)
        assert artefact.load(folder, name) == {"n": 1}


@pytest.mark.parametrize("other", ["brief/FR.json", "brief/BE.json"])
def test_a_document_that_was_copied_over_another_is_damaged(folder, other):
    """Copy each of two other documents over the brief: a published one and a withdrawn one."""
    artefact.put(folder, "brief/GB.json", b'{"zone":"GB"}', 1)
    artefact.put(folder, "brief/FR.json", b'{"zone":"FR"}', 1)
    artefact.withdraw(folder, "brief/BE.json", 1)
    folder.put(layout.published("brief/GB.json"), folder.get(layout.published(other)))
    with pytest.raises(DamagedFile, match=f"is a copy of published/{other}"):
        artefact.get(folder, "brief/GB.json")
    assert artefact.identity(folder, "brief/GB.json") is not None, "it is not taken for withdrawn"


def test_a_version_from_the_future_does_not_stand(folder):
    """Replace a version that was given before the clock was set back."""
    artefact.put(folder, "x.json", b'{"n":1}', time.time_ns() + 10**15)
    assert artefact.put(folder, "x.json", b'{"n":2}', artefact.new_version())
    assert artefact.get(folder, "x.json").body == b'{"n":2}'


def test_body_and_identity_belong_together_while_it_is_replaced(folder):
    artefact.put(folder, "x.json", b'{"n":0}', 1)
    stop = threading.Event()

    def writer():
        version = 1
        while not stop.is_set():
            version += 1
            artefact.put(folder, "x.json", b'{"n":%d}' % version, version)

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        for _ in range(2000):
            document = artefact.get(folder, "x.json")
            assert document.body in (b'{"n":0}', b'{"n":%d}' % document.identity.version)
    finally:
        stop.set()
        thread.join()


def test_a_cut_document_is_named(folder):
    artefact.put(folder, "latest/GB.json", b'{"zone": "GB"}', artefact.new_version())
    folder.put("published/latest/GB.json", b'{"zone": "G')
    with pytest.raises(DamagedFile, match=r"published/latest/GB\.json is damaged"):
        artefact.load(folder, "latest/GB.json")
