"""The tools' texts: enough without the figures, marked as sample, stale or simulated, with licence and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.tool_calls import DATA, WithHeaders


@pytest.mark.parametrize("tool", DATA)
def test_a_sample_says_that_it_is_one_and_how_to_get_more(mcp: Any, keyed: Any, tool: str) -> None:
    sampled, whole = WithHeaders(mcp, {}).call(tool, **DATA[tool]), keyed.call(tool, **DATA[tool])
    first = sampled["content"][0]["text"].splitlines()[0]
    assert first.startswith("SAMPLE: no API key was sent")
    assert "http://emds.example/v1/keys/signup" in first
    assert "Authorization: Bearer" in first
    assert sampled["structuredContent"]["sample"] is True
    assert "SAMPLE" not in whole["content"][0]["text"]
    assert "sample" not in whole["structuredContent"]


@pytest.mark.parametrize("tool", DATA)
def test_licence_and_attribution_stand_in_both(keyed: Any, tool: str) -> None:
    result = keyed.call(tool, **DATA[tool])
    assert "Source: © North Grid. Licence: North Grid: CC BY 4.0." in result["content"][0]["text"]
    assert "© North Grid" in json.dumps(result["structuredContent"], ensure_ascii=False)


def test_stale_figures_are_said_to_be_stale(keyed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert "STALE" not in keyed.call(tool, **DATA[tool])["content"][0]["text"]
    monkeypatch.setenv("EMDS_NOW", "2026-04-02T00:00:00Z")
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert keyed.call(tool, **DATA[tool])["content"][0]["text"].startswith(
            "STALE: newer figures were due at 2026-03-"
        )


def test_simulated_figures_are_said_to_be_simulated(make: Any, simulated: Path) -> None:
    mcp = make(simulated)
    for tool, arguments in DATA.items():
        result = mcp.call(tool, **arguments)
        assert "SIMULATED figures, not market data." in result["content"][0]["text"]
        assert "SIMULATED, not market data" in json.dumps(result["structuredContent"])
