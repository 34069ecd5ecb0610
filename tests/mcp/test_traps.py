"""Mistakes that other MCP servers and clients made, numbered."""

from __future__ import annotations

import http.client
import json
import math
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from api.mcp.protocol import ProtocolHeaders, exchange

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_latest", "arguments": {"zone": "GB"}},
}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_01_get_is_405_with_allow(mcp: Any, method: str) -> None:
    """A 200 of another type makes TypeScript clients loop (malloyyo 133); 400 or 404 breaks Cursor (mcp-proxy 62)."""
    for accept in ("text/event-stream", "*/*", None):
        answer = mcp.raw(b"", method, Accept=accept, Content_Type=None)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_01_options_does_not_promise_get(mcp: Any) -> None:
    assert mcp.raw(b"", "OPTIONS", Content_Type=None).headers.getlist("Allow") == ["POST"]


def test_02_modern_results_have_their_envelope_and_legacy_ones_none(mcp: Any) -> None:
    for method in ("tools/list", "server/discover"):
        result = mcp.ask(MODERN, method).json["result"]
        assert result["resultType"] == "complete"
        assert isinstance(result["ttlMs"], int)
        assert result["cacheScope"] == "public"
    for version in ("2025-03-26", "2025-06-18", "2025-11-25"):
        text = mcp.ask(version, "tools/list").text + mcp.ask(version, "tools/call", **CALL["params"]).text
        assert not any(member in text for member in ('"resultType"', '"ttlMs"', '"cacheScope"'))


def test_03_the_oldest_version_is_known_by_the_header_that_it_does_not_send(mcp: Any) -> None:
    absent, named = mcp.send(CALL), mcp.send(CALL, None, MCP_Protocol_Version="2025-03-26")
    assert "structuredContent" not in absent.json["result"]
    assert absent.json == named.json
    assert '"outputSchema"' not in mcp.send(LISTING).text


def test_04_a_client_that_forgets_the_header_is_served_as_the_oldest(mcp: Any) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert (
        mcp.send({**LISTING, "method": "initialize", "params": opening}).json["result"]["protocolVersion"]
        == "2025-06-18"
    )
    assert len(mcp.send(CALL).json["result"]["content"]) == 2
    assert len(mcp.send(CALL, "2025-06-18").json["result"]["content"]) == 1


@pytest.mark.parametrize("id_", [True, False, None, 1.5, [], {}])
def test_05_what_is_no_id(mcp: Any, id_: Any) -> None:
    answer = mcp.send({**LISTING, "id": id_})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)
    assert "id" not in answer.json


@pytest.mark.parametrize("id_", [0, "", -1, "a", 2**63 - 1, 'é"\\'])
def test_05_what_is_one_comes_back_as_it_was(mcp: Any, id_: Any) -> None:
    for version in ("2025-03-26", MODERN):
        answered = mcp.send({**LISTING, "id": id_}, version).json["id"]
        assert answered == id_
        assert type(answered) is type(id_)
        assert mcp.send({**LISTING, "id": id_, "method": "nonsense"}, version).json["id"] == id_


@pytest.mark.parametrize(
    "body", ['{"id":NaN}', '{"id":Infinity}', '{"id":-Infinity}', '{"id":1e999}', "[" * 60_000, '{"a":' * 12_000]
)
def test_06_what_python_takes_for_json_and_is_none(mcp: Any, body: str) -> None:
    answer = mcp.raw(body)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32700)


def test_06_no_answer_holds_what_is_no_number() -> None:
    answer = exchange(json.dumps(LISTING).encode(), ProtocolHeaders(), lambda ask: orjson.dumps({"value": math.nan}))
    assert b"NaN" not in answer.body


def test_07_header_values_are_stripped_and_case_matters_in_them_alone(mcp: Any) -> None:
    body = json.dumps({**LISTING, "params": {"_meta": META}})
    assert mcp.raw(body, mCP_pROTOCOL_vERSION=f"  {MODERN} ", MCP_METHOD=" tools/list\t").status_code == 200
    assert mcp.send(LISTING, MODERN, Mcp_Method="Tools/List").json["error"]["code"] == -32020


@pytest.mark.slow
def test_07_a_doubled_header_is_no_header(served: Any) -> None:
    """gunicorn joins them with a comma."""

    def send(methods: list[str]) -> tuple[int, Any]:
        body = json.dumps({**LISTING, "params": {"_meta": META}}).encode()
        connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=10)
        connection.putrequest("POST", "/mcp")
        headers = [
            ("Content-Type", "application/json"),
            ("MCP-Protocol-Version", MODERN),
            ("Content-Length", str(len(body))),
        ]
        for name, value in [*headers, *(("Mcp-Method", method) for method in methods)]:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        reply = json.loads(answer.read())
        connection.close()
        return answer.status, reply

    assert send(["tools/list"])[0] == 200
    status, reply = send(["tools/list", "tools/list"])
    assert (status, reply["error"]["code"]) == (400, -32020)


def test_08_what_proxies_must_pass_is_told_to_their_owners() -> None:
    text = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
    for name in ("Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Authorization"):
        assert name in text


def test_09_browsers_of_welcome_origins_get_cors_and_others_403(make: Any) -> None:
    mcp = make(allowed_origins=("https://inspector.example",))
    assert mcp.send(LISTING, MODERN, Origin="https://evil.example").status_code == 403
    answer = mcp.raw(
        b"", "OPTIONS", Origin="https://inspector.example", Access_Control_Request_Method="POST", Content_Type=None
    )
    assert answer.headers["Access-Control-Allow-Origin"] == "https://inspector.example"
    for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Authorization", "Content-Type"):
        assert name in answer.headers["Access-Control-Allow-Headers"]


def test_10_modern_notifications_need_no_headers(mcp: Any) -> None:
    answer = mcp.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, MODERN, Mcp_Method=None
    )
    assert (answer.status_code, answer.data) == (202, b"")


def test_11_the_suite_is_pinned_to_a_release_that_knows_the_newest_version() -> None:
    """The tag `latest` does not."""
    package = json.loads((Path(__file__).parents[1] / "node" / "package.json").read_text())
    assert package["dependencies"]["@modelcontextprotocol/conformance"] == "0.2.0-alpha.12"


@pytest.mark.slow
@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (70_000, 413), (3_000_000, 413)])
def test_12_a_chunked_body_is_bounded_too(served: Any, size: int, status: int) -> None:
    pad = json.dumps({**LISTING, "params": {"pad": "x" * size}}).encode()
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=10)
    chunks = (pad[at : at + 8192] for at in range(0, len(pad), 8192))
    received = 0
    with closing(connection), suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", "/mcp", chunks, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        received = answer.status
        answer.close()
    # A long one may be refused, and the connection closed, while it is still being sent.
    assert received == status or (received == 0 and size > 1_000_000)
