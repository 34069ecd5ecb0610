"""Test storage by key: complete writes, versions that travel with the bytes, and locks that serialise writers.

The tests run in a folder and in a bucket; behaviour of file systems is tested only in the folder.
"""

from __future__ import annotations

import errno
import os
import pickle
import threading
import time
from functools import partial

import pytest

from warehouse.errors import DamagedFile, StorageError
from warehouse.store.storage import Folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket_endpoint(s3_endpoint):
    """Return moto's endpoint, since these tests check the requests themselves."""
    return s3_endpoint


@pytest.fixture
def storage(place):
    return place.open()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "home")


def _put(storage, key="k", body=b"new"):
    storage.put(key, body)


def _add(storage):
    storage.update("k", lambda stored: b"%d" % (int(stored.body) + 1))


def test_put_get_stat_keys_delete(storage):
    storage.put("a/b.json", b"one", version=1_795_176_000_123_456_789)
    storage.put("a/c/d.json", b"two")
    assert storage.get("a/b.json") == b"one"
    assert storage.stat("a/b.json")[:2] == (1_795_176_000_123_456_789, 3)
    assert storage.keys("a/") == ["a/b.json", "a/c/d.json"]
    assert storage.keys("a/c/") == ["a/c/d.json"]
    storage.delete("a/b.json")
    assert storage.keys("a/") == ["a/c/d.json"]


def test_a_new_put_is_a_new_identity(storage):
    storage.put("k", b"same", version=10)
    first = storage.stat("k")
    assert storage.read("k") == (b"same", first)
    storage.put("k", b"same", version=20)
    assert storage.stat("k") != first


def test_an_update_puts_what_it_makes_of_what_lies_there(storage):
    seen = []

    def add(stored):
        seen.append(stored and stored.body)
        return b"one" if stored is None else stored.body + b" two"

    assert storage.update("k", add, version=10)
    assert storage.update("k", add)
    assert storage.get("k") == b"one two"
    assert seen == [None, b"one"]
    before = storage.stat("k")
    assert not storage.update("k", lambda stored: None)
    assert not storage.update("k", lambda stored: stored.body)
    assert storage.stat("k") == before


