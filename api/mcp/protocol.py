"""Check the Model Context Protocol between bytes and a request: eras, versions, headers, batches and errors.

The endpoint serves two eras. Legacy clients start with `initialize` and, since 2025-06-18, send their version in a
header. Modern clients send it in every request's `_meta` and repeat it in headers
(modelcontextprotocol.io/specification).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from api.access.values import Headers

MODERN = "2026-07-28"
OLDEST = "2025-03-26"
"""The version of clients that send no version header, and the last version without it."""
LEGACY = ("2025-11-25", "2025-06-18", OLDEST)
SUPPORTED = (MODERN, *LEGACY)
BEFORE_2025_11 = (OLDEST, "2025-06-18")
"""Versions without icons, in which invalid arguments are a JSON-RPC error. SEP-1303 made them results."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
RESOURCE_NOT_FOUND = -32002
"""The code in legacy versions. The newest version uses INVALID_PARAMS."""
LIMIT_REACHED = 429
"""A code of this service, outside the numbers that JSON-RPC and MCP reserve."""

_STATUS = {INTERNAL_ERROR: 200, LIMIT_REACHED: 429, METHOD_NOT_FOUND: 404}
"""The HTTP status of an error in a well-formed message, otherwise 400. Legacy errors are in the envelope only."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

MOST_IN_BATCH = 20
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_COMMON = frozenset({*LISTS, "tools/call", "resources/read", "prompts/get"})
_LEGACY_METHODS = _COMMON | {"initialize", "ping"}
_MODERN_METHODS = _COMMON | {"server/discover"}
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that Mcp-Name repeats."""
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")

Id = str | int


class RpcError(Exception):
    """A JSON-RPC error, the response to the request that caused it."""

    def __init__(self, code: int, message: str, more: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more


class ProtocolHeaders(NamedTuple):
    """The headers that the protocol reads, None if absent."""

    version: str | None = None
    method: str | None = None
    name: str | None = None


class CheckedRequest(NamedTuple):
    """A request that passed every check of the protocol. The response has the form of `version`."""

    id: Id
    method: str
    params: dict[str, Any]
    version: str


class RpcReply(NamedTuple):
    """An HTTP status, a JSON body, which may be empty, and headers."""

    status: int
    body: bytes = b""
    headers: Headers = ()


Perform = Callable[[CheckedRequest], tuple[bytes, Headers]]
"""A function that returns the result of a request as a JSON object, and HTTP headers. It raises RpcError."""


def exchange(body: bytes, headers: ProtocolHeaders, perform: Perform) -> RpcReply:
    """Return the reply to the body of a POST."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return RpcReply(400, error(RpcError(PARSE_ERROR, "The body is not valid JSON"), None))
    try:
        if isinstance(document, list):
            return _batch(document, headers, perform)
        kind = _kind(document)
    except RpcError as fault:
        return RpcReply(400, error(fault, _id_in(document)))
    if kind == "response" and headers.version not in (None, *LEGACY):  # it would respond to a request of the server
        return RpcReply(
            400, error(RpcError(INVALID_REQUEST, "This protocol version does not accept responses from clients"), None)
        )
    return _reply(document, headers, perform) if kind == "request" else RpcReply(202)


def error(fault: RpcError, id_: Id | None) -> bytes:
    """Return a JSON-RPC error. An unknown `id` is left out, because no version's schema allows null."""
    members: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.more is not None:
        members["data"] = fault.more
    return orjson.dumps({"jsonrpc": "2.0", **({} if id_ is None else {"id": id_}), "error": members})


def _reply(message: dict[str, Any], sent: ProtocolHeaders, perform: Perform) -> RpcReply:
    """Check and perform a request.

    A request is legacy if its header has a legacy version or none, and `_meta` repeats that version or has none.
    """
    method, params = message["method"], message.get("params", {})
    meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
    legacy = sent.version in (None, *LEGACY) and meta.get(VERSION_KEY) in (None, sent.version)
    try:
        if not legacy:
            _check_modern(method, sent, meta)
        if method not in (_LEGACY_METHODS if legacy else _MODERN_METHODS):
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:60]}")
        if (named := _NAMED.get(method)) and not isinstance(params.get(named), str):
            raise RpcError(INVALID_PARAMS, f"params.{named} is required")
        if named and not legacy and _decode(sent.name) != params[named]:
            raise RpcError(HEADER_MISMATCH, "The Mcp-Name header does not match the body")
        version = sent.version or OLDEST if legacy else MODERN
        result, headers = perform(CheckedRequest(message["id"], method, params, version))
    except RpcError as fault:
        return RpcReply(200 if legacy else _STATUS.get(fault.code, 400), error(fault, message["id"]))
    return RpcReply(200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(message["id"]), result), headers)


