"""`emds doctor` warns before a disk is full, of a Python with known holes, and of a wrong EMDS_PUBLISH_TO."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from orchestration.cli import machine, main
from tests.orchestration.conftest import in_simulated
from warehouse.store.home import at

Usage = namedtuple("Usage", "total used free")


def test_nearly_full_disks_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    free = {tmp_path / "home": 10**12, tmp_path: 3 * 10**8}
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(10**12, 0, free[place]))
    assert list(machine.warnings(at(str(tmp_path / "home")), (3, 14, 0))) == []
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    (warning,) = machine.warnings(at("s3://emds/x", str(tmp_path)), (3, 14, 0))
    assert warning.startswith(f"300 MB are free in {tmp_path}: ")


@pytest.mark.parametrize(
    ("version", "holes"), [((3, 11, 2), 3), ((3, 11, 8), 2), ((3, 12, 9), 1), ((3, 11, 14), 0), ((3, 14, 0), 0)]
)
def test_an_interpreter_with_known_holes_is_named(version: tuple[int, int, int], holes: int, tmp_path: Path) -> None:
    found = [line for line in machine.warnings(at(str(tmp_path / "none")), version) if "CVE" in line]
    assert len(found) == holes
    assert all(f"Python {'.'.join(map(str, version))} has CVE-" in line for line in found)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("nope://x", "an address of an object store begins with s3://"),
        ("{}/file", "cannot be written"),
        ("s3://emds/x?endpoint=http://127.0.0.1:9", "cannot be listed: no connection"),
    ],
)
def test_a_target_that_cannot_work_fails_the_doctor(
    target: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path / "home")
    (tmp_path / "file").touch(0o600)
    monkeypatch.setattr("warehouse.store.object_store.RETRIES", 0)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("EMDS_PUBLISH_TO", str(tmp_path / "site"))
    assert main(["doctor"]) == 0
    assert not (tmp_path / "site").exists()
    monkeypatch.setenv("EMDS_PUBLISH_TO", target.format(tmp_path))
    assert main(["doctor"]) == 1
    assert fault in capsys.readouterr().out
