"""Check that every body gets a response that the protocol defines, and that no argument breaks a tool."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.access.values import Headers
from api.http.problems import Problem
from api.mcp.arguments import read_arguments
from api.mcp.protocol import LEGACY, MODERN, SUPPORTED, CheckedRequest, ProtocolHeaders, exchange
from api.mcp.tools import TOOLS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
HEADERS = (
    st.none()
    | st.sampled_from([*SUPPORTED, "1999-01-01", "tools/list", "tools/call", "get_latest", ""])
    | st.text(max_size=6)
)
METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/initialized", "x"]
)
META = (
    st.just({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}})
    | VALUES
)
PARAMS = (
    st.fixed_dictionaries({}, optional={"_meta": META, "name": VALUES, "protocolVersion": VALUES, "arguments": VALUES})
    | VALUES
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": VALUES,
        "method": METHODS | VALUES,
        "params": PARAMS,
        "result": VALUES,
        "error": VALUES,
    },
)
CODES = {-32700, -32600, -32601, -32602, -32020, -32022}


def perform(ask: CheckedRequest) -> tuple[bytes, Headers]:
    """Return a success for every tool call."""
    assert ask.version in SUPPORTED
    assert isinstance(ask.id, str | int)
    assert not isinstance(ask.id, bool)
    return b'{"ok":true}', ()


@given(st.one_of(MESSAGES, VALUES, st.lists(MESSAGES, max_size=4)), HEADERS, HEADERS, HEADERS)
@settings(max_examples=100, deadline=None)
def test_every_body_gets_an_answer_of_the_protocol(
    message: Any, version: str | None, method: str | None, name: str | None
) -> None:
    reply = exchange(json.dumps(message).encode(), ProtocolHeaders(version, method, name), perform)
    assert reply.status in (200, 202, 400, 404)
    assert (reply.body == b"") == (reply.status == 202)
    if reply.status == 202:
        return
    answer = orjson.loads(reply.body)
    for member in answer if isinstance(answer, list) else [answer]:
        assert member["jsonrpc"] == "2.0"
        assert ("result" in member) != ("error" in member)
        assert "id" not in member or (isinstance(member["id"], str | int) and not isinstance(member["id"], bool))
        if "error" in member:
            assert member["error"]["code"] in CODES
            assert reply.status in (400, 404) or version is None or version in LEGACY
        else:
            assert reply.status == 200


@given(st.binary(max_size=60))
def test_every_string_of_bytes_gets_an_answer_of_the_protocol(body: bytes) -> None:
    assert exchange(body, ProtocolHeaders(), perform).status in (200, 202, 400)


GUESSES = VALUES | st.sampled_from(
    ["GB", "de_lu", "XX", "price", "carbon-intensity", "asc", "1h", "2026-03-30T00:00:00Z", 0, 200, 10**20]
)
NAMES = st.sampled_from(["zone", "metric", "start", "end", "limit", "order", "interval"])


@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(NAMES | st.sampled_from(["api_key", "x"]), GUESSES))
@settings(max_examples=80, deadline=None)
def test_arguments_are_taken_or_refused_with_a_reason(tool: str, sent: dict[str, Any]) -> None:
    arguments = TOOLS[tool].arguments
    try:
        parsed = read_arguments(arguments, sent)
    except Problem as problem:
        reason = problem.detail
    else:
        reason = ": "
        assert set(parsed) == {argument.name for argument in arguments}
        assert orjson.dumps(parsed)
    assert ": " in reason


@given(st.dictionaries(NAMES, GUESSES))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_history_answers_whatever_it_is_asked(app: Any, sent: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_history", "arguments": sent}}
    answer = app.test_client().post("/mcp", json=body, headers={"MCP-Protocol-Version": "2025-11-25"})
    assert answer.status_code == 200
    result = answer.json["result"]
    assert result.get("isError", False) != ("structuredContent" in result)
