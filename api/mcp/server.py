"""Return the result of each method in the form of each protocol version. `api.mcp.endpoint` handles HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from api.access.values import Call, Headers
from api.http.problems import Problem
from api.mcp import calls, protocol, reading
from api.mcp.calls import Outcome
from api.mcp.protocol import MODERN, OLDEST, CheckedRequest, RpcError
from api.mcp.tools import TOOLS
from api.pages.html import ABOUT, TITLE
from api.service import Service
from warehouse.errors import StorageError
from warehouse.market.zones import ZONES
from warehouse.version import __version__

_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_COMPLETE: Mapping[str, Any] = {"resultType": "complete"}
_STABLE = {"ttlMs": 3_600_000, "cacheScope": "public", **_COMPLETE}
_INFO_BEFORE_2025_11 = {OLDEST: ("name", "version"), "2025-06-18": ("name", "version", "title")}
INSTRUCTIONS = (
    f"Electricity market data for {len(ZONES)} grid zones in the US, Great Britain, Australia and continental Europe. "
    "Start with list_zones. Use get_latest or get_zone_brief for one zone and get_map_snapshot for all zones. Use "
    "get_history for past rows and published auction prices, and get_statistics for long windows. Use find_window for "
    "the cheapest hours ahead, get_changes for corrections, and get_status for data freshness. Times are UTC, in Unix "
    "seconds or ISO 8601; ts is the start of an interval. A missing interval has no row. Prices are in local currency "
    "per MWh. Without an API key, results are samples and are marked as such. To get a free key, POST an e-mail "
    "address to {base_url}/v1/keys/signup."
)


class McpServer:
    """The MCP server of a worker. Results that depend only on method and version are encoded once."""

    def __init__(self, service: Service) -> None:
        self.service, base_url = service, service.settings.base_url
        info = {"name": "emds", "version": __version__, "title": TITLE, "description": ABOUT, "websiteUrl": base_url}
        icons = [{"src": f"{base_url}/map/newest/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}]
        common = {
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "instructions": INSTRUCTIONS.replace("{base_url}", base_url),
        }
        self.meta = {_SERVER_KEY: orjson.Fragment(orjson.dumps(info))}
        lists = {"tools/list": ("tools", [tool.listed for tool in TOOLS.values()]), **reading.LISTS}
        discovered = {"supportedVersions": protocol.SUPPORTED, **common}
        self.fixed = {("server/discover", MODERN): self._result(discovered, MODERN, more=_STABLE)}
        for version in protocol.SUPPORTED:
            known = _INFO_BEFORE_2025_11.get(version)
            own = {name: info[name] for name in known} if known else {**info, "icons": icons}
            self.fixed["initialize", version] = orjson.dumps({"protocolVersion": version, "serverInfo": own, **common})
            self.fixed["ping", version] = b"{}"
            for method, (member, entries) in lists.items():
                unknown = ("title", "outputSchema") if version == OLDEST else ()
                listed = [{name: part for name, part in each.items() if name not in unknown} for each in entries]
                self.fixed[method, version] = self._result({member: listed}, version, more=_STABLE)

    def perform(self, rpc: CheckedRequest, caller: Call) -> tuple[bytes, Headers]:
        """Return the result of a request, and the quota headers of a tool call. Raises RpcError."""
        params, version = rpc.params, rpc.version
        match rpc.method:
            case "tools/call":
                if (name := params["name"]) not in TOOLS:
                    tools = ", ".join(TOOLS)
                    raise RpcError(protocol.INVALID_PARAMS, f"Unknown tool: {name[:60]}. Use one of {tools}.")
                outcome = calls.call_tool(self.service, TOOLS[name], params, version, caller)
                return self._result(_content(outcome, version), version, outcome.meta), outcome.headers
            case "resources/read":
                contents = {"contents": [self._resource(params["uri"], version, caller)]}
                return self._result(contents, version, more=_STABLE), ()
            case "prompts/get":
                return self._result(reading.fill(params["name"], params.get("arguments") or {}), version), ()
            case "initialize":
                wanted = params.get("protocolVersion")
                if not isinstance(wanted, str):
                    raise RpcError(protocol.INVALID_PARAMS, "params.protocolVersion is required")
                version = wanted if wanted in protocol.LEGACY else protocol.LEGACY[0]
            case method if method in protocol.LISTS and params.get("cursor") is not None:
                raise RpcError(
                    protocol.INVALID_PARAMS, "Unknown cursor. This list has only one page; call it without a cursor."
                )
        return self.fixed[rpc.method, version], ()

    def _result(
        self, result: Mapping[str, Any], version: str, meta: Mapping[str, Any] | None = None, more: Any = _COMPLETE
    ) -> bytes:
        """Return a result in the envelope of its version. `more` contains the fields that the newest version adds."""
        modern = version == MODERN
        members = {**(meta or {}), **(self.meta if modern else {})}
        return orjson.dumps({**result, **(more if modern else {}), **({"_meta": members} if members else {})})

    def _resource(self, uri: str, version: str, caller: Call) -> dict[str, str]:
        """Return the contents of a resource. It counts as a free call of the client's address. Raises RpcError."""
        grant = self.service.gate.admit(caller)  # a free call is not charged
        if isinstance(grant, Problem):
            raise RpcError(protocol.LIMIT_REACHED, f"{grant.kind.title}: {grant.detail}")
        if uri not in reading.RESOURCES:
            code = protocol.INVALID_PARAMS if version == MODERN else protocol.RESOURCE_NOT_FOUND
            raise RpcError(code, "Resource not found. Call resources/list for the available resources.", {"uri": uri})
        about, read = reading.RESOURCES[uri]
        try:
            body = read(self.service.documents.catalogue)
        except StorageError as error:
            raise RpcError(protocol.INTERNAL_ERROR, str(error)) from None
        words = body if isinstance(body, str) else orjson.dumps(body).decode()
        return {"uri": uri, "mimeType": about["mimeType"], "text": words}


def _content(outcome: Outcome, version: str) -> dict[str, Any]:
    """Return the result of a tool call in the form of a version. The oldest has no structured content."""
    structured = [outcome.structured.decode()] if outcome.structured and version == OLDEST else []
    result: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in (*outcome.texts, *structured)]}
    if not outcome.structured:
        return {**result, "isError": True}
    return result if structured else {**result, "structuredContent": orjson.Fragment(outcome.structured)}
