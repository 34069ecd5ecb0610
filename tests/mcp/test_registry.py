"""The registry's entry, and that the documentation names what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema

from api.openapi import document

ROOT = Path(__file__).parents[2]
ENTRY = json.loads((ROOT / "server.json").read_text())
INPUT = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "placeholder": {"type": "string"},
        "isRequired": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["$schema", "name", "description", "repository", "websiteUrl", "version", "remotes"],
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "repository": {
            "type": "object",
            "additionalProperties": False,
            "required": ["url", "source"],
            "properties": {"url": {"type": "string", "format": "uri"}, "source": {"type": "string"}},
        },
        "websiteUrl": {"type": "string", "format": "uri", "pattern": "^https?://"},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "remotes": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "url"],
                "properties": {
                    "type": {"const": "streamable-http"},
                    "url": {"type": "string", "pattern": r"^https?://[^\s]+$"},
                    "variables": {"type": "object", "additionalProperties": INPUT},
                    "headers": {"type": "array", "items": {**INPUT, "required": ["name"]}},
                },
            },
        },
    },
}
"""What the registry's schema says of the members used here."""


def test_the_entry_is_such_as_the_registry_takes() -> None:
    jsonschema.validate(ENTRY, SCHEMA)
    remote = ENTRY["remotes"][0]
    assert set(re.findall(r"{(\w+)}", remote["url"])) == set(remote["variables"])
    assert remote["url"].endswith("/mcp")
    key = remote["headers"][0]
    assert (key["name"], key["isSecret"], key["isRequired"]) == ("Authorization", True, False)


def test_the_entry_says_what_the_server_says(mcp: Any) -> None:
    server = mcp.ask("2026-07-28", "server/discover").json["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (ENTRY["title"], ENTRY["version"]) == (server["title"], server["version"])
    assert server["version"] == document.VERSION


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
