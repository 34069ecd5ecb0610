"""Check what each protocol version requires: opening, lists, envelopes, errors, bodies, headers, refused mistakes."""

from __future__ import annotations

import http.client
import json
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.mcp.conftest import LEGACY, MODERN, VERSIONS

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
VERSION, CLIENT = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
META = {VERSION: MODERN, CLIENT: {}}
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
every_version = pytest.mark.parametrize("version", VERSIONS)


def opening(version: str) -> dict[str, Any]:
    """Return the parameters of `initialize` for a client of `version`."""
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "Tests", "version": "1"}}


def refusal(answer: Any) -> tuple[int, int]:
    """Return the status and the error code."""
    return answer.status_code, answer.json["error"]["code"]


OWN = {
    "2025-03-26": {"name", "version"},
    "2025-06-18": {"name", "version", "title"},
    "2025-11-25": {"name", "version", "title", "description", "websiteUrl", "icons"},
}
"""Fields in which a server may describe itself, for each version with a handshake."""


@pytest.mark.parametrize("requested", [*LEGACY, MODERN, "2024-11-05", "1999-01-01"])
def test_initialize_answers_the_version_asked_for_or_the_newest_with_a_handshake(mcp: Any, requested: str) -> None:
    answer = mcp.ask("2025-03-26", "initialize", **opening(requested))
    result = answer.json["result"]
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert result["protocolVersion"] == (requested if requested in LEGACY else "2025-11-25")
    assert set(result["serverInfo"]) == OWN[result["protocolVersion"]]
    assert result["capabilities"] == CAPABILITIES
    assert "key" in result["instructions"]
    assert "resultType" not in result


@every_version
def test_methods_of_other_versions_are_unknown(mcp: Any, version: str) -> None:
    """A legacy version reports the error only in the body."""
    methods = ["initialize", "ping", "logging/setLevel"] if version == MODERN else ["server/discover", "nonsense", ""]
    for method in methods:
        assert refusal(mcp.ask(version, method)) == (404 if version == MODERN else 200, -32601), method


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
    figures = called["structuredContent"] if version != "2025-03-26" else json.loads(called["content"][1]["text"])
    assert figures == mcp.call("get_latest", MODERN, zone="GB")["structuredContent"]


@every_version
@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "nope"}, {"name": "get_latest", "arguments": ["GB"]}])
def test_a_malformed_call_is_an_error(mcp: Any, version: str, params: dict[str, Any]) -> None:
    headers = {"Mcp_Name": str(params.get("name"))} if version == MODERN else {}
    answer = mcp.send({**REQUEST, "method": "tools/call", "params": params}, version, **headers)
    assert refusal(answer) == (400 if version == MODERN else 200, -32602)


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


# Bodies


@pytest.mark.parametrize("version", LEGACY)
def test_a_notification_and_a_posted_response_are_accepted_without_a_body(mcp: Any, version: str) -> None:
    for message in ({"method": "notifications/initialized"}, {"id": 1, "result": {}}):
        answer = mcp.send({"jsonrpc": "2.0", **message}, version)
        assert (answer.status_code, answer.data) == (202, b"")
        assert "Content-Type" not in answer.headers


def test_a_batch_is_answered_in_the_one_version_that_has_them(mcp: Any) -> None:
    latest = {"name": "get_latest", "arguments": {"zone": "GB"}}
    batch = [
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
        {"jsonrpc": "2.0", "id": "4", "method": "tools/call", "params": latest},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "method": "nonsense"},
    ]
    for headers in ({}, {"MCP_Protocol_Version": "2025-03-26"}):
        answer = mcp.send(batch, None, **headers)
        assert answer.status_code == 200
        assert [member["id"] for member in answer.json] == [3, "4", 5]
        assert answer.json[1]["result"]["content"]
        assert answer.json[2]["error"]["code"] == -32601
    silent = mcp.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 20)
    assert (silent.status_code, silent.data) == (202, b"")


@pytest.mark.parametrize(
    ("version", "body"),
    [
        *((version, [{"jsonrpc": "2.0", "id": 3, "method": "ping"}]) for version in VERSIONS[1:]),
        (MODERN, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        (None, []),
        (None, [REQUEST] * 21),
        (None, [REQUEST, {**REQUEST, "method": "initialize", "params": opening("2025-03-26")}]),
        (None, [REQUEST, None]),
        (None, [[REQUEST]]),
        *((None, {**REQUEST, "id": no_id}) for no_id in (True, None, 1.5, [])),
    ],
)
def test_what_is_no_batch_no_response_and_no_id_is_refused_whole(mcp: Any, version: str | None, body: Any) -> None:
    answer = mcp.raw(json.dumps(body), MCP_Protocol_Version=version)
    assert refusal(answer) == (400, -32600)
    assert "id" not in answer.json


@pytest.mark.parametrize("id_", [0, "", -1, 2**63 - 1, 'é"\\'])
def test_what_is_an_id_comes_back_as_it_was(mcp: Any, id_: Any) -> None:
    for version in ("2025-03-26", MODERN):
        for method in ("tools/list", "nonsense"):
            answered = mcp.send({**REQUEST, "id": id_, "method": method}, version).json["id"]
            assert (answered, type(answered)) == (id_, type(id_))


# Headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": None}, 200),
        ({"Accept": "text/event-stream, application/json;q=0.1"}, 200),
        ({"Accept": "text/event-stream"}, 406),
        ({"Accept": "application/json;q=0"}, 406),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_media_types_decide_first(mcp: Any, headers: dict[str, str | None], status: int) -> None:
    for version in VERSIONS:
        assert mcp.send(REQUEST, version, **headers).status_code == status


def test_an_absent_version_header_means_the_oldest_version(mcp: Any) -> None:
    assert "outputSchema" not in mcp.send(REQUEST).json["result"]["tools"][0]
    assert "outputSchema" in mcp.send(REQUEST, None, MCP_Protocol_Version="2025-06-18").json["result"]["tools"][0]


@pytest.mark.parametrize("stated", [False, True])
def test_an_unknown_version_is_refused_with_those_there_are(mcp: Any, stated: bool) -> None:
    """The header names the version; if `stated` is true, `_meta` names it too."""
    params = {"params": {"_meta": {**META, VERSION: "1999-01-01"}}} if stated else {}
    answer = mcp.send({**REQUEST, **params}, None, MCP_Protocol_Version="1999-01-01", Mcp_Method="tools/list")
    assert answer.status_code == 400
    assert answer.json == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [MODERN, "2025-11-25", "2025-06-18", "2025-03-26"], "requested": "1999-01-01"},
        },
    }


