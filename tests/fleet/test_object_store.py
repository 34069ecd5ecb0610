"""The stand-in of an S3 server that can be killed: it keeps conditions as the warehouse needs them, and its objects."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.servers import ROOT, free_port
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.object_store import Objects
from warehouse.bucket import Bucket
from warehouse.object_store import Conflict


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.stand_ins.object_store", str(folder), str(port)]
    return subprocess.Popen(argv, cwd=ROOT)


def test_a_store_that_was_killed_has_its_objects_and_keeps_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    address = f"s3://emds/a/place?endpoint=http://127.0.0.1:{port}"

    def opened(name: str) -> Bucket:
        return Bucket(address, tmp_path / name, fresh_s=0.0)

    child = start(tmp_path / "objects", port)
    first, other = opened("one"), opened("two")
    first.require_conditions()
    first.put("raw/a=b/c", b"one", version=5)
    assert first.get("raw/a=b/c") == other.get("raw/a=b/c") == b"one"
    with first.locked(["raw/a=b/c"]):
        assert first.get("raw/a=b/c") == b"one"
        other.put("raw/a=b/c", b"two", version=6)
        with pytest.raises(Conflict):
            first.put("raw/a=b/c", b"three")
    large = bytes(range(256)) * 40_000
    first.put("raw/large", large)
    assert opened("three").get("raw/large") == large, "by ranges"
    for number in range(1200):
        Objects(tmp_path / "objects").put(f"emds/a/place/many/{number:04}/x", b"", {})
    child.send_signal(signal.SIGKILL)
    child.wait(20)
    child = start(tmp_path / "objects", port)
    again = opened("four")
    identity = again.stat("raw/a=b/c")
    assert identity is not None
    assert (identity.version, identity.size, again.get("raw/a=b/c")) == (6, 3, b"two")
    assert len(again.keys("many/")) == 1200
    assert again.keys_within("many/", ["1199"]) == ["many/1199/x"]
    again.move("raw/a=b/c", "raw/d")
    assert again.keys("raw/") == ["raw/d", "raw/large"]
    again.delete("raw/large")
    assert again.get("raw/large") is None
    child.kill()
    child.wait(20)
