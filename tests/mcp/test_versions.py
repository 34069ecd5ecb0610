"""What each protocol version requires: opening, bodies, headers, statuses, envelopes."""

from __future__ import annotations

import json
from typing import Any

import pytest

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
VERSIONS = (*LEGACY, MODERN)
TOOLS = [
    "list_zones",
    "get_status",
    "get_latest",
    "get_zone_brief",
    "get_history",
    "get_map_snapshot",
    "find_window",
    "get_statistics",
]
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}

every_version = pytest.mark.parametrize("version", VERSIONS)
every_legacy = pytest.mark.parametrize("version", LEGACY)


def opening(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "Tests", "version": "1"}}


# Opening


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


# Methods


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


# Bodies


@every_legacy
def test_a_posted_response_is_accepted(mcp: Any, version: str) -> None:
    for response in ({"result": {}}, {"error": {"code": 1, "message": "no"}}):
        answer = mcp.send({"jsonrpc": "2.0", "id": 1, **response}, version)
        assert (answer.status_code, answer.data) == (202, b"")


def test_a_posted_response_is_no_part_of_the_modern_version(mcp: Any) -> None:
    answer = mcp.raw(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), MCP_Protocol_Version=MODERN)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


def test_a_batch_is_answered_in_the_one_version_that_has_them(mcp: Any) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
        {
            "jsonrpc": "2.0",
            "id": "4",
            "method": "tools/call",
            "params": {"name": "get_latest", "arguments": {"zone": "GB"}},
        },
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "method": "nonsense"},
    ]
    for headers in ({}, {"MCP_Protocol_Version": "2025-03-26"}):
        answer = mcp.send(batch, None, **headers)
        assert answer.status_code == 200
        assert [member["id"] for member in answer.json] == [3, "4", 5]
        assert answer.json[0]["result"] == {}
        assert answer.json[1]["result"]["content"]
        assert answer.json[2]["error"]["code"] == -32601


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", MODERN])
def test_later_versions_have_no_batches(mcp: Any, version: str) -> None:
    answer = mcp.raw(json.dumps([{"jsonrpc": "2.0", "id": 3, "method": "ping"}]), MCP_Protocol_Version=version)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize(
    "batch",
    [
        [],
        [REQUEST] * 21,
        [REQUEST, {**REQUEST, "method": "initialize", "params": opening("2025-03-26")}],
        [1],
        [REQUEST, None],
        [[REQUEST]],
    ],
    ids=["empty", "too long", "initialize", "number", "null", "nested"],
)
def test_a_batch_that_is_none_is_refused_whole(mcp: Any, batch: list[Any]) -> None:
    answer = mcp.send(batch)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)
    assert "id" not in answer.json


def test_a_batch_of_notifications_alone_has_no_answer(mcp: Any) -> None:
    answer = mcp.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 20)
    assert (answer.status_code, answer.data) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE", "PROPFIND"])
@every_version
def test_only_post_is_allowed(mcp: Any, version: str, method: str) -> None:
    answer = mcp.raw(b"", method, MCP_Protocol_Version=version, Mcp_Session_Id="abc", Accept="text/event-stream")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.content_type == "application/json"


# Headers


@every_version
@pytest.mark.parametrize(
    "accept", [None, "", "application/json", "*/*", "application/*", "text/event-stream, application/json;q=0.1"]
)
def test_whoever_takes_json_gets_json(mcp: Any, version: str, accept: str | None) -> None:
    answer = mcp.send(REQUEST, version, Accept=accept)
    assert (answer.status_code, answer.content_type) == (200, "application/json")


@pytest.mark.parametrize("accept", ["text/event-stream", "text/html", "application/json;q=0", "image/*"])
def test_whoever_takes_no_json_gets_none(mcp: Any, accept: str) -> None:
    answer = mcp.send(REQUEST, "2025-11-25", Accept=accept)
    assert answer.status_code == 406


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "", None])
def test_a_body_of_another_type_is_refused(mcp: Any, media: str | None) -> None:
    assert mcp.send(REQUEST, "2025-11-25", Content_Type=media).status_code == 415
    assert mcp.send(REQUEST, "2025-11-25", Content_Type="application/json; charset=utf-8").status_code == 200


def test_an_absent_version_header_means_the_oldest_version(mcp: Any) -> None:
    assert "outputSchema" not in mcp.send(REQUEST).json["result"]["tools"][0]
    assert "outputSchema" in mcp.send(REQUEST, None, MCP_Protocol_Version="2025-06-18").json["result"]["tools"][0]


@pytest.mark.parametrize("header", ["1999-01-01", "2024-11-05", "latest", ""])
def test_an_unknown_version_header_is_refused_with_those_there_are(mcp: Any, header: str) -> None:
    answer = mcp.send({**REQUEST, "id": 5}, None, MCP_Protocol_Version=header)
    assert answer.status_code == 400
    assert answer.json == {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"], "requested": header},
        },
    }


