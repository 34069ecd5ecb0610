"""What each protocol version requires of opening and methods: capabilities, lists, envelopes, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mcp.conftest import LEGACY, MODERN
from tests.mcp.protocol_messages import REQUEST, every_legacy, every_version, opening

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
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        *((version, version) for version in LEGACY),
        (MODERN, "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_initialize_answers_the_version_asked_for_or_the_newest_with_a_handshake(
    mcp: Any, requested: str, answered: str
) -> None:
    answer = mcp.ask("2025-03-26", "initialize", **opening(requested))
    result = answer.json["result"]
    assert answer.status_code == 200
    assert answer.content_type == "application/json"
    assert result["protocolVersion"] == answered
    assert result["capabilities"] == CAPABILITIES
    assert "key" in result["instructions"]
    assert "resultType" not in result


@pytest.mark.parametrize(
    ("version", "members"),
    [
        ("2025-03-26", {"name", "version"}),
        ("2025-06-18", {"name", "version", "title"}),
        ("2025-11-25", {"name", "version", "title", "description", "websiteUrl", "icons"}),
    ],
)
def test_initialize_says_who_we_are_in_the_members_that_the_version_knows(
    mcp: Any, version: str, members: set[str]
) -> None:
    assert set(mcp.ask("2025-03-26", "initialize", **opening(version)).json["result"]["serverInfo"]) == members


def test_initialize_without_a_version_is_invalid(mcp: Any) -> None:
    answer = mcp.ask("2025-03-26", "initialize", capabilities={})
    assert (answer.status_code, answer.json["error"]["code"]) == (200, -32602)


@every_legacy
def test_initialized_is_accepted_without_a_body(mcp: Any, version: str) -> None:
    answer = mcp.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, version)
    assert (answer.status_code, answer.data) == (202, b"")
    assert "Content-Type" not in answer.headers


def test_discover_tells_everything_that_a_handshake_did(mcp: Any) -> None:
    answer = mcp.ask(MODERN, "server/discover")
    result = answer.json["result"]
    assert answer.status_code == 200
    assert result["supportedVersions"] == [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"]
    assert result["capabilities"] == CAPABILITIES
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 3_600_000, "public")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "emds"
    assert (
        result["instructions"]
        == mcp.ask("2025-03-26", "initialize", **opening("2025-11-25")).json["result"]["instructions"]
    )


@every_legacy
def test_ping_answers_an_empty_object(mcp: Any, version: str) -> None:
    assert mcp.ask(version, "ping").json["result"] == {}


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "subscriptions/listen",
    ],
)
def test_the_modern_version_does_not_know_methods_of_the_handshake_era(mcp: Any, method: str) -> None:
    answer = mcp.ask(MODERN, method)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601)


@every_legacy
@pytest.mark.parametrize("method", ["server/discover", "resources/subscribe", "tasks/get", "nonsense", ""])
def test_an_unknown_legacy_method_is_an_error_in_the_text_alone(mcp: Any, version: str, method: str) -> None:
    answer = mcp.ask(version, method)
    assert (answer.status_code, answer.json["error"]["code"]) == (200, -32601)


def test_initialize_under_a_modern_header_is_unknown(mcp: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening("2025-11-25")}
    answer = mcp.send(message, None, MCP_Protocol_Version=MODERN, Mcp_Method="initialize")
    assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601)


@every_version
def test_tools_are_listed_in_the_same_order_every_time(mcp: Any, version: str) -> None:
    first, second = (mcp.ask(version, "tools/list").json["result"] for _ in range(2))
    assert [tool["name"] for tool in first["tools"]] == TOOLS
    assert first == second
    assert "nextCursor" not in first


@every_version
def test_a_cursor_was_never_given_out(mcp: Any, version: str) -> None:
    answer = mcp.ask(version, "tools/list", cursor="abc")
    assert (answer.status_code, answer.json["error"]["code"]) == (400 if version == MODERN else 200, -32602)


@every_version
def test_tools_have_the_members_that_the_version_knows(mcp: Any, version: str) -> None:
    known = {"name", "description", "inputSchema", "annotations"} | (
        set() if version == "2025-03-26" else {"title", "outputSchema"}
    )
    for tool in mcp.ask(version, "tools/list").json["result"]["tools"]:
        assert set(tool) == known
        assert tool["annotations"]["title"] == tool.get("title", tool["annotations"]["title"])


@every_version
def test_results_have_the_envelope_of_their_version(mcp: Any, version: str) -> None:
    listed = mcp.ask(version, "tools/list").json["result"]
    called = mcp.call("get_latest", version, zone="GB")
    failed = mcp.call("get_history", version, zone="FR", metric="generation")
    modern = version == MODERN
    assert ("ttlMs" in listed and "cacheScope" in listed) == modern
    for result in (listed, called, failed):
        assert (result.get("resultType") == "complete") == modern
        assert ("io.modelcontextprotocol/serverInfo" in result.get("_meta", {})) == modern
    assert "ttlMs" not in called
    assert ("structuredContent" in called) == (version != "2025-03-26")
    assert len(called["content"]) == (2 if version == "2025-03-26" else 1)


def test_the_oldest_version_gets_the_figures_as_text(mcp: Any) -> None:
    words, figures = mcp.call("get_latest", "2025-03-26", zone="GB")["content"]
    assert json.loads(figures["text"]) == mcp.call("get_latest", MODERN, zone="GB")["structuredContent"]
    assert words["text"].startswith("SAMPLE")


@every_version
def test_an_unknown_tool_is_an_error_that_names_the_tools(mcp: Any, version: str) -> None:
    answer = mcp.ask(version, "tools/call", name="nope", arguments={})
    assert (answer.status_code, answer.json["error"]["code"]) == (400 if version == MODERN else 200, -32602)
    assert "get_history" in answer.json["error"]["message"]


@every_version
@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "get_latest", "arguments": ["GB"]}, {"name": None}])
def test_a_malformed_call_is_an_error(mcp: Any, version: str, params: dict[str, Any]) -> None:
    headers = {"Mcp_Name": str(params.get("name"))} if version == MODERN else {}
    answer = mcp.send({**REQUEST, "method": "tools/call", "params": params}, version, **headers)
    assert (answer.status_code, answer.json["error"]["code"]) == (400 if version == MODERN else 200, -32602)


@every_version
def test_arguments_that_do_not_fit_are_an_error_of_the_call_or_of_the_tool(mcp: Any, version: str) -> None:
    answer = mcp.ask(version, "tools/call", name="get_latest", arguments={"zone": "XX"})
    assert answer.status_code == 200
    if version in ("2025-03-26", "2025-06-18"):
        assert answer.json["error"]["code"] == -32602
        message = answer.json["error"]["message"]
    else:
        assert answer.json["result"]["isError"] is True
        message = answer.json["result"]["content"][0]["text"]
    assert "Invalid arguments" in message
    assert "DE-LU" in message