@pytest.mark.parametrize(
    ("header", "meta", "method", "code"),
    [
        ("2025-11-25", {VERSION: "2025-11-25"}, None, None),  # a legacy client may repeat its version
        (f" {MODERN} ", META, " tools/list\t", None),
        (None, META, "tools/list", -32020),
        ("2025-11-25", META, "tools/list", -32020),
        (MODERN, {**META, VERSION: "2025-11-25"}, "tools/list", -32020),
        (None, {**META, VERSION: "2025-11-25"}, "tools/list", -32020),
        ("1999-01-01", META, "tools/list", -32020),
        (MODERN, {**META, VERSION: "1999-01-01"}, "tools/list", -32020),
        (MODERN, None, "tools/list", -32602),
        (MODERN, [], "tools/list", -32602),
        (MODERN, {VERSION: MODERN}, "tools/list", -32602),
        (MODERN, {CLIENT: {}}, "tools/list", -32602),
        (MODERN, {**META, VERSION: 5}, "tools/list", -32602),
        (MODERN, {**META, CLIENT: None}, "tools/list", -32602),
        (MODERN, META, None, -32020),
        (MODERN, META, "tools/call", -32020),
        (MODERN, META, "TOOLS/LIST", -32020),
        (MODERN, META, "tools/list,tools/list", -32020),  # a repeated header, as servers join it
    ],
)
def test_headers_and_envelope_agree(
    mcp: Any, header: str | None, meta: Any, method: str | None, code: int | None
) -> None:
    params = {} if meta is None else {"_meta": meta}
    answer = mcp.send({**REQUEST, "params": params}, None, MCP_Protocol_Version=header, Mcp_Method=method)
    if code is None:
        assert answer.status_code == 200
    else:
        assert (*refusal(answer), answer.json["id"]) == (400, code, 7)


@pytest.mark.parametrize(
    ("method", "params", "name", "refused"),
    [
        *(
            ("tools/call", {"name": "get_latest", "arguments": {"zone": "GB"}}, name, -32020)
            for name in (None, "foo", "GET_LATEST", "=?base64?Zm9v?=", "=?base64?!!?=", "=?BASE64?Z2V0X2xhdGVzdA==?=")
        ),
        ("tools/call", {"name": "get_latest", "arguments": {"zone": "GB"}}, "  get_latest  ", None),
        ("tools/call", {"name": "get_latest", "arguments": {"zone": "GB"}}, "=?base64?Z2V0X2xhdGVzdA==?=", None),
        ("prompts/get", {"name": "a"}, "b", -32020),  # compared before the method is looked up
        ("prompts/get", {"name": "a"}, "a", -32602),
        ("resources/read", {"uri": "x:a"}, "x:b", -32020),
    ],
)
def test_the_name_header_repeats_the_body(
    mcp: Any, method: str, params: dict[str, Any], name: str | None, refused: int | None
) -> None:
    answer = mcp.send({**REQUEST, "method": method, "params": params}, MODERN, Mcp_Name=name)
    if refused is None:
        assert answer.status_code == 200
    else:
        assert refusal(answer) == (400, refused)


@every_version
def test_sessions_and_the_headers_of_other_versions_mean_nothing(mcp: Any, version: str) -> None:
    others = {} if version == MODERN else {"Mcp_Method": "nonsense", "Mcp_Name": "nonsense"}
    answer = mcp.send(REQUEST, version, Mcp_Session_Id="abc", Last_Event_ID="5", **others)
    assert (answer.status_code, "Mcp-Session-Id" in answer.headers) == (200, False)
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.slow
@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (70_000, 413), (3_000_000, 413)])
def test_a_chunked_body_is_bounded_too(served: Any, size: int, status: int) -> None:
    pad = json.dumps({**REQUEST, "params": {"pad": "x" * size}}).encode()
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=10)
    chunks = (pad[at : at + 8192] for at in range(0, len(pad), 8192))
    received = 0
    with closing(connection), suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", "/mcp", chunks, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        received = answer.status
        answer.close()
    # A long body may be refused, and the connection closed, while it is still being sent.
    assert received == status or (received == 0 and size > 1_000_000)
