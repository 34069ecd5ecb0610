"""Check that docs/operating.md names every verb and every setting, and only those that exist."""

from __future__ import annotations

import re
from pathlib import Path

from api.settings import Settings
from assets.sources import sources
from orchestration import cli
from orchestration.work.environment import PipelineSettings
from warehouse import settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text()


def test_the_page_lists_every_verb() -> None:
    table = PAGE[PAGE.index("## Commands") : PAGE.index("## Background jobs")]
    first = " ".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("|"))
    assert set(re.findall(r"`emds (\w+)", first)) == set(cli.emds.commands)


def test_the_page_lists_every_setting_with_its_default_and_its_meaning() -> None:
    section = PAGE[PAGE.index("\n## Settings\n") : PAGE.index("\n## Zones\n")]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", section, re.MULTILINE)
    stated = dict(rows)
    assert stated.keys() == settings.DEFAULTS.keys()
    assert len(stated) == len(rows)
    for name, default in settings.DEFAULTS.items():
        literal = re.fullmatch(r"`([^`]*)`", stated[name])
        assert (literal[1] if literal else "") == default


CLIENT = ROOT / "clients" / "python" / "emds_client" / "clients.py"


def test_every_setting_that_is_read_is_listed_and_the_other_way_round() -> None:
    read = {
        name
        for room in ("api", "assets", "orchestration", "warehouse")
        for path in (ROOT / room).rglob("*.py")
        if path not in {ROOT / "warehouse" / "settings.py", CLIENT}
        for name in re.findall(r"[\"'](EMDS_[A-Z_]+)[\"']", path.read_text())
    }
    publishers = {source.endpoint_env for source in sources().values() if source.endpoint_env}
    assert read | publishers == set(settings.DEFAULTS)


def test_a_default_that_is_written_out_changes_nothing() -> None:
    written = {name: default for name, default in settings.DEFAULTS.items() if default}
    assert PipelineSettings.from_environ(written) == PipelineSettings.from_environ({})
    assert Settings.from_environ(written) == Settings.from_environ({})


def test_every_credential_is_told() -> None:
    needed = {name for source in sources().values() for name in source.required_env}
    assert needed <= set(re.findall(r"`([A-Z]+_[A-Z_]+)`", PAGE))
