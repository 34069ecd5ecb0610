"""`emds doctor` warns before a disk is full and of a wrong EMDS_PUBLISH_TO."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from orchestration.cli import doctor, main
from tests.orchestration.conftest import in_simulated
from warehouse.store.home import parse

Usage = namedtuple("Usage", "total used free")


def test_nearly_full_disks_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    free = {tmp_path / "home": 10**12, tmp_path: 3 * 10**8}
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(10**12, 0, free[place]))
    assert list(doctor.disk_faults(parse(str(tmp_path / "home")))) == []
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    ((warning, _),) = doctor.disk_faults(parse("s3://emds/x", str(tmp_path)))
    assert warning.startswith(f"300 MB are free in {tmp_path}: ")


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
