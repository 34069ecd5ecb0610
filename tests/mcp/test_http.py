"""Check the endpoint as HTTP: origins, sizes, the order of checks, CORS, and the same responses through Flask."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.http import access_log
from tests.mcp.conftest import MODERN

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
BODY = json.dumps(REQUEST)


def code(answer: Any) -> tuple[int, int]:
    return answer.status_code, json.loads(answer.data)["error"]["code"]


# Origin and Host


def test_pages_of_welcome_origins_may_call(make: Any) -> None:
    mcp = make(allowed_origins=("https://app.example.org", "http://emds:8000"))
    for origin in ("http://emds.example", "http://localhost:6274", "https://[::1]:8443", "https://app.example.org"):
        answer = mcp.raw(BODY, Origin=origin)
        assert answer.status_code == 200
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Origin" in answer.headers["Vary"]
        assert "RateLimit" in answer.headers["Access-Control-Expose-Headers"]
    assert mcp.raw(BODY, Host="emds:8000").status_code == 200
    assert mcp.raw(BODY, Host="other:8000").status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example.com",
        "https://emds.example",
        "http://emds.example.evil.com",
        "null",
        "http://localhost.evil.com",
        "http://[::1",
    ],
)
def test_pages_of_other_origins_may_not(mcp: Any, origin: str) -> None:
    for method in ("POST", "GET", "OPTIONS"):
        answer = mcp.raw(BODY, method, Origin=origin)
        assert code(answer) == (403, -32600)
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_own_hosts_and_addresses_are_served_and_others_are_not(mcp: Any) -> None:
    for host in ("emds.example", "EMDS.example:8000", "localhost", "[::1]:80", "10.1.2.3", None):
        assert mcp.raw(BODY, Host=host).status_code == 200, host
    for host in ("evil.example.com", "emds.example.evil.com:80", "localhost.evil.com", "[::1"):
        assert code(mcp.raw(BODY, Host=host)) == (403, -32600), host


def test_a_browser_asks_first(mcp: Any) -> None:
    preflight = {
        "Access_Control_Request_Method": "POST",
        "Access_Control_Request_Headers": "mcp-protocol-version,authorization",
    }
    answer = mcp.raw(b"", "OPTIONS", Origin="http://localhost:6274", Content_Type=None, **preflight)
    allowed = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:6274"
    assert answer.headers["Access-Control-Allow-Methods"] == "POST"
    assert {
        "authorization",
        "x-api-key",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
    } <= allowed
    assert answer.headers.getlist("Allow") == ["POST"]


# Bodies


@pytest.mark.parametrize(
    "body", ["", "{", '{"a":NaN}', '{"id":1e999}', "\ufeff{}", "[" * 60_000, '{"a":"\\ud800"}', b"\xff\xfe"]
)
def test_what_is_no_json_is_a_parse_error_without_id(mcp: Any, body: str | bytes) -> None:
    answer = mcp.raw(body)
    assert code(answer) == (400, -32700)
    assert set(answer.json) == {"jsonrpc", "error"}


@pytest.mark.parametrize(
    "message",
    [
        1,
        "a",
        None,
        {},
        {**REQUEST, "jsonrpc": "1.0"},
        {**REQUEST, "params": []},
        {**REQUEST, "params": None},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}},
    ],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", MODERN])
def test_what_is_no_message_is_an_invalid_request(mcp: Any, message: Any, version: str | None) -> None:
    answer = mcp.raw(json.dumps(message), MCP_Protocol_Version=version)
    assert code(answer) == (400, -32600)


def test_a_body_holds_64_kib(mcp: Any) -> None:
    fits = BODY[:-1] + " " * (65_536 - len(BODY)) + "}"
    assert mcp.raw(fits).status_code == 200
    answer = mcp.raw(fits + " ")
    assert code(answer) == (413, -32600)
    assert answer.headers["Connection"] == "close"


# Order of the checks


def test_each_check_comes_before_the_next(mcp: Any) -> None:
    """The test fixes one fault after the other: the first remaining fault decides the response."""
    faults: list[tuple[dict[str, str], bytes, int]] = [
        (
            {"Origin": "http://evil.example.com", "Content_Type": "text/plain", "Accept": "text/html"},
            b"x" * 70_000,
            403,
        ),
        ({"Content_Type": "text/plain", "Accept": "text/html"}, b"x" * 70_000, 415),
        ({"Accept": "text/html"}, b"x" * 70_000, 406),
        ({}, b"x" * 70_000, 413),
        ({}, b"x", 400),
    ]
    for headers, body, status in faults:
        assert mcp.raw(body, **headers).status_code == status
    assert mcp.raw(faults[1][1], "GET", **faults[1][0]).status_code == 405
    assert mcp.raw(b"", "GET", Host="evil.example.com").status_code == 403


# Failures of the service


@pytest.mark.parametrize("path", ["/mcp", "//mcp"])
def test_a_failure_of_ours_is_an_answer_to_its_request_that_an_admitted_page_may_read(
    mcp: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    monkeypatch.setattr("api.mcp.answers.status", lambda *_: 1 / 0)
    message = json.dumps({**REQUEST, "method": "tools/call", "params": {"name": "get_status"}})
    answer = mcp.raw(message, path=path, Origin="http://localhost:1", X_Request_Id="my-own")
    assert (*code(answer), answer.json["id"]) == (200, -32603, 7)
    assert answer.headers.getlist("Access-Control-Allow-Origin") == ["http://localhost:1"]
    assert "my-own" in answer.json["error"]["message"]
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in answer.text


def test_before_anything_is_published_tools_say_so(make: Any, tmp_path: Any) -> None:
    mcp = make(tmp_path / "empty")
    assert mcp.ask(MODERN, "tools/list").status_code == 200
    for tool, given in (
        ("list_zones", {}),
        ("get_latest", {"zone": "GB"}),
        ("get_history", {"zone": "GB", "metric": "price"}),
    ):
        result = mcp.call(tool, **given)
        assert result["isError"] is True
        assert "structuredContent" not in result


def test_nobody_is_sent_to_an_authorization_server(app: Any) -> None:
    for path in (
        "oauth-protected-resource",
        "oauth-protected-resource/mcp",
        "oauth-authorization-server",
        "openid-configuration",
    ):
        assert app.test_client().get(f"/.well-known/{path}").status_code == 404


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
    """`//mcp` goes through Flask, which reads it as `/mcp`. The log has the same entry for both."""
    lines: list[bytes] = []
    monkeypatch.setattr(access_log.os, "write", lambda _, line: lines.append(line))

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
