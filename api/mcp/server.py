"""What the server answers to each method, in the form of each protocol version; HTTP is in `api.mcp.endpoint`.

An error of a tool is a result too, in words that say what to do. It has no structured content: clients check that
against the tool's output schema and would show their own complaint instead of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from api.access.values import Call, Headers
from api.http.problems import Problem, of_error
from api.mcp import arguments, calls, protocol, reading, tools
from api.mcp.calls import Outcome
from api.mcp.protocol import CheckedRequest, RpcError
from api.mcp.reading import LISTS, PROMPTS
from api.mcp.tools import TOOLS
from api.service import Service
from warehouse.errors import CallerError, StorageError
from warehouse.market.zones import ZONES
from warehouse.version import __version__

_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_COMPLETE: Mapping[str, Any] = {"resultType": "complete"}
_STABLE = {"ttlMs": 3_600_000, "cacheScope": "public", **_COMPLETE}
_BEFORE_2025_11 = (protocol.OLDEST, "2025-06-18")
"""Versions without icons, in which arguments that do not fit are a JSON-RPC error (SEP-1303 made them results)."""
_LONGEST = 200
"""Characters of an address or of a prompt's argument."""
_ABOUT = (
    "Electricity prices, demand, cross-border flows, generation, carbon intensity and capacity of "
    f"{len(ZONES)} grid zones, now and past."
)
_INSTRUCTIONS = (
    f"Electricity market data of {len(ZONES)} grid zones in the US, Great Britain, Australia and continental Europe. "
    "Begin with list_zones, then get_latest or get_zone_brief for one zone, get_map_snapshot for all, get_history for "
    "rows of the past and of published auctions, get_statistics for long windows, find_window for the cheapest hours "
    "ahead, get_changes for corrections; get_status tells how fresh the data are. Times are UTC, Unix seconds or ISO "
    "8601; ts is the start of an "
    "interval; a missing interval has no row. Prices are in local currency per MWh. "
    "Without an API key every data answer is a sample and says so; POST {base_url}/v1/keys/signup with an e-mail "
    "address gives a free key."
)


