"""Validate every response against the official schema of its version, taken from the conformance suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.mcp.conftest import MODERN, VERSIONS

pytestmark = pytest.mark.slow
NODE = Path(__file__).parents[1] / "node"
RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "server/discover": "DiscoverResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
}
READING: list[tuple[str, dict[str, Any]]] = [
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "emds://catalogue"}),
    ("resources/read", {"uri": "emds://docs/brief"}),
    ("resources/read", {"uri": "emds://none"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "market_briefing", "arguments": {"zone": "GB"}}),
    ("prompts/get", {"name": "none"}),
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_zones", {}),
    ("get_status", {}),
    ("get_latest", {"zone": "GB"}),
    ("get_zone_brief", {"zone": "GB"}),
    ("get_map_snapshot", {}),
    ("get_history", {"zone": "GB", "metric": "demand"}),
    ("get_history", {"zone": "GB", "metric": "price", "limit": 3}),
    ("find_window", {"zone": "DE-LU", "hours": 0.5}),
    ("get_statistics", {"zone": "GB", "metric": "price"}),
    ("get_history", {"zone": "FR", "metric": "generation"}),
    ("get_latest", {"zone": "XX"}),
    ("get_latest", {"zone": "FR"}),
    ("get_latest", {"zone": "GB", "api_key": "emds_wrong"}),
    ("nope", {}),
]


class Official:
    """The schema.json of one version."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.members = "definitions" if "definitions" in schema else "$defs"
        self._validators: dict[str, Any] = {}

    def check(self, name: str, value: Any) -> None:
        """Raise jsonschema.ValidationError if `value` does not match the definition `name`."""
        if name not in self._validators:
            assert name in self.schema[self.members], name
            reference = {**self.schema, "$ref": f"#/{self.members}/{name}"}
            self._validators[name] = jsonschema.validators.validator_for(self.schema)(reference)
        self._validators[name].validate(value)

    @property
    def error(self) -> str:
        """Return the name of the definition of error messages."""
        return "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in self.schema[self.members] else "JSONRPCError"

    @property
    def answer(self) -> str:
        """Return the name of the definition of result messages."""
        return "JSONRPCResultResponse" if "JSONRPCResultResponse" in self.schema[self.members] else "JSONRPCResponse"


@pytest.fixture(scope="module")
def official(programs: Any) -> dict[str, Official]:
    """Return the schemas by version."""
    programs.path("@modelcontextprotocol/conformance/package.json")
    return {
        version: Official(schema)
        for version, schema in programs.report(programs.node, str(NODE / "mcp_schemas.mjs")).items()
    }


def converse(mcp: Any, version: str, key: str) -> None:
    """Send valid and invalid requests as a client of one version."""
    for method in ("initialize", "ping", "server/discover", "nonsense", "resources/subscribe"):
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "Tests", "version": "1"}}
        mcp.ask(version, method, **(opening if method == "initialize" else {}))
    mcp.ask(version, "tools/list")
    mcp.ask(version, "tools/list", cursor="x")
    for method, params in READING:
        named = {"Mcp_Name": params.get("uri", params.get("name"))} if version == MODERN else {}
        mcp.send({"jsonrpc": "2.0", "id": 3, "method": method, "params": params}, version, **named)
    for tool, arguments in CALLS:
        mcp.ask(version, "tools/call", name=tool, arguments=arguments)
        mcp.ask(version, "tools/call", name=tool, arguments={"api_key": key, **arguments})
    mcp.ask(
        version, "tools/call", name="get_latest", arguments={"zone": "GB"}, _meta={"x402/payment": {"x402Version": 2}}
    )
    mcp.send({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, None if version == MODERN else version)
    mcp.send({"jsonrpc": "2.0", "id": "", "method": "tools/list"}, version, MCP_Protocol_Version="1999-01-01")
    if version == MODERN:
        mcp.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, MODERN, Mcp_Method="ping")


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_validate(mcp: Any, key: str, official: dict[str, Official], version: str) -> None:
    schema = official[version]
    converse(mcp, version, key)
    kinds: dict[str, int] = {}
    for _, message, answer in mcp.exchanges:
        if "error" in answer:
            schema.check(schema.error, answer)
            kinds["error"] = kinds.get("error", 0) + 1
        else:
            name = RESULTS[message["method"]]
            schema.check(schema.answer, answer)
            schema.check(name, answer["result"])
            kinds[name] = kinds.get(name, 0) + 1
        schema.check("JSONRPCMessage", answer)
    own = {"DiscoverResult"} if version == MODERN else {"InitializeResult", "EmptyResult"}
    read = {RESULTS[method] for method, _ in READING}
    assert set(kinds) == {"ListToolsResult", "CallToolResult", "error", *read, *own}
    assert kinds["CallToolResult"] >= 18


def test_an_answer_to_a_batch_validates(mcp: Any, official: dict[str, Official]) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_latest", "arguments": {"zone": "GB"}}}
    answer = mcp.send([{**call, "id": 1}, {"jsonrpc": "2.0", "id": 2, "method": "nonsense"}])
    official["2025-03-26"].check("JSONRPCBatchResponse", answer.json)
