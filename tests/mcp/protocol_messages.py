"""Messages of MCP's versions, and marks that play a test in each version."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.conftest import LEGACY, MODERN, VERSIONS

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}

every_version = pytest.mark.parametrize("version", VERSIONS)
every_legacy = pytest.mark.parametrize("version", LEGACY)


def opening(version: str) -> dict[str, Any]:
    """What `initialize` states of a client of that version."""
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "Tests", "version": "1"}}