class Server:
    """The server of one worker. Answers that depend on the version alone are JSON already."""

    def __init__(self, service: Service) -> None:
        self.service, base_url = service, service.settings.base_url
        info = {
            "name": "emds",
            "version": __version__,
            "title": "Electricity Market Data Service",
            "description": _ABOUT,
            "websiteUrl": base_url,
        }
        icons = {"icons": [{"src": f"{base_url}/map/newest/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}]}
        self.info = orjson.Fragment(orjson.dumps(info))
        stable = {**_STABLE, "_meta": {_SERVER_KEY: info}}
        common = {
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "instructions": _INSTRUCTIONS.replace("{base_url}", base_url),
        }
        self.initialize = {
            v: orjson.dumps({"protocolVersion": v, "serverInfo": _known(info | icons, v, "description"), **common})
            for v in protocol.LEGACY
        }
        self.discover = orjson.dumps({"supportedVersions": protocol.SUPPORTED, **common, **stable})
        newest = {protocol.MODERN: stable}
        lists = {
            "tools/list": ("tools", [tools.described(tool) for tool in TOOLS.values()]),
            **{name: (member, [{**entry, **icons} for entry in rows]) for name, (member, rows) in LISTS.items()},
        }
        self.lists = {
            (method, v): orjson.dumps({member: [_known(e, v) for e in entries], **newest.get(v, {})})
            for method, (member, entries) in lists.items()
            for v in protocol.SUPPORTED
        }

    def perform(self, rpc: CheckedRequest, caller: Call) -> tuple[bytes, Headers]:
        """Return the result of a request, and the gate's count of a tool call. Raises RpcError."""
        if rpc.method == "tools/call":
            outcome = self._call(rpc, caller)
            return self._call_result(outcome, rpc.version), outcome.headers
        if (rpc.method, rpc.version) in self.lists:
            if rpc.params.get("cursor") is not None:
                raise RpcError(protocol.INVALID_PARAMS, "Unknown cursor: the list has one page")
            return self.lists[rpc.method, rpc.version], ()
        match rpc.method:
            case "resources/read":
                contents = {"contents": [self._resource(rpc, caller)]}
                return self._envelope(contents, rpc.version, more=_STABLE), ()
            case "prompts/get":
                return self._envelope(_prompt(rpc), rpc.version), ()
            case "initialize":
                version = rpc.params.get("protocolVersion")
                if not isinstance(version, str):
                    raise RpcError(protocol.INVALID_PARAMS, "params.protocolVersion is required")
                return self.initialize[version if version in protocol.LEGACY else protocol.LEGACY[0]], ()
            case "server/discover":
                return self.discover, ()
        return b"{}", ()  # ping

    def _call(self, rpc: CheckedRequest, caller: Call) -> Outcome:
        name, sent, meta = (rpc.params.get(member) for member in ("name", "arguments", "_meta"))
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(protocol.INVALID_PARAMS, f"Unknown tool: {str(name)[:60]}; tools are {', '.join(TOOLS)}")
        if not isinstance(sent, dict | None):
            raise RpcError(protocol.INVALID_PARAMS, "params.arguments is an object")
        payment = calls.encoded_payment(meta.get("x402/payment")) if isinstance(meta, dict) else ""
        try:
            values = arguments.read(tool.arguments, sent or {})
            request = tool.prepare(self.service, values)
            call = calls.gate_call(request, tool.name, values, replace(caller, payment=payment))
            return calls.answer(self.service, request, call)
        except (Problem, CallerError, StorageError) as error:
            problem = error if isinstance(error, Problem) else of_error(error)
        if problem.faults and rpc.version in _BEFORE_2025_11:
            raise RpcError(protocol.INVALID_PARAMS, _faults(problem))
        zones = problem.members.get("zones")
        more = f" Zones that publish it: {', '.join(zones)}." if zones else ""
        return Outcome((_faults(problem) if problem.faults else f"{problem.kind.title}: {problem.detail}{more}",))

    def _call_result(self, outcome: Outcome, version: str) -> bytes:
        content = [{"type": "text", "text": text} for text in outcome.texts]
        result: dict[str, Any] = {"content": content}
        if not outcome.structured:
            result["isError"] = True
        elif version == protocol.OLDEST:
            content.append({"type": "text", "text": outcome.structured.decode()})
        else:
            result["structuredContent"] = orjson.Fragment(outcome.structured)
        return self._envelope(result, version, outcome.meta)

    def _envelope(
        self,
        result: Mapping[str, Any],
        version: str,
        meta: Mapping[str, Any] | None = None,
        more: Mapping[str, Any] = _COMPLETE,
    ) -> bytes:
        """A result in the envelope of its version; `more`: what the newest adds."""
        members = dict(meta or {})
        if version == protocol.MODERN:
            members[_SERVER_KEY] = self.info
        added = more if version == protocol.MODERN else {}
        return orjson.dumps({**result, **added, **({"_meta": members} if members else {})})

    def _resource(self, rpc: CheckedRequest, caller: Call) -> dict[str, str]:
        """The contents of a resource, counted as a free call of the client's address. Raises RpcError."""
        uri = _text(rpc.params, "uri")
        grant = self.service.gate.admit(caller)  # of a free call there is nothing to settle
        if isinstance(grant, Problem):
            raise RpcError(protocol.LIMIT_REACHED, f"{grant.kind.title}: {grant.detail}")
        try:
            contents = reading.resource(self.service.catalogue, uri)
        except StorageError as error:
            raise RpcError(protocol.INTERNAL_ERROR, str(error)) from None
        if contents is None:
            code = protocol.INVALID_PARAMS if rpc.version == protocol.MODERN else protocol.RESOURCE_NOT_FOUND
            raise RpcError(code, "Resource not found; resources/list has those there are", {"uri": uri})
        return contents


def label(rpc: CheckedRequest) -> str:
    """Name a request for the access log and the counts: the tool, or the method."""
    name = rpc.params.get("name")
    is_tool = rpc.method == "tools/call" and isinstance(name, str) and name in TOOLS
    return str(name) if is_tool else rpc.method.replace("/", ".")


def _prompt(rpc: CheckedRequest) -> dict[str, Any]:
    """The messages of a prompt. Raises RpcError."""
    prompt = PROMPTS.get(_text(rpc.params, "name"))
    if prompt is None:
        raise RpcError(protocol.INVALID_PARAMS, f"Unknown prompt; prompts are {', '.join(PROMPTS)}")
    sent = rpc.params.get("arguments") or {}
    if not isinstance(sent, dict) or not all(isinstance(word, str) and len(word) <= _LONGEST for word in sent.values()):
        raise RpcError(protocol.INVALID_PARAMS, f"params.arguments holds texts of at most {_LONGEST} characters")
    try:
        return reading.fill(prompt, sent)
    except Problem as problem:
        raise RpcError(protocol.INVALID_PARAMS, _faults(problem)) from None


def _faults(problem: Problem) -> str:
    return f"Invalid arguments: {'; '.join(f'{fault.parameter}: {fault.detail}' for fault in problem.faults[:5])}"


def _text(params: Mapping[str, Any], name: str) -> str:
    text = params.get(name)
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise RpcError(protocol.INVALID_PARAMS, f"params.{name} is a text of at most {_LONGEST} characters")
    return text


def _known(entry: Mapping[str, Any], version: str, *others: str) -> dict[str, Any]:
    """Leave out the members, and `others`, that a version does not know."""
    unknown = {"icons", "websiteUrl", *others} if version in _BEFORE_2025_11 else set()
    unknown |= {"title", "outputSchema"} if version == protocol.OLDEST else set()
    return {name: part for name, part in entry.items() if name not in unknown}
