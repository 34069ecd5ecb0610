"""What agents' questions take: the calls and the estimated tokens of each, as the table of docs/mcp.md.

    python -m tests.bench.agents

Measured over the made-up warehouse of `tests.mcp.markets` with the real publishers' terms; tokens are counted by
`tests.mcp.reading.tokens`, a count without a model's tokenizer that gives rather too many than too few.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from api.application import create_app
from api.settings import Settings
from tests.mcp import markets
from tests.mcp.test_questions import QUESTIONS, taken
from warehouse.market.clock import iso


def main() -> None:
    """Prints the table."""
    os.environ["EMDS_NOW"] = iso(markets.NOW)
    with tempfile.TemporaryDirectory() as folder:
        home = markets.filled(Path(folder) / "home")
        database = f"sqlite:///{folder}/accounts.sqlite"
        app = create_app(Settings(home=str(home), database_url=database, base_url="http://emds.example"))
        client = app.test_client()
        key = client.post("/v1/keys/signup", json={"email": "agent@example.org"}).json["api_key"]
        lines = ["| question | calls | tokens of the text | of the structure |", "|---|---|---|---|"]
        for question in QUESTIONS:
            results = [_called(client, key, tool, arguments) for tool, arguments in question.calls]
            texts = [result["content"][0]["text"] for result in results]
            text, structure = taken(texts, [result["structuredContent"] for result in results])
            lines.append(f"| {question.words} | {len(results)} | {text} | {structure} |")
        app.extensions["emds"].gate.close()
    sys.stdout.write("\n".join(lines) + "\n")


def _called(client: FlaskClient, key: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {key}", "MCP-Protocol-Version": "2025-11-25"}
    result: dict[str, Any] = client.post("/mcp", json=message, headers=headers).get_json()["result"]
    return result


if __name__ == "__main__":
    main()
