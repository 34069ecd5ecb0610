"""Test `emds doctor`: states, credentials and what they would add, disks, and no secrets."""

from __future__ import annotations

import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from orchestration.cli import doctor, main
from tests.orchestration.conftest import in_simulated
from warehouse.documents import health
from warehouse.market import clock
from warehouse.store.storage import Folder

CREDENTIALS = ("ENTSOE_API_TOKEN", "ENTSOE_USERNAME", "ENTSOE_PASSWORD", "EIA_API_KEY", "PJM_API_KEY")
Usage = namedtuple("Usage", "total used free")


def lines_of(code: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines below a source in the report."""
    doctor.doctor()
    printed = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(printed) if line.startswith(f"{code} "))
    end = next((n for n, line in enumerate(printed) if n > start and not line.startswith("  ")), len(printed))
    return [line.strip() for line in printed[start + 1 : end]]


def test_states_are_told_and_no_secret(
    tmp_path: Path,
    backfilled: Callable[..., Folder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    backfilled(tmp_path, "neso.generation")
    capsys.readouterr()
    monkeypatch.setenv("EMDS_METRICS_TOKEN", "s3cret-token")
    for days, code, state in ((0, 0, "ok"), (1, 1, "down")):
        monkeypatch.setenv("EMDS_NOW", clock.iso(clock.instant("2026-11-20T12:00:00Z") + days * clock.DAY))
        assert main(["doctor"]) == code
        output = capsys.readouterr().out
        lines = [line.split() for line in output.splitlines() if "neso.generation" in line]
        assert [line[1] for line in lines] == [state], output
        assert "EMDS_METRICS_TOKEN = (set)" in output
        assert "s3cret" not in output


def test_what_credentials_buy_depends_on_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_FEEDS", "live")
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    without = lines_of("entsoe_files", capsys)
    assert "would be a second way to demand of FR, PL" in without
    assert any(line.startswith("would be the only way to demand of AT, BE, CH") for line in without)
    assert lines_of("pjm", capsys) == [], "withheld by its terms: it would add nothing to any answer"
    monkeypatch.setenv("ENTSOE_API_TOKEN", "x" * 36)
    with_token = lines_of("entsoe_files", capsys)
    assert with_token
    assert all(line.startswith("would be a second way") for line in with_token)


def test_a_home_of_another_mode_is_a_fault_that_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mode").write_text("simulated")
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_FEEDS", "live")
    assert doctor.doctor() == 1
    printed = capsys.readouterr().out
    assert "this warehouse contains simulated data, not live" in printed
    assert "live it needs no key" in printed


def test_an_unknown_member_is_named_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    now = clock.now()
    fresh = health.Health("elexon.interconnectors", "GB", now, "", 0, now, 0, {"interchange": now})
    unknown = structs.replace(
        fresh,
        last_error="unknown to this service: interconnector 'Germany (NeuConnect)'",
        last_error_at=now,
        error_kind="unknown_member",
    )
    for zone, code in ((fresh, 0), (unknown, 1)):
        health.note(Folder(tmp_path), "elexon", [zone])
        assert main(["doctor"]) == code
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "unknown to this service" in line]
    assert " ok " in line
    assert line.endswith("unknown to this service: interconnector 'Germany (NeuConnect)'")


def test_nearly_full_disks_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = {tmp_path / "home": 10**12, tmp_path: 3 * 10**8}
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(10**12, 0, free[place]))
    assert doctor.disk_faults(tmp_path / "home") == []
    ((warning, _),) = doctor.disk_faults(tmp_path)
    assert warning.startswith(f"Only 300 MB are free in {tmp_path}. ")
