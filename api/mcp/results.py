"""MCP results: what came of a call in the form of each protocol version, and the answers that are always the same.

An error of a tool is a result too, in words that say what to do. It has no structured content: clients check that
against the tool's output schema and would show their own complaint instead of ours.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from api.access.values import Answer, Headers, Refusal
from api.mcp import prompts, resources
from api.mcp.protocol import INVALID_PARAMS, LEGACY, LISTS, MODERN, OLDEST, SUPPORTED, CheckedRequest, RpcError
from api.mcp.tools import TOOLS, described
from api.openapi import document
from api.settings import Settings

NAME, TITLE = "emds", "Electricity Market Data Service"
_SVG = "image/svg+xml"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_OFFER, _RECEIPT = "x402/payment-required", "x402/payment-response"
_RECEIPT_HEADERS = ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
_WORDS_OF_TOOLS = (
    ("or add sample=true", "or call the tool without both for a sample"),
    ("sample=true needs none", "a call without a key gives a sample"),
    ("sample=true needs no key", "A call without a key gives a sample"),
    ("sample=true works", "a call without a key gives a sample"),
)
STABLE = {"ttlMs": 3_600_000, "cacheScope": "public", "resultType": "complete"}
_WITHOUT_TITLES = (OLDEST,)
_WITHOUT_ICONS = (OLDEST, "2025-06-18")
_ABOUT = (
    "Electricity prices, demand, cross-border flows, generation, carbon intensity and capacity of 25 grid zones, "
    "now and past."
)
_INSTRUCTIONS = (
    "Electricity market data of 25 grid zones in the US, Great Britain, Australia and continental Europe. Begin with "
    "list_zones, then get_latest or get_zone_brief for one zone, get_map_snapshot for all, get_history for rows of the "
    "past and of published auctions, get_statistics for long windows, find_window for the cheapest hours ahead; "
    "get_status tells how fresh the data are. Times are UTC, Unix seconds or ISO 8601; ts is the start of an interval; "
    "a missing interval has no row. Prices are in local currency per MWh. "
    "Without an API key every data answer is a sample and says so; POST {base_url}/v1/keys/signup with an e-mail "
    "address gives a free key."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tool call, before any protocol version."""

    texts: tuple[str, ...]
    structured: bytes = b""
    """A JSON object; empty for an error."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    headers: Headers = ()
    """What the gate counts, for the HTTP answer."""


@dataclass(frozen=True, slots=True)
class StaticResults:
    """Answers that depend on the version alone, as JSON: made once a worker."""

    initialize: Mapping[str, bytes]
    discover: bytes
    lists: Mapping[tuple[str, str], bytes]
    """By method and version."""
    server: orjson.Fragment

    @classmethod
    def of(cls, settings: Settings) -> StaticResults:
        """The answers of a server at the settings' address."""
        server = _server(settings, MODERN)
        stable = {**STABLE, "_meta": {_SERVER_KEY: server}}
        spoken = {
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
            "instructions": _INSTRUCTIONS.replace("{base_url}", settings.base_url),
        }
        return cls(
            {v: orjson.dumps({"protocolVersion": v, "serverInfo": _opened(settings, v), **spoken}) for v in LEGACY},
            orjson.dumps({"supportedVersions": SUPPORTED, **spoken, **stable}),
            {
                (method, v): orjson.dumps({**_list(method, v, settings), **(stable if v == MODERN else {})})
                for method in LISTS
                for v in SUPPORTED
            },
            orjson.Fragment(orjson.dumps(server)),
        )

    def enveloped(self, result: Mapping[str, Any], version: str, stable: bool = False) -> bytes:
        """A result in the envelope of its version; `stable` where clients may keep it."""
        if version != MODERN:
            return orjson.dumps(result)
        more = STABLE if stable else {"resultType": "complete"}
        return orjson.dumps({**result, **more, "_meta": {_SERVER_KEY: self.server}})

    def initialized(self, request: CheckedRequest) -> bytes:
        """The requested version if it is a legacy one, else the newest of those. Raises RpcError."""
        wanted = request.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "params.protocolVersion is required")
        return self.initialize[wanted if wanted in LEGACY else LEGACY[0]]

    def listed(self, request: CheckedRequest) -> bytes:
        """The one page of a list. Raises RpcError for a cursor, of which none was ever given out."""
        if request.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Unknown cursor: the list has one page")
        return self.lists[request.method, request.version]


