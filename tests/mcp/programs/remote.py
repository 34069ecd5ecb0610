"""List and call all tools with the official client over stdio to mcp-remote, which uses HTTP, and print JSON.

Usage: `remote.py URL COMMAND ...`, with the key in KEY.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(url: str, *command: str) -> None:
    given = ["--header", f"Authorization: Bearer {os.environ['KEY']}"] if os.environ.get("KEY") else []
    program = StdioServerParameters(command=command[0], args=[*command[1:], url, *given], env=dict(os.environ))
    async with Client(stdio_client(program, errlog=sys.stderr), mode="legacy") as client:
        listed = await client.list_tools()
        results = []
        for name, arguments in json.loads(os.environ["CALLS"]):
            result = await client.call_tool(name, arguments)
            text, structured = result.content[0].text, result.structured_content
            results.append({"name": name, "error": result.is_error, "text": text, "structured": structured})
        print(
            json.dumps(
                {"version": client.protocol_version, "tools": [tool.name for tool in listed.tools], "results": results}
            )
        )


asyncio.run(main(*sys.argv[1:]))
