"""Check that official clients, old and new, list and call all tools in the version that each negotiates."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NODE = ROOT / "tests" / "node"
TOOLS = [
    "list_zones",
    "get_status",
    "get_latest",
    "get_zone_brief",
    "get_history",
    "get_map_snapshot",
    "find_window",
    "get_statistics",
    "get_changes",
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_zones", {}),
    ("get_status", {}),
    ("get_latest", {"zone": "GB"}),
    ("get_zone_brief", {"zone": "GB"}),
    ("get_history", {"zone": "GB", "metric": "demand"}),
    ("get_history", {"zone": "GB", "metric": "generation", "limit": 9, "order": "desc"}),
    ("get_map_snapshot", {}),
    ("find_window", {"zone": "DE-LU", "hours": 1.5}),
    ("get_statistics", {"zone": "GB", "metric": "price"}),
    ("get_history", {"zone": "FR", "metric": "generation"}),
]
"""The last call fails, and a client must recognise it."""
COUNTED_CALLS = 7


def check(report: dict[str, Any], version: str, whole: bool, reads: bool = True) -> None:
    """Check the report of a client. If `reads` is false, as for mcp-remote, the report has only the tools."""
    assert report["version"] == version
    assert report["tools"] == TOOLS
    assert [result["name"] for result in report["results"]] == [name for name, _ in CALLS]
    assert [result["error"] for result in report["results"]] == [False] * (len(CALLS) - 1) + [True]
    assert "FR has no generation data" in report["results"][-1]["text"]
    for result in report["results"][:-1]:
        assert (result["structured"] is not None) == (version != "2025-03-26")
    latest = report["results"][2]
    assert "price 50 GBP/MWh at 2026-03-30T12:00:00Z" in latest["text"]
    assert ("SAMPLE" in latest["text"]) == (not whole)
    if reads:
        check_read(report)


def check_read(report: dict[str, Any]) -> None:
    """Check the resources and prompts that a client read."""
    assert report["resources"][:2] == ["emds://zones", "emds://catalogue"]
    assert report["prompts"] == ["market_briefing", "plan_flexible_load", "compare_zones"]
    assert report["page"] == "# The brief"
    assert "electricity market in GB" in report["prompt"]


def environ(key: str = "") -> dict[str, str]:
    return {"CALLS": json.dumps(CALLS), "KEY": key}


@pytest.mark.parametrize(
    ("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]
)
def test_the_python_client(programs: Any, served: Any, mode: str, version: str) -> None:
    key = served.new_key()
    check(
        programs.report(sys.executable, str(HERE / "programs" / "client_2.py"), served.endpoint, mode, **environ(key)),
        version,
        True,
    )
    assert served.used(key) == COUNTED_CALLS


def test_the_python_client_without_a_key_gets_samples(programs: Any, served: Any) -> None:
    check(
        programs.report(sys.executable, str(HERE / "programs" / "client_2.py"), served.endpoint, "auto", **environ()),
        "2026-07-28",
        False,
    )


@pytest.mark.parametrize(
    ("release", "version"), [("1.30.0", "2025-11-25"), ("1.13.0", "2025-06-18"), ("1.9.4", "2025-03-26")]
)
def test_older_python_clients(programs: Any, served: Any, release: str, version: str) -> None:
    python = ROOT / ".venv" / "clients" / f"mcp=={release}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"mcp {release} is missing: run `make setup`")
    key = served.new_key()
    check(
        programs.report(str(python), str(HERE / "programs" / "client_1.py"), served.endpoint, **environ(key)),
        version,
        True,
    )
    assert served.used(key) == COUNTED_CALLS


def test_the_typescript_client_of_the_first_generation(programs: Any, served: Any) -> None:
    programs.path("@modelcontextprotocol/sdk/package.json")
    key = served.new_key()
    check(
        programs.report(programs.node, str(NODE / "mcp_client_1.mjs"), served.endpoint, **environ(key)),
        "2025-11-25",
        True,
    )
    assert served.used(key) == COUNTED_CALLS


@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({}, "2025-11-25"),
        ({"versionNegotiation": {"mode": "auto"}}, "2026-07-28"),
        ({"versionNegotiation": {"mode": {"pin": "2026-07-28"}}}, "2026-07-28"),
        ({"supportedProtocolVersions": ["2025-06-18"]}, "2025-06-18"),
        ({"supportedProtocolVersions": ["2025-03-26"]}, "2025-03-26"),
    ],
    ids=str,
)
def test_the_typescript_client_of_the_second_generation(
    programs: Any, served: Any, options: dict[str, Any], version: str
) -> None:
    programs.path("@modelcontextprotocol/client/package.json")
    key = served.new_key()
    report = programs.report(
        programs.node, str(NODE / "mcp_client_2.mjs"), served.endpoint, json.dumps(options), **environ(key)
    )
    check(report, version, True)
    assert served.used(key) == COUNTED_CALLS


def test_mcp_remote(programs: Any, served: Any) -> None:
    proxy = programs.path("mcp-remote/dist/proxy.js")
    key = served.new_key()
    report = programs.report(
        sys.executable, str(HERE / "programs" / "remote.py"), served.endpoint, programs.node, proxy, **environ(key)
    )
    check(report, "2025-11-25", True, reads=False)
    assert served.used(key) == COUNTED_CALLS


INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def inspected(programs: Any, served: Any, method: str, *more: str) -> Any:
    command = [programs.node, programs.path(INSPECTOR), "--cli", served.endpoint, "--transport", "http"]
    return programs.run(*command, "--method", method, *more)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_wrong_with_the_list(programs: Any, served: Any, era: str) -> None:
    ended = inspected(programs, served, "tools/list", "--protocol-era", era, "--strict", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert [tool["name"] for tool in json.loads(ended.stdout)["result"]["tools"]] == TOOLS
