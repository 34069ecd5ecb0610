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
from api.mcp.protocol import INVALID_PARAMS, LEGACY, MODERN, OLDEST, SUPPORTED, RpcError, ToolRequest
from api.mcp.tools import TOOLS, described
from api.openapi import document
from api.settings import Settings

NAME, TITLE = "emds", "Electricity Market Data Service"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_OFFER, _RECEIPT = "x402/payment-required", "x402/payment-response"
_RECEIPT_HEADERS = ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
_WORDS_OF_TOOLS = (
    ("or add sample=true", "or call the tool without both for a sample"),
    ("sample=true needs none", "a call without a key gives a sample"),
    ("sample=true works", "a call without a key gives a sample"),
)
_TTL_MS = 3_600_000
_ABOUT = (
    "Electricity prices, demand, cross-border flows, generation, carbon intensity and capacity of 25 grid zones, "
    "now and past."
)
_INSTRUCTIONS = (
    "Electricity market data of 25 grid zones in the US, Great Britain, Australia and continental Europe. Begin with "
    "list_zones, then "
    "get_latest or get_zone_brief for one zone, get_map_snapshot for all, get_history for the past; get_status tells "
    "how fresh the data "
    "are. Times are Unix seconds UTC; ts is the start of an interval; a missing interval has no row. Prices are in "
    "local currency per MWh. "
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
    tools: Mapping[str, bytes]
    server: orjson.Fragment

    @classmethod
    def of(cls, settings: Settings) -> StaticResults:
        """The answers of a server at the settings' address."""
        server = _server(settings, MODERN)
        stable = {"ttlMs": _TTL_MS, "cacheScope": "public", "resultType": "complete", "_meta": {_SERVER_KEY: server}}
        spoken = {"capabilities": {"tools": {}}, "instructions": _INSTRUCTIONS.replace("{base_url}", settings.base_url)}
        return cls(
            {v: orjson.dumps({"protocolVersion": v, "serverInfo": _server(settings, v), **spoken}) for v in LEGACY},
            orjson.dumps({"supportedVersions": SUPPORTED, **spoken, **stable}),
            {
                v: orjson.dumps({"tools": [described(t, v) for t in TOOLS.values()], **(stable if v == MODERN else {})})
                for v in SUPPORTED
            },
            orjson.Fragment(orjson.dumps(server)),
        )

    def initialized(self, request: ToolRequest) -> bytes:
        """The requested version if it is a legacy one, else the newest of those. Raises RpcError."""
        wanted = request.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "params.protocolVersion is required")
        return self.initialize[wanted if wanted in LEGACY else LEGACY[0]]

    def listed(self, request: ToolRequest) -> bytes:
        """The one page of tools. Raises RpcError for a cursor, of which none was ever given out."""
        if request.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Unknown cursor: the list has one page")
        return self.tools[request.version]


def _server(settings: Settings, version: str) -> dict[str, Any]:
    """Who we are, in the members that a version knows."""
    known: dict[str, Any] = {"name": NAME, "version": document.VERSION}
    if version != OLDEST:
        known["title"] = TITLE
    if version not in (OLDEST, "2025-06-18"):
        known |= {"description": _ABOUT, "websiteUrl": settings.base_url}
    return known


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
    words = _in_words_of_tools(f"{refusal.title}: {refusal.detail}")
    return Outcome((offered, words) if offered else (words,), b"", _receipt(refusal.headers), refusal.headers)


def _offered(refusal: Refusal) -> str:
    """The x402 offer of a refusal as JSON, empty for none."""
    header = dict(refusal.headers).get("PAYMENT-REQUIRED", "")
    return _in_words_of_tools(base64.b64decode(header).decode())


def _in_words_of_tools(text: str) -> str:
    """A refusal's words for callers of tools: a sample comes without credentials, not by a query parameter."""
    for words, of_tools in _WORDS_OF_TOOLS:
        text = text.replace(words, of_tools)
    return text


def _receipt(headers: Headers) -> dict[str, Any]:
    """The receipt of a payment, out of the header of either x402 version."""
    header = next((value for name, value in headers if name in _RECEIPT_HEADERS), None)
    return {_RECEIPT: orjson.Fragment(base64.b64decode(header))} if header else {}
