"""Bytes by key: whole or not at all, versions that travel with the bytes, locks that serialise writers."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import time

import pytest

from warehouse.errors import DamagedFile, StorageError
from warehouse.storage import Folder


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "home")


def test_nothing_is_there_before_it_is_put(folder):
    assert folder.get("a/b.json") is None
    assert folder.stat("a/b.json") is None
    assert folder.keys("a/") == []
    folder.delete("a/b.json")


def test_put_get_stat_keys_delete(folder):
    folder.put("a/b.json", b"one", version=1_795_176_000_123_456_789)
    folder.put("a/c/d.json", b"two")
    assert folder.get("a/b.json") == b"one"
    assert folder.stat("a/b.json")[:2] == (1_795_176_000_123_456_789, 3)
    assert folder.keys("a/") == ["a/b.json", "a/c/d.json"]
    assert folder.keys("a/c/") == ["a/c/d.json"]
    folder.delete("a/b.json")
    assert folder.keys("a/") == ["a/c/d.json"]


def test_a_new_put_is_a_new_identity_and_a_touch_a_newer_version(folder):
    folder.put("k", b"same", version=10)
    first = folder.stat("k")
    folder.touch("k", 20)
    assert folder.stat("k") == first._replace(version=20)
    folder.put("k", b"same", version=20)
    assert folder.stat("k") != first._replace(version=20)


@pytest.mark.parametrize("key", ["/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_a_key_stays_inside_the_folder(folder, key):
    with pytest.raises(StorageError):
        folder.put(key, b"")
    with pytest.raises(StorageError):
        folder.get(key)


def test_a_key_below_a_file_is_not_there(folder):
    folder.put("a", b"file")
    assert folder.get("a/b") is None
    assert folder.stat("a/b") is None


def test_a_kill_at_any_point_of_a_put_leaves_the_old_or_the_new(folder, killed_at):
    folder.put("deep/er/k", b"0" * 100_000)
    step, killed = 0, True
    while killed:
        before, step = folder.get("deep/er/k"), step + 1
        after = str(step).encode() * 100_000
        killed = killed_at(lambda after=after: folder.put("deep/er/k", after), step)
        assert folder.get("deep/er/k") in (before, after)
    assert folder.get("deep/er/k") == after
    assert step > 2


def test_sweep_removes_only_what_a_kill_left_long_ago(folder, killed_at):
    folder.put("k", b"old")
    assert killed_at(lambda: folder.put("k", b"new"), 2)  # between scratch and rename
    (left,) = folder.keys("scratch/")
    assert folder.sweep() == 0
    os.utime(folder.path(left), (time.time() - 7200,) * 2)
    assert folder.sweep() == 1
    assert folder.keys("scratch/") == []


def test_a_lock_serialises(folder):
    inside, most = 0, 0

    def work():
        nonlocal inside, most
        for _ in range(20):
            with folder.locked(["b", "a", "a"]):
                inside += 1
                most = max(most, inside)
                time.sleep(0.001)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_locks_of_several_keys_are_taken_in_key_order(folder):
    """Two writers that name the same keys in another order never wait for each other."""
    done = []

    def work(keys):
        for _ in range(30):
            with folder.locked(keys, wait_s=20):
                time.sleep(0.0005)
        done.append(keys)

    threads = [threading.Thread(target=work, args=(keys,)) for keys in (["a", "b", "c"], ["c", "b", "a"], ["b", "c"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(done) == 3


def test_a_lock_not_had_in_time_is_an_error_and_frees_the_others(folder):
    with folder.locked(["b"]):
        with pytest.raises(StorageError, match="another writer has held b"):
            folder.locked(["a", "b"], wait_s=0.05)
        with folder.locked(["a"], wait_s=0.05):
            pass


def test_a_killed_holder_frees_its_lock(folder, killed_at):
    def hold():
        with folder.locked(["k"]):
            folder.put("x", b"")

    step = 1
    while killed_at(hold, step):
        with folder.locked(["k"], wait_s=1):
            step += 1
    assert step > 4


def test_an_error_inside_frees_the_lock(folder):
    with pytest.raises(ValueError, match="inside"), folder.locked(["k"]):
        raise ValueError("inside")
    with folder.locked(["k"], wait_s=0.05):
        pass


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


def test_what_passes_by_itself_is_no_damage(folder, monkeypatch):
    def refuse(*_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(StorageError, match=r"a/b\.json cannot be read: Too many open files") as caught:
        folder.get("a/b.json")
    assert not isinstance(caught.value, DamagedFile)


def test_a_write_that_fails_names_its_file_and_leaves_the_old_bytes(folder, monkeypatch):
    folder.put("a/b.json", b"one")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"a/b\.json cannot be written: No space left on device"):
        folder.put("a/b.json", b"two")
    monkeypatch.undo()
    assert folder.get("a/b.json") == b"one"
    assert folder.keys("scratch/") == []


def test_a_move_keeps_the_bytes_and_a_move_of_nothing_is_nothing(folder):
    folder.put("a/b.json", b"one", version=7)
    folder.move("a/b.json", "damaged/x/a/b.json")
    folder.move("a/b.json", "damaged/x/a/b.json")
    assert folder.get("a/b.json") is None
    assert folder.get("damaged/x/a/b.json") == b"one"
