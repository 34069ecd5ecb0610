"""Run the official conformance suite for each protocol version. `baseline.yml` lists what cannot apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BASELINE = Path(__file__).with_name("baseline.yml")
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
APPLICABLE = {
    "2025-03-26": ["server-session-lifecycle"],
    "2025-06-18": [
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-session-lifecycle",
    ],
    "2025-11-25": [
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-session-lifecycle",
        "dns-rebinding-protection",
    ],
    "2026-07-28": [
        "server-stateless",
        "tools-list",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "server-sse-multiple-streams",
    ],
}


@pytest.mark.parametrize("version", APPLICABLE)
def test_the_suite_passes_but_for_what_cannot_apply(programs: Any, served: Any, version: str) -> None:
    ended = programs.run(
        programs.node,
        programs.path(SUITE),
        "server",
        "--url",
        served.endpoint,
        "--suite",
        "all",
        "--spec-version",
        version,
        "--expected-failures",
        str(BASELINE),
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr
    assert "Baseline check passed" in ended.stdout
    for scenario in APPLICABLE[version]:
        assert f"=== Running scenario: {scenario} ===" in ended.stdout


def test_every_excuse_has_its_reason_and_none_excuses_a_whole_scenario() -> None:
    reason = ""
    for line in BASELINE.read_text().splitlines()[3:]:
        if line.startswith("  # "):
            reason = line
        else:
            assert reason
            assert line.count(":") == 1, line
