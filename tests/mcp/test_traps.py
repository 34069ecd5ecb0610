"""Mistakes that other MCP servers and clients made."""

from __future__ import annotations

import http.client
import json
import math
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from api.mcp.protocol import ProtocolHeaders, exchange

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("id_", [True, False, None, 1.5, [], {}])
def test_what_is_no_id(mcp: Any, id_: Any) -> None:
    answer = mcp.send({**LISTING, "id": id_})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)
    assert "id" not in answer.json


@pytest.mark.parametrize("id_", [0, "", -1, "a", 2**63 - 1, 'é"\\'])
def test_what_is_one_comes_back_as_it_was(mcp: Any, id_: Any) -> None:
    for version in ("2025-03-26", MODERN):
        answered = mcp.send({**LISTING, "id": id_}, version).json["id"]
        assert answered == id_
        assert type(answered) is type(id_)
        assert mcp.send({**LISTING, "id": id_, "method": "nonsense"}, version).json["id"] == id_


@pytest.mark.parametrize(
    "body", ['{"id":NaN}', '{"id":Infinity}', '{"id":-Infinity}', '{"id":1e999}', "[" * 60_000, '{"a":' * 12_000]
)
def test_what_python_takes_for_json_and_is_none(mcp: Any, body: str) -> None:
    answer = mcp.raw(body)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32700)


def test_no_answer_holds_what_is_no_number() -> None:
    answer = exchange(json.dumps(LISTING).encode(), ProtocolHeaders(), lambda ask: orjson.dumps({"value": math.nan}))
    assert b"NaN" not in answer.body


def test_header_values_are_stripped_and_case_matters_in_them_alone(mcp: Any) -> None:
    body = json.dumps({**LISTING, "params": {"_meta": META}})
    assert mcp.raw(body, mCP_pROTOCOL_vERSION=f"  {MODERN} ", MCP_METHOD=" tools/list\t").status_code == 200
    assert mcp.send(LISTING, MODERN, Mcp_Method="Tools/List").json["error"]["code"] == -32020


@pytest.mark.slow
def test_a_doubled_header_is_no_header(served: Any) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (70_000, 413), (3_000_000, 413)])
def test_a_chunked_body_is_bounded_too(served: Any, size: int, status: int) -> None:
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