@pytest.mark.parametrize("key", ["/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_a_key_stays_inside_the_storage(storage, key):
    with pytest.raises(StorageError):
        storage.put(key, b"")
    with pytest.raises(StorageError):
        storage.get(key)


def test_a_kill_at_any_point_of_a_put_leaves_the_old_or_the_new(place):
    storage = place.open()
    storage.put("deep/er/k", b"0" * 100_000)
    step, killed = 0, True
    while killed:
        before, step = storage.get("deep/er/k"), step + 1
        after = str(step).encode() * 100_000
        killed = place.killed_at(partial(_put, key="deep/er/k", body=after), step)
        assert storage.get("deep/er/k") in (before, after)
    assert storage.get("deep/er/k") == after
    assert step > 2


def test_sweep_removes_only_what_a_kill_left_long_ago(folder, killed_at):
    folder.put("k", b"old")
    assert killed_at(lambda: folder.put("k", b"new"), 2)  # between scratch and rename
    (left,) = folder.keys("scratch/")
    assert folder.sweep() == 0
    os.utime(folder.path(left), (time.time() - 7200,) * 2)
    assert folder.sweep() == 1
    assert folder.keys("scratch/") == []


def test_updates_at_once_lose_nothing(storage):
    storage.put("k", b"0")
    threads = [threading.Thread(target=lambda: [_add(storage) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.get("k") == b"80"


def test_a_killed_update_leaves_the_old_or_the_new_and_holds_up_nobody(place):
    storage, step = place.open(), 1
    storage.put("k", b"0")
    before, killed = 0, True
    while killed:
        killed = place.killed_at(_add, step)
        number = int(storage.get("k"))
        assert number in (before, before + 1)
        _add(storage)
        before, step = number + 1, step + 1
    assert step > 3


def test_an_update_replaces_what_cannot_be_read(folder):
    folder.put("k", b"old")
    folder.path("k").unlink()
    folder.path("k").symlink_to("k")
    assert folder.update("k", lambda stored: b"new")
    folder.path("k").unlink()
    folder.path("k").mkdir()

    def move_and_put(stored):
        assert stored.body == b""
        folder.copy("k", "aside/k")
        return b"new"

    assert folder.update("k", move_and_put)
    assert folder.get("k") == b"new"
    assert folder.path("aside/k").is_dir()


def test_a_listing_tells_another_put_by_its_stamp(storage):
    storage.put("a/one", b"1", version=10)
    storage.put("a/two", b"2", version=10)
    before = storage.listing("a/")
    assert [*before] == storage.keys("a/") == ["a/one", "a/two"]
    assert storage.listing("a/") == before
    storage.put("a/two", b"3", version=10)
    after = storage.listing("a/")
    assert after["a/one"] == before["a/one"]
    assert after["a/two"] != before["a/two"]


def test_a_file_that_the_system_refuses_to_read_is_named(folder):
    folder.put("a/b.json", b"one")
    folder.path("loop").symlink_to("loop")
    folder.path("dir").mkdir()
    for key, ask in (("loop", folder.get), ("loop", folder.stat), ("dir", folder.get)):
        with pytest.raises(DamagedFile) as caught:
            ask(key)
        assert caught.value.key == key
        assert str(caught.value).startswith(f"{key} is damaged: cannot be read")
        assert pickle.loads(pickle.dumps(caught.value)).key == key


def test_a_write_that_fails_names_its_file_and_leaves_the_old_bytes(folder, monkeypatch):
    folder.put("a/b.json", b"one")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot write a/b\.json: No space left on device"):
        folder.put("a/b.json", b"two")
    monkeypatch.undo()
    assert folder.get("a/b.json") == b"one"
    assert folder.keys("scratch/") == []


def test_a_copy_keeps_bytes_and_version_and_a_copy_of_nothing_is_nothing(storage):
    storage.put("a/b.json", b"one", version=7)
    storage.copy("a/b.json", "damaged/x/a/b.json")
    storage.put("a/b.json", b"two")
    storage.delete("a/b.json")
    storage.copy("a/b.json", "damaged/x/a/b.json")
    storage.copy("none", "a/none")
    assert storage.get("a/b.json") is storage.get("a/none") is None
    assert storage.get("damaged/x/a/b.json") == b"one"
    assert storage.stat("damaged/x/a/b.json").version == 7


def test_keys_within_some_folders_of_a_prefix(storage):
    for key in ("a/1/x", "a/2/y", "a/2/z", "a/20/x", "a/3", "b/2/x"):
        storage.put(key, b"")
    assert storage.keys_within("a/", ["2", "1", "4"]) == ["a/1/x", "a/2/y", "a/2/z"]
    assert storage.keys_within("a/", []) == []


def test_folders_that_do_not_exist_are_not_walked(folder, monkeypatch):
    walked, walk = [], os.walk
    monkeypatch.setattr(os, "walk", lambda top, **options: walked.append(top) or walk(top, **options))
    folder.put("a/7/x", b"")
    assert folder.keys_within("a/", [str(n) for n in range(366)]) == ["a/7/x"]
    assert folder.keys_within("b/", ["7"]) == []
    assert len(walked) == 1


def test_a_prefix_that_cannot_be_listed_does_not_look_empty(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(StorageError, match="cannot list a/: Permission denied"):
        folder.keys_within("a/", ["1"])


def test_a_writer_that_holds_a_key_for_ever_stops_no_other_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("warehouse.store.storage.WAIT_S", 0.05)
    folder = Folder(tmp_path)

    def wait_for_oneself(stored):
        with pytest.raises(StorageError, match="first has been locked by another process for"):
            folder.update("first", lambda stored: b"other")
        return b"own"

    assert folder.update("first", wait_for_oneself)
    assert folder.get("first") == b"own"
