"""The registry's entry, and that the documentation names what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from warehouse.version import __version__

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
