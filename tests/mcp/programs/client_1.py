"""List and call all tools with the official Python client 1.x, and print JSON.

Usage: `client_1.py URL`, with the key in KEY.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl


async def main(url: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['KEY']}"} if os.environ.get("KEY") else {}
    async with streamablehttp_client(url, headers=headers) as (read, write, _), ClientSession(read, write) as session:
        opened = await session.initialize()
        await session.send_ping()
        listed = await session.list_tools()
        results = []
        for name, given in json.loads(os.environ["CALLS"]):
            result = await session.call_tool(name, given)
            structured = getattr(result, "structuredContent", None)
            results.append(
                {"name": name, "error": result.isError, "text": result.content[0].text, "structured": structured}
            )
        resources, prompts = await session.list_resources(), await session.list_prompts()
        page = await session.read_resource(AnyUrl("emds://docs/brief"))
        prompt = await session.get_prompt("market_briefing", {"zone": "GB"})
        report = {
            "version": opened.protocolVersion,
            "tools": [tool.name for tool in listed.tools],
            "results": results,
            "resources": [str(resource.uri) for resource in resources.resources],
            "prompts": [each.name for each in prompts.prompts],
            "page": page.contents[0].text[:11],
            "prompt": prompt.messages[0].content.text,
        }
        print(json.dumps(report))


asyncio.run(main(sys.argv[1]))
