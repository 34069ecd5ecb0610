"""The official Python client, 1.x: `client_1.py URL`, the key in KEY. Lists and calls all tools, prints JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


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
        print(
            json.dumps(
                {"version": opened.protocolVersion, "tools": [tool.name for tool in listed.tools], "results": results}
            )
        )


asyncio.run(main(sys.argv[1]))
