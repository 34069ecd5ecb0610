"""List and call all tools with the official Python client 2.x, and print JSON.

Usage: `client_2.py URL MODE`, with the key in KEY.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CALLS: list[tuple[str, dict[str, Any]]] = [(name, given) for name, given in json.loads(os.environ["CALLS"])]


async def main(url: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['KEY']}"} if os.environ.get("KEY") else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        results = []
        for name, given in CALLS:
            result = await client.call_tool(name, given)
            text, structured = result.content[0].text, result.structured_content
            results.append({"name": name, "error": result.is_error, "text": text, "structured": structured})
        resources, prompts = await client.list_resources(), await client.list_prompts()
        page = await client.read_resource("emds://docs/brief")
        prompt = await client.get_prompt("market_briefing", {"zone": "GB"})
        report = {
            "version": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "results": results,
            "resources": [str(resource.uri) for resource in resources.resources],
            "prompts": [each.name for each in prompts.prompts],
            "page": page.contents[0].text[:11],
            "prompt": prompt.messages[0].content.text,
        }
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
