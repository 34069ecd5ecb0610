"""What each protocol version requires of bodies: posted responses, batches, and POST alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mcp.conftest import MODERN
from tests.mcp.protocol_messages import REQUEST, every_legacy, every_version, opening


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
