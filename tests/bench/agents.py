"""What agents' questions take: the calls and the estimated tokens of each, as the table of docs/mcp.md.

    python -m tests.bench.agents

Asked by the official MCP client of a served made-up warehouse (`tests.mcp.markets`) with the real publishers' terms;
tokens are counted by `tests.mcp.reading.tokens`, a count without a model's tokenizer that gives rather too many than
too few.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import httpx2
import requests
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp import markets
from tests.mcp.reading import tokens
from tests.mcp.test_questions import QUESTIONS, taken
from tests.stand_ins.served import Served
from warehouse.market.clock import iso


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "EMDS_HOME": str(markets.filled(Path(folder) / "home")),
            "EMDS_NOW": iso(markets.NOW),
            "EMDS_DATABASE_URL": f"sqlite:///{folder}/accounts.sqlite",
        }
        running = Served(environ, workers=1, more=["-c", "api/gunicorn.conf.py"], app="api.wsgi:app")
        try:
            signed_up = requests.post(f"{running.url}/v1/keys/signup", json={"email": "agent@example.org"}, timeout=10)
            lines = asyncio.run(_lines(f"{running.url}/mcp", signed_up.json()["api_key"]))
        finally:
            running.stop()
    sys.stdout.write("\n".join(lines) + "\n")


async def _lines(url: str, key: str) -> list[str]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        listed = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools
        ]
        of_list = sum(tokens(json.dumps({**tool, "outputSchema": 0}, separators=(",", ":"))) for tool in listed)
        lines = [f"Tool list without output schemas: {of_list} tokens.", ""]
        lines += ["| question | calls | tokens of the text | of the structure |", "|---|---|---|---|"]
        for question in QUESTIONS:
            results = [await client.call_tool(tool, arguments) for tool, arguments in question.calls]
            texts = [result.content[0].text for result in results]
            text, structure = taken(texts, [result.structured_content for result in results])
            lines.append(f"| {question.words} | {len(results)} | {text} | {structure} |")
    return lines


if __name__ == "__main__":
    main()
