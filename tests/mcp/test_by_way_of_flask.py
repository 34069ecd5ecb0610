"""Messages are answered before Flask looks at them; what goes by way of Flask all the same is answered alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.http import middleware

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
BODY = json.dumps(REQUEST)
_CALL = {**REQUEST, "method": "tools/call", "params": {"name": "get_latest", "arguments": {"zone": "GB"}}}
_ALIKE: tuple[tuple[str | bytes, dict[str, str | None]], ...] = (
    (BODY, {}),
    (BODY, {"Origin": "http://localhost:1"}),
    (BODY, {"Origin": "http://evil.example.com"}),
    (BODY, {"Content_Type": "application/json; charset=utf-8"}),
    (BODY, {"Content_Type": "APPLICATION/JSON;charset=utf-8"}),
    (BODY, {"Content_Type": "application/jsonx"}),
    (BODY, {"Content_Type": "text/plain"}),
    (BODY, {"Content_Type": None}),
    (BODY, {"Accept": "image/png"}),
    (BODY, {"MCP_Protocol_Version": "2025-06-18"}),
    (BODY, {"MCP_Protocol_Version": "1999-01-01"}),
    (json.dumps(_CALL), {}),
    (json.dumps(_CALL), {"Authorization": "Bearer emds_nobody"}),
    (json.dumps([{**REQUEST, "method": "ping"}, _CALL]), {}),
    (json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), {}),
    ("{", {}),
    (b"\xff", {}),
    ("", {}),
    (" " * 65_537, {}),
)


def test_flask_would_answer_the_same(mcp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`//mcp` goes through Flask, which reads it as `/mcp`; the log names both alike."""
    lines: list[bytes] = []
    monkeypatch.setattr(middleware.os, "write", lambda _, line: lines.append(line))

    def answer(path: str, body: str | bytes, headers: dict[str, str | None]) -> tuple[Any, ...]:
        answer = mcp.raw(body, path=path, X_Request_Id="the-same", **headers)
        entry = json.loads(lines.pop())
        named = {name: entry[name] for name in ("route", "zone", "status", "method", "id")}
        return answer.status_code, sorted(answer.headers), answer.data, named

    found = []
    for body, headers in _ALIKE:
        directly = answer("/mcp", body, headers)
        assert directly == answer("//mcp", body, headers), (body[:60], headers)
        found.append(directly)
    assert {status for status, *_ in found} == {200, 202, 400, 403, 406, 413, 415}
    assert {entry["route"] for *_, entry in found} == {"mcp.answer", "mcp.tools.list", "mcp.get_latest"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT"])
def test_other_methods_go_by_way_of_flask(mcp: Any, method: str) -> None:
    answer = mcp.raw(BODY, method)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert bool(answer.data) == (method != "HEAD")


def test_a_path_that_begins_alike_is_any_unknown_path(mcp: Any) -> None:
    asked = {"Origin": "https://a.example", "Access_Control_Request_Method": "POST"}
    for path in ("/mcpx", "/nope"):
        assert mcp.raw(BODY, path=path, **asked).headers["Access-Control-Allow-Origin"] == "*"
        assert mcp.raw("", "OPTIONS", path, **asked).status_code == 204
