"""The tools' schemas: such as hosts and directories take, and true to every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.mcp.conftest import MODERN
from tests.mcp.reading import tokens
from tests.mcp.tool_calls import DATA, FREE, SERIES


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas within it."""
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


def test_no_argument_offers_what_is_always_refused(keyed: Any, tools: dict[str, Any]) -> None:
    """Each word of an enum is taken by some call; `sample: false` without a key is the offer to pay."""
    for name, tool in tools.items():
        properties = tool["inputSchema"]["properties"]
        for argument, schema in properties.items():
            of_list = schema.get("type") == "array"
            for word in (schema["items"] if of_list else schema).get("enum", []):
                call = {"zone": "GB", "metric": "price", **DATA.get(name, {})}
                call = {member: value for member, value in call.items() if member in properties}
                if (argument, word) == ("by", "border"):
                    call["metric"] = "interchange"
                if word == "forecast":
                    call["metric"] = "demand"
                if word in ("day_ahead", "capacity"):
                    call["zone"] = "DE-LU"
                if word == "carbon_intensity" and "zone" in call:
                    call["zone"] = "GB"
                result = keyed.call(name, **call | {argument: [word] if of_list else word})
                assert "isError" not in result, (name, argument, word, result["content"])


@pytest.mark.parametrize("metric", SERIES[:5])
def test_history_is_true_to_its_output_schema(keyed: Any, tools: dict[str, Any], metric: str) -> None:
    holder = dict(keyed.headers)
    for arguments in (
        {"limit": 101},
        {"order": "desc"},
        {"interval": "1h"},
        {"start": "1970", "end": "1971"},
        {"interval": "1d", "start": "2026-03-01T00:00:00Z"},
    ):
        for headers in ({}, holder):
            keyed.headers = headers
            result = keyed.call("get_history", zone="GB", metric=metric, **arguments)
            jsonschema.validate(result["structuredContent"], tools["get_history"]["outputSchema"])


def test_every_answer_is_true_to_its_output_schema(keyed: Any, tools: dict[str, Any]) -> None:
    yearly = {"zone": "DE-LU", "metric": "capacity"}
    calls: list[tuple[str, dict[str, Any]]] = [*((name, {}) for name in FREE), *DATA.items(), ("get_history", yearly)]
    for headers in ({}, dict(keyed.headers)):
        keyed.headers = headers
        for name, arguments in calls:
            result = keyed.call(name, **arguments)
            assert "isError" not in result
            jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])
