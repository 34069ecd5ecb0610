"""docs/operating.md names every verb and every setting, and none that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assets.sources import sources
from orchestration import cli, doctor

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text()


def verbs(capsys: pytest.CaptureFixture[str]) -> set[str]:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    return set(re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE))


def test_every_verb_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    table = PAGE[PAGE.index("| verb |") : PAGE.index("## Settings")]
    first = " ".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("|"))
    assert set(re.findall(r"`(\w+)", first)) == verbs(capsys)
    assert len(verbs(capsys)) == 10


def test_every_setting_is_told_and_read_by_the_doctor() -> None:
    assert set(re.findall(r"EMDS_[A-Z_]+", PAGE)) == set(doctor.SETTINGS)
    code = "".join(
        path.read_text()
        for room in ("api", "assets", "orchestration", "warehouse")
        for path in (ROOT / room).rglob("*.py")
    )
    assert set(re.findall(r"[\"'](EMDS_[A-Z_]+)[\"']", code)) == set(doctor.SETTINGS)


def test_every_credential_is_told() -> None:
    needed = {name for source in sources().values() for name in source.required_env}
    assert needed <= set(re.findall(r"`([A-Z]+_[A-Z_]+)`", PAGE))