def test_a_version_that_both_places_state_and_nobody_knows_is_unsupported(mcp: Any) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
    answer = mcp.send(
        {**REQUEST, "params": {"_meta": meta}}, None, MCP_Protocol_Version="1900-01-01", Mcp_Method="tools/list"
    )
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32022)
    assert answer.json["error"]["data"]["requested"] == "1900-01-01"


@pytest.mark.parametrize(
    ("header", "stated"),
    [
        (None, MODERN),
        ("2025-11-25", MODERN),
        (MODERN, "2025-11-25"),
        (None, "2025-11-25"),
        ("1999-01-01", MODERN),
        (MODERN, "1999-01-01"),
    ],
)
def test_versions_that_disagree_are_refused(mcp: Any, header: str | None, stated: str) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": stated}
    answer = mcp.send(
        {**REQUEST, "params": {"_meta": meta}}, None, MCP_Protocol_Version=header, Mcp_Method="tools/list"
    )
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020)


def test_a_legacy_client_may_repeat_its_version(mcp: Any) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2025-11-25"}
    answer = mcp.send({**REQUEST, "params": {"_meta": meta}}, None, MCP_Protocol_Version="2025-11-25")
    assert answer.status_code == 200
    assert "ttlMs" not in answer.json["result"]


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        [],
        {"io.modelcontextprotocol/protocolVersion": MODERN},
        {"io.modelcontextprotocol/clientCapabilities": {}},
        {**META, "io.modelcontextprotocol/protocolVersion": 5},
        {**META, "io.modelcontextprotocol/clientCapabilities": None},
    ],
)
def test_the_modern_version_wants_its_envelope(mcp: Any, meta: Any) -> None:
    params = {} if meta is None else {"_meta": meta}
    answer = mcp.send({**REQUEST, "params": params}, None, MCP_Protocol_Version=MODERN, Mcp_Method="tools/list")
    assert (answer.status_code, answer.json["error"]["code"], answer.json["id"]) == (400, -32602, 7)


def test_the_modern_version_wants_no_client_name(mcp: Any) -> None:
    answer = mcp.send(
        {**REQUEST, "params": {"_meta": META}}, None, MCP_Protocol_Version=MODERN, Mcp_Method="tools/list"
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("method", [None, "", "tools/call", "TOOLS/LIST"])
def test_the_method_header_repeats_the_body(mcp: Any, method: str | None) -> None:
    answer = mcp.send(REQUEST, MODERN, Mcp_Method=method)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020)


LATEST = {**REQUEST, "method": "tools/call", "params": {"name": "get_latest", "arguments": {"zone": "GB"}}}


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "foo",
        "GET_LATEST",
        "=?base64?Zm9v?=",
        "=?base64?!!?=",
        "=?base64?/w==?=",
        "=?BASE64?Z2V0X2xhdGVzdA==?=",
    ],
)
def test_the_name_header_repeats_the_body(mcp: Any, name: str | None) -> None:
    answer = mcp.send(LATEST, MODERN, Mcp_Name=name)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("name", ["get_latest", "  get_latest  ", "=?base64?Z2V0X2xhdGVzdA==?="])
def test_the_name_header_may_be_padded_or_encoded(mcp: Any, name: str) -> None:
    assert mcp.send(LATEST, MODERN, Mcp_Name=name).status_code == 200


@pytest.mark.parametrize(
    ("method", "params", "name"), [("prompts/get", {"name": "a"}, "b"), ("resources/read", {"uri": "x:a"}, "x:b")]
)
def test_the_name_header_is_compared_before_the_method_is_looked_up(
    mcp: Any, method: str, params: dict[str, Any], name: str
) -> None:
    wrong = mcp.send({**REQUEST, "method": method, "params": params}, MODERN, Mcp_Name=name)
    right = mcp.send({**REQUEST, "method": method, "params": params}, MODERN, Mcp_Name=next(iter(params.values())))
    assert (wrong.status_code, wrong.json["error"]["code"]) == (400, -32020)
    assert (right.status_code, right.json["error"]["code"]) == (400, -32602)


@every_version
def test_sessions_are_neither_given_nor_looked_at(mcp: Any, version: str) -> None:
    answer = mcp.send(REQUEST, version, Mcp_Session_Id="abc", Last_Event_ID="5")
    assert answer.status_code == 200
    assert "Mcp-Session-Id" not in answer.headers


@every_version
def test_headers_of_the_modern_version_mean_nothing_to_the_others(mcp: Any, version: str) -> None:
    answer = mcp.send(
        REQUEST, version, **({} if version == MODERN else {"Mcp_Method": "nonsense", "Mcp_Name": "nonsense"})
    )
    assert answer.status_code == 200


def test_answers_are_kept_by_nobody(mcp: Any) -> None:
    for version in VERSIONS:
        assert mcp.call("get_latest", version, zone="GB")
        assert mcp.send(REQUEST, version).headers["Cache-Control"] == "no-store"
