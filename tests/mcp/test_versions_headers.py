"""What each protocol version requires of headers: media types, versions, method and name, sessions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.conftest import MODERN, VERSIONS
from tests.mcp.protocol_messages import META, REQUEST, every_version


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
