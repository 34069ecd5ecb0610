"""Check the tools' schemas: hosts accept them, all responses match them, and documents and the registry agree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

from tests.mcp.conftest import MODERN
from tests.mcp.reading import tokens
from tests.mcp.tool_calls import DATA, FREE, SERIES
from warehouse.version import __version__


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas within it."""
    if isinstance(schema, dict):
        yield schema
        for name, part in schema.items():
            yield from (
                (inner for member in part.values() for inner in parts(member)) if name == "properties" else parts(part)
            )
    elif isinstance(schema, list):
        for member in schema:
            yield from parts(member)


def test_descriptions_and_names_are_such_as_directories_take(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        assert re.fullmatch(r"[a-z_]{1,64}", name)
        assert 60 < len(tool["description"]) < 800
        assert tool["annotations"] == {
            "title": tool["title"],
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        assert "icons" not in tool
        assert "execution" not in tool


def test_input_schemas_are_such_as_hosts_take(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert not {"anyOf", "oneOf", "allOf", "if"} & set(schema)
        for part in parts(schema):
            assert not {"$ref", "$defs", "x-mcp-header"} & set(part)
            assert isinstance(part.get("type", ""), str)
        for argument in schema["properties"].values():
            assert argument["description"]
        assert "api_key" in schema["properties"]
        assert ("sample" in schema["properties"]) == (name in DATA)
        assert "api_key" not in schema.get("required", [])


def test_the_list_is_small_enough_to_stand_in_every_prompt(mcp: Any) -> None:
    answer = mcp.ask(MODERN, "tools/list")
    assert len(answer.data) < 22_000
    tools = [
        {name: part for name, part in tool.items() if name != "outputSchema"} for tool in answer.json["result"]["tools"]
    ]
    assert sum(tokens(json.dumps(tool, separators=(",", ":"), ensure_ascii=False)) for tool in tools) <= 4500


HISTORIES: list[dict[str, Any]] = [
    {"limit": 101},
    {"order": "desc"},
    {"interval": "1h"},
    {"start": "1970", "end": "1971"},
    {"interval": "1d", "start": "2026-03-01T00:00:00Z"},
]


def test_every_answer_is_true_to_its_output_schema(keyed: Any, tools: dict[str, Any]) -> None:
    """Both full responses and samples are validated."""
    calls: list[tuple[str, dict[str, Any]]] = [*((name, {}) for name in FREE), *DATA.items()]
    calls += [("get_history", {"zone": "GB", "metric": metric, **more}) for metric in SERIES[:5] for more in HISTORIES]
    calls += [("get_history", {"zone": "DE-LU", "metric": "capacity"})]
    checks = {name: jsonschema.Draft202012Validator(tool["outputSchema"]) for name, tool in tools.items()}
    for headers in ({}, dict(keyed.headers)):
        keyed.headers = headers
        for name, arguments in calls:
            result = keyed.call(name, **arguments)
            assert "isError" not in result
            checks[name].validate(result["structuredContent"])


def test_no_argument_offers_what_is_always_refused(keyed: Any, tools: dict[str, Any]) -> None:
    """Some call accepts each word of an enum; `sample: false` without a key returns the payment offer."""
    for name, tool in tools.items():
        properties = tool["inputSchema"]["properties"]
        for argument, schema in properties.items():
            of_list = schema.get("type") == "array"
            for word in (schema["items"] if of_list else schema).get("enum", []):
                call = {"zone": "GB", "metric": "price", **DATA.get(name, {})}
                call = {member: value for member, value in call.items() if member in properties}
                if (argument, word) == ("by", "border"):
                    call["metric"] = "interchange"
                if argument == "basis":
                    call["metric"] = "carbon"
                if word == "forecast":
                    call["metric"] = "demand"
                if word in ("day_ahead", "capacity"):
                    call["zone"] = "DE-LU"
                if word in ("carbon_intensity", "wind_solar") and "zone" in call:
                    call["zone"] = "GB"
                result = keyed.call(name, **call | {argument: [word] if of_list else word})
                assert "isError" not in result, (name, argument, word, result["content"])


ROOT = Path(__file__).parents[2]
ENTRY = json.loads((ROOT / "server.json").read_text())


def test_the_entry_says_what_the_server_says(mcp: Any) -> None:
    server = mcp.ask("2026-07-28", "server/discover").json["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (ENTRY["title"], ENTRY["version"]) == (server["title"], server["version"])
    assert server["version"] == __version__


def test_the_documentation_names_every_tool_and_argument(mcp: Any) -> None:
    text = (ROOT / "docs" / "mcp.md").read_text()
    for tool in mcp.ask("2026-07-28", "tools/list").json["result"]["tools"]:
        assert f"`{tool['name']}`" in text
        for argument in tool["inputSchema"]["properties"]:
            assert re.search(f"`{argument}[?`]", text), argument


def test_llms_txt_names_every_tool_with_its_arguments(mcp: Any) -> None:
    text = mcp.app.test_client().get("/llms.txt").text
    for tool in mcp.ask("2026-07-28", "tools/list").json["result"]["tools"]:
        line = next(line for line in text.splitlines() if line.startswith(f"- `{tool['name']}`("))
        assert tool["description"].partition(". ")[0] in line
        for argument in tool["inputSchema"]["properties"]:
            required = argument in tool["inputSchema"].get("required", [])
            assert re.search(rf"\b{argument}{'' if required else '[?]'}[,)]", line), argument


def test_the_documentation_names_every_resource_and_prompt(mcp: Any) -> None:
    text = (ROOT / "docs" / "mcp.md").read_text()
    for prompt in mcp.ask("2026-07-28", "prompts/list").json["result"]["prompts"]:
        assert f"`{prompt['name']}`" in text
    for resource in mcp.ask("2026-07-28", "resources/list").json["result"]["resources"]:
        page = resource["uri"].removeprefix("emds://docs/")
        assert f"`{resource['uri']}`" in text or (ROOT / "docs" / f"{page}.md").exists()
