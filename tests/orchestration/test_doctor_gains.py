"""`emds doctor` says what missing credentials would add: a first way to a series, or a second one."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.cli import doctor

CREDENTIALS = ("ENTSOE_API_TOKEN", "ENTSOE_USERNAME", "ENTSOE_PASSWORD", "EIA_API_KEY", "PJM_API_KEY")


def lines_of(code: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines below a source in the report."""
    doctor.doctor()
    printed = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(printed) if line.startswith(f"{code} "))
    end = next((n for n, line in enumerate(printed) if n > start and not line.startswith("  ")), len(printed))
    return [line.strip() for line in printed[start + 1 : end]]


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
    assert "this warehouse is simulated, not live" in printed
    assert "live it needs no key" in printed
