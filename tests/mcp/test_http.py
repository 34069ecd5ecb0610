"""The endpoint as HTTP: origins, sizes, the order of checks, CORS."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

MODERN = "2026-07-28"
REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
BODY = json.dumps(REQUEST)


def code(answer: Any) -> tuple[int, int]:
    return answer.status_code, json.loads(answer.data)["error"]["code"]


# Origin and Host


@pytest.mark.parametrize(
    "origin", ["http://emds.example", "http://localhost:6274", "https://[::1]:8443", "https://app.example.org"]
)
def test_pages_of_welcome_origins_may_call(make: Any, origin: str) -> None:
    answer = make(allowed_origins=("https://app.example.org",)).raw(BODY, Origin=origin)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert "Origin" in answer.headers["Vary"]
    assert "RateLimit" in answer.headers["Access-Control-Expose-Headers"]


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


@pytest.mark.parametrize("host", ["emds.example", "EMDS.example:8000", "localhost", "[::1]:80", "10.1.2.3", None])
def test_own_hosts_and_addresses_are_served(mcp: Any, host: str | None) -> None:
    assert mcp.raw(BODY, Host=host).status_code == 200


def test_the_owner_can_let_in_more_hosts(make: Any) -> None:
    mcp = make(allowed_origins=("http://emds:8000",))
    assert mcp.raw(BODY, Host="emds:8000").status_code == 200
    assert mcp.raw(BODY, Host="other:8000").status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example.com", "evil.example.com:80", "emds.example.evil.com", "localhost.evil.com", "[::1"]
)
def test_other_hosts_are_not(mcp: Any, host: str) -> None:
    assert code(mcp.raw(BODY, Host=host)) == (403, -32600)


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


def test_an_invalid_request_keeps_its_id_where_it_has_one(mcp: Any) -> None:
    assert mcp.raw(json.dumps({**REQUEST, "params": []})).json["id"] == 7
    assert "id" not in mcp.raw(json.dumps({"jsonrpc": "2.0", "id": None, "method": 1})).json


def padded(size: int) -> str:
    return json.dumps(
        {**REQUEST, "params": {"pad": "x" * (size - len(json.dumps({**REQUEST, "params": {"pad": ""}})))}}
    )


def test_a_body_holds_64_kib(mcp: Any) -> None:
    fits, exceeds = padded(65_536), padded(65_537)
    assert (len(fits), len(exceeds)) == (65_536, 65_537)
    assert mcp.raw(fits).status_code == 200
    answer = mcp.raw(exceeds)
    assert code(answer) == (413, -32600)
    assert answer.headers["Connection"] == "close"


def test_a_body_that_breaks_off_is_no_failure_of_ours(mcp: Any, caplog: pytest.LogCaptureFixture) -> None:
    answer = mcp.app.test_client().post(
        "/mcp",
        environ_overrides={
            "wsgi.input": io.BytesIO(b'{"jsonrpc"'),
            "CONTENT_LENGTH": "500",
            "CONTENT_TYPE": "application/json",
        },
    )
    assert code(answer) == (400, -32600)
    assert answer.headers["Connection"] == "close"
    assert caplog.text == ""


# Order of the checks


def test_each_check_comes_before_the_next(mcp: Any) -> None:
    """Mends one fault after the other: the first that is left decides the answer."""
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


def test_each_check_of_a_modern_message_comes_before_the_next(mcp: Any) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "1999-01-01", "io.modelcontextprotocol/clientCapabilities": {}}
    wrong = {**REQUEST, "method": "nonsense"}
    steps: list[tuple[Any, dict[str, str], int]] = [
        ({"id": 1}, {"MCP_Protocol_Version": MODERN, "Mcp_Method": "x"}, -32600),
        ({**wrong, "params": {"_meta": {}}}, {"MCP_Protocol_Version": MODERN, "Mcp_Method": "x"}, -32602),
        ({**wrong, "params": {"_meta": meta}}, {"MCP_Protocol_Version": MODERN, "Mcp_Method": "x"}, -32020),
        ({**wrong, "params": {"_meta": meta}}, {"MCP_Protocol_Version": "1999-01-01", "Mcp_Method": "x"}, -32022),
    ]
    for message, headers, expected in steps:
        assert mcp.raw(json.dumps(message), **headers).json["error"]["code"] == expected
    assert code(mcp.send(wrong, MODERN, Mcp_Method="x")) == (400, -32020)
    assert code(mcp.send(wrong, MODERN)) == (404, -32601)


# Failures of ours


def test_a_failure_of_ours_is_an_answer_to_its_request(
    mcp: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("api.mcp.answers.status", lambda *_: 1 / 0)
    answer = mcp.send(
        {**REQUEST, "id": "x", "method": "tools/call", "params": {"name": "get_status"}},
        "2025-11-25",
        X_Request_Id="my-own",
    )
    assert answer.status_code == 200
    assert answer.json["id"] == "x"
    assert answer.json["error"]["code"] == -32603
    assert "my-own" in answer.json["error"]["message"]
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in answer.text


@pytest.mark.parametrize("path", ["/mcp", "//mcp"])
def test_an_admitted_page_may_read_a_failure_of_ours(mcp: Any, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr("api.mcp.answers.status", lambda *_: 1 / 0)
    message = json.dumps({**REQUEST, "method": "tools/call", "params": {"name": "get_status"}})
    answer = mcp.raw(message, path=path, Origin="http://localhost:1")
    assert code(answer) == (200, -32603)
    assert answer.headers.getlist("Access-Control-Allow-Origin") == ["http://localhost:1"]


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