def _server(settings: Settings, version: str) -> dict[str, Any]:
    """Who we are, in the members that a version knows."""
    known: dict[str, Any] = {"name": NAME, "version": document.VERSION}
    if version not in _WITHOUT_TITLES:
        known["title"] = TITLE
    if version not in _WITHOUT_ICONS:
        known |= {"description": _ABOUT, "websiteUrl": settings.base_url}
    return known


def _opened(settings: Settings, version: str) -> dict[str, Any]:
    """The same with our icon, once a connection."""
    return _server(settings, version) | _icons(settings, version)


def _icons(settings: Settings, version: str) -> dict[str, Any]:
    """The map page's icon, at our own address, for versions that know icons."""
    if version in _WITHOUT_ICONS:
        return {}
    return {"icons": [{"src": f"{settings.base_url}/map/newest/icon.svg", "mimeType": _SVG, "sizes": ["any"]}]}


def _list(method: str, version: str, settings: Settings) -> dict[str, Any]:
    """The answer to one of the lists, in the members that a version knows."""
    if method == "tools/list":
        return {"tools": [described(tool, version) for tool in TOOLS.values()]}
    member, entries = {
        "resources/list": ("resources", resources.LISTED),
        "resources/templates/list": ("resourceTemplates", resources.TEMPLATES),
        "prompts/list": ("prompts", [prompts.described(prompt) for prompt in prompts.PROMPTS.values()]),
    }[method]
    icons = _icons(settings, version)
    dropped = ("title",) if version in _WITHOUT_TITLES else ()
    return {
        member: [{**{name: part for name, part in entry.items() if name not in dropped}, **icons} for entry in entries]
    }


def to_result(outcome: Outcome, version: str, static: StaticResults) -> bytes:
    """The result of tools/call in a protocol version."""
    content = [{"type": "text", "text": text} for text in outcome.texts]
    result: dict[str, Any] = {"content": content}
    if not outcome.structured:
        result["isError"] = True
    elif version == OLDEST:
        content.append({"type": "text", "text": outcome.structured.decode()})
    else:
        result["structuredContent"] = orjson.Fragment(outcome.structured)
    meta = dict(outcome.meta)
    if version == MODERN:
        result["resultType"] = "complete"
        meta[_SERVER_KEY] = static.server
    if meta:
        result["_meta"] = meta
    return orjson.dumps(result)


def kept(outcome: Outcome, rows: int) -> Answer:
    """An outcome as the gate keeps it, to be given again to the payment that bought it."""
    return Answer(200, rows, orjson.dumps({"texts": outcome.texts, "structured": orjson.Fragment(outcome.structured)}))


def given_again(stored: Answer) -> Outcome:
    """The outcome that was kept, with its receipt."""
    outcome = orjson.loads(stored.body)
    return Outcome(tuple(outcome["texts"]), orjson.dumps(outcome["structured"]), _receipt(stored.headers))


def with_receipt(outcome: Outcome, headers: Headers) -> Outcome:
    """An outcome that the gate let go."""
    return Outcome(outcome.texts, outcome.structured, {**outcome.meta, **_receipt(headers)}, headers)


def with_offer(outcome: Outcome, offer: Refusal) -> Outcome:
    """A sample, with what the whole answer costs."""
    offered = _offered(offer)
    return Outcome(
        outcome.texts, outcome.structured, {_OFFER: orjson.Fragment(offered)} if offered else {}, outcome.headers
    )


def refused(refusal: Refusal, offer: Refusal | None = None) -> Outcome:
    """A refusal in words; an offer comes before them, since x402 clients read `content[0].text`."""
    offered = _offered(offer or refusal)
    words = in_words_of_tools(f"{refusal.title}: {refusal.detail}")
    return Outcome((offered, words) if offered else (words,), b"", _receipt(refusal.headers), refusal.headers)


def _offered(refusal: Refusal) -> str:
    """The x402 offer of a refusal as JSON, empty for none."""
    header = dict(refusal.headers).get("PAYMENT-REQUIRED", "")
    return in_words_of_tools(base64.b64decode(header).decode())


def in_words_of_tools(text: str) -> str:
    """A refusal's words for callers of tools: a sample comes without credentials, not by a query parameter."""
    for words, of_tools in _WORDS_OF_TOOLS:
        text = text.replace(words, of_tools)
    return text


def _receipt(headers: Headers) -> dict[str, Any]:
    """The receipt of a payment, out of the header of either x402 version."""
    header = next((value for name, value in headers if name in _RECEIPT_HEADERS), None)
    return {_RECEIPT: orjson.Fragment(base64.b64decode(header))} if header else {}