def _check_modern(method: str, headers: ProtocolHeaders, meta: dict[str, Any]) -> None:
    """Check a modern request's `_meta`, then the headers that repeat it. Raises RpcError."""
    version = meta.get(VERSION_KEY)
    if headers.version not in SUPPORTED and version in (None, headers.version):
        # All versions are listed, because a client without a common version gives up and does not try `initialize`.
        versions = {"supported": list(SUPPORTED), "requested": headers.version}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", versions)
    if method == "initialize" and headers.version == MODERN:
        raise RpcError(METHOD_NOT_FOUND, "Method not found: initialize. In this protocol version use server/discover.")
    if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise RpcError(INVALID_PARAMS, f"params._meta must contain {VERSION_KEY} and {CAPABILITIES_KEY}")
    if headers.version != version:
        raise RpcError(HEADER_MISMATCH, "The MCP-Protocol-Version header does not match the body")
    if headers.method != method:
        raise RpcError(HEADER_MISMATCH, "The Mcp-Method header does not match the body")


def _batch(document: list[Any], headers: ProtocolHeaders, perform: Perform) -> RpcReply:
    """Return the replies to a batch, which only 2025-03-26 supports. Raises RpcError.

    An invalid message rejects the whole batch, because its error could not have an id.
    """
    if headers.version not in (None, OLDEST):
        raise RpcError(INVALID_REQUEST, "This protocol version has no batches. Send one message per request.")
    if not 1 <= len(document) <= MOST_IN_BATCH:
        raise RpcError(INVALID_REQUEST, f"A batch must contain 1 to {MOST_IN_BATCH} messages")
    requests = [message for message in document if _kind(message) == "request"]
    if any(message["method"] == "initialize" for message in requests):
        raise RpcError(INVALID_REQUEST, "initialize must not be sent in a batch")
    answers = [_reply(message, headers, perform).body for message in requests]
    return RpcReply(200, b"[%b]" % b",".join(answers)) if answers else RpcReply(202)


def _kind(document: Any) -> str:
    """Return `request`, `notification` or `response`. Raises RpcError if `document` is not a JSON-RPC message."""
    if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "Not a JSON-RPC 2.0 message")
    if "id" in document and _id_in(document) is None:
        raise RpcError(INVALID_REQUEST, "id must be a string or an integer")
    if "method" not in document:
        if "id" in document and ("result" in document) != ("error" in document):
            return "response"
        raise RpcError(INVALID_REQUEST, "A message must have a method, or an id with either result or error")
    if not isinstance(document["method"], str) or not isinstance(document.get("params", {}), dict):
        raise RpcError(INVALID_REQUEST, "method must be a string and params an object")
    return "request" if "id" in document else "notification"


def _id_in(document: Any) -> Id | None:
    """Return the id of a message, None if it is absent or invalid. In Python, but not in JSON, true is an int."""
    id_ = document.get("id") if isinstance(document, dict) else None
    return id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None


def _decode(value: str | None) -> str | None:
    """Decode a header's value if it is in base64; return None if that is malformed."""
    encoded = _ENCODED.fullmatch(value or "")
    try:
        return base64.b64decode(encoded[1], validate=True).decode() if encoded else value
    except ValueError:
        return None
