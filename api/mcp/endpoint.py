"""The MCP endpoint: `POST /mcp` over streamable HTTP, stateless, answers as JSON. HTTP's own checks; the messages are below it.

The protocol is in `api.mcp.protocol`, the tools are in `api.mcp.tools`, what they do is in `api.mcp.calls`. In the order of
the checks: Host and Origin, method, Content-Type, Accept, size, and then the message.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, request
from flask.blueprints import BlueprintSetupState
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_accept_header
from werkzeug.routing import Rule

from api.access.client_address import client_address
from api.access.values import Headers
from api.http.problems import request_id
from api.mcp import arguments, calls, results
from api.mcp.arguments import BadArguments
from api.mcp.calls import Caller
from api.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    OLDEST,
    ProtocolHeaders,
    RpcError,
    RpcReply,
    ToolRequest,
    error,
    exchange,
)
from api.mcp.results import Outcome, StaticResults
from api.mcp.tools import TOOLS
from api.service import Service
from api.settings import Settings, is_loopback

PATH = "/mcp"
MOST_BYTES = 65_536
"""A call with a payment takes 4 kB, twenty of them in a batch fit."""
_JSON = "application/json"
_BEFORE_ERRORS_AS_RESULTS = (OLDEST, "2025-06-18")
"""Versions in which arguments that do not fit are a JSON-RPC error (SEP-1303 made them results, which models see)."""
_COUNTED = ("RateLimit", "RateLimit-Policy")
_LOG = logging.getLogger("emds.mcp")

_EXPOSED = ("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy, X-Request-Id")
_PREFLIGHT = (
    ("Access-Control-Allow-Methods", "POST"),
    (
        "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
        "Mcp-Session-Id, X-Request-Id, traceparent",
    ),
    ("Access-Control-Max-Age", "86400"),
)


def blueprint(service: Service) -> Blueprint:
    """The endpoint of one worker."""
    endpoint = McpEndpoint(service, StaticResults.of(service.settings), OriginPolicy.of(service.settings))
    routes = Blueprint("mcp", __name__)

    def add(state: BlueprintSetupState) -> None:
        # A rule without methods takes them all: which one is allowed is said by the endpoint, after Origin and Host.
        state.app.url_map.add(Rule(PATH, endpoint="mcp.answer"))
        state.app.view_functions["mcp.answer"] = endpoint.answer

    routes.record_once(add)
    # A body that broke off, or too large for the whole service; the rest of it stays unread.
    routes.register_error_handler(
        HTTPException, lambda error: _refused(error.code or 400, error.name, ("Connection", "close"))
    )
    routes.register_error_handler(Exception, _unforeseen)
    return routes


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Which Hosts and Origins are let in: a page elsewhere must not reach this service through its visitor's browser."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, settings: Settings) -> OriginPolicy:
        """The service's own address and those that the owner lists; loopback is welcome anyway."""
        own = urlsplit(settings.base_url)
        origins = frozenset({f"{own.scheme}://{own.netloc}".lower(), *settings.allowed_origins})
        return cls(frozenset(urlsplit(origin).hostname or "" for origin in origins), origins)

    def admits(self, host: str, origin: str) -> bool:
        """Whether a request with these headers, empty where absent, may go on."""
        own_host = not host or (name := _host_name(host)) in self.hosts or _is_local(name)
        return own_host and (not origin or origin.lower() in self.origins or _is_loopback_origin(origin))


@lru_cache(maxsize=128)
def _host_name(host: str) -> str:
    """The name in a Host header, without the port; empty for what is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


@lru_cache(maxsize=128)
def _is_local(name: str) -> bool:
    """Localhost, or an address in digits: DNS rebinding (the attack that this is about) needs a name of the attacker's."""
    try:
        ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


@lru_cache(maxsize=128)
def _is_loopback_origin(origin: str) -> bool:
    try:
        return urlsplit(origin).scheme in ("http", "https") and is_loopback(origin)
    except ValueError:
        return False


@lru_cache(maxsize=128)
def _takes_json(accept: str) -> bool:
    """Whether an Accept header admits JSON. Clients list the event stream too; nobody is sent away for leaving that out."""
    return not accept or parse_accept_header(accept, MIMEAccept).quality(_JSON) > 0


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """The view."""

    service: Service
    fixed: StaticResults
    welcome: OriginPolicy

    def answer(self) -> Response:
        """The answer to the request at hand."""
        environ = request.environ
        host, origin = environ.get("HTTP_HOST", ""), environ.get("HTTP_ORIGIN", "")
        if not self.welcome.admits(host, origin):
            return _refused(
                403, "Origin or Host not allowed; the owner of this service lists origins in EMDS_ALLOWED_ORIGINS"
            )
        response = _preflight() if request.method == "OPTIONS" else self._checked(environ)
        if origin:
            response.headers.extend([("Access-Control-Allow-Origin", origin), ("Vary", "Origin"), _EXPOSED])
        return response

    def _checked(self, environ: dict[str, Any]) -> Response:
        if request.method != "POST":
            return _refused(
                405, "Send JSON-RPC messages by POST; this server has no streams and no sessions", ("Allow", "POST")
            )
        if request.mimetype != _JSON:
            return _refused(415, "The body is JSON, with Content-Type: application/json")
        if not _takes_json(environ.get("HTTP_ACCEPT", "")):
            return _refused(406, "Answers are application/json; Accept admits none")
        body = _body()
        if len(body) > MOST_BYTES:
            return _refused(413, f"A body holds at most {MOST_BYTES} bytes", ("Connection", "close"))
        post = Post(self, _caller(environ, self.service.settings), [])
        shown = ProtocolHeaders(
            *(_header(environ, name) for name in ("MCP_PROTOCOL_VERSION", "MCP_METHOD", "MCP_NAME"))
        )
        return _sent(exchange(body, shown, post.perform), post.counted)


@dataclass(frozen=True, slots=True)
class Post:
    """One POST: who sent it, and what its calls were counted as."""

    endpoint: McpEndpoint
    caller: Caller
    counts: list[Headers]

    @property
    def counted(self) -> Headers:
        """The gate's count after a single call; several in a batch have several."""
        return self.counts[0] if len(self.counts) == 1 else ()

    def perform(self, ask: ToolRequest) -> bytes:
        """The result of a request. Raises Fault."""
        fixed = self.endpoint.fixed
        request.environ["emds.mcp_id"] = ask.id  # for `_unforeseen`, which knows the request alone
        match ask.method:
            case "tools/call":
                return results.to_result(self._called(ask), ask.version, fixed)
            case "tools/list":
                return fixed.listed(ask)
            case "initialize":
                return fixed.initialized(ask)
            case "server/discover":
                return fixed.discover
        return b"{}"  # ping

    def _called(self, ask: ToolRequest) -> Outcome:
        name, given, meta = ask.params.get("name"), ask.params.get("arguments"), ask.params.get("_meta")
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {str(name)[:60]}; tools are {', '.join(TOOLS)}")
        if not isinstance(given, dict | None):
            raise RpcError(INVALID_PARAMS, "params.arguments is an object")
        payment = calls.encoded(meta.get("x402/payment")) if isinstance(meta, dict) else ""
        caller = Caller(self.caller.client, self.caller.authorization, payment)
        try:
            outcome = calls.called(
                self.endpoint.service, tool.name, arguments.values(tool.arguments, given or {}), caller
            )
        except BadArguments as fault:
            if ask.version in _BEFORE_ERRORS_AS_RESULTS:
                raise RpcError(INVALID_PARAMS, f"Invalid arguments: {fault}") from None
            return Outcome((f"Invalid arguments: {fault}",))
        self.counts.append(outcome.headers)
        return outcome


def _caller(environ: dict[str, Any], settings: Settings) -> Caller:
    client = client_address(
        request.remote_addr or "", environ.get("HTTP_X_FORWARDED_FOR", ""), settings.trusted_proxies
    )
    return Caller(client, environ.get("HTTP_AUTHORIZATION", ""))


def _body() -> bytes:
    """The body, up to one byte too many: a chunked one says its length nowhere, and a stream may give less than is asked for."""
    parts, left = [], MOST_BYTES + 1
    while left and (part := request.stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _header(environ: dict[str, Any], name: str) -> str | None:
    found = environ.get(f"HTTP_{name}")
    return None if found is None else str(found).strip()


def _sent(reply: RpcReply, counted: Headers = (), *more: tuple[str, str]) -> Response:
    headers = [("Cache-Control", "no-store"), *(header for header in counted if header[0] in _COUNTED), *more]
    response = Response(reply.body, reply.status, headers, content_type=_JSON)
    if not reply.body:
        del response.headers["Content-Type"]
    return response


def _refused(status: int, message: str, *more: tuple[str, str]) -> Response:
    """What HTTP's own checks answer: a JSON-RPC error without id, since no message was read."""
    return _sent(RpcReply(status, error(RpcError(INVALID_REQUEST, message), None)), (), *more)


def _preflight() -> Response:
    """What a browser asks before it sends a POST from a page of a welcome origin."""
    return _sent(RpcReply(204), (), ("Allow", "POST"), *_PREFLIGHT)


def _unforeseen(failure: Exception) -> Response:
    """A failure of ours, told to the request that met it; why stands in the log, never a key or a payment."""
    _LOG.exception("request %s failed", request_id(), exc_info=failure)
    told = RpcError(INTERNAL_ERROR, f"Internal error; request id {request_id()}. Nothing was counted or charged")
    return _sent(RpcReply(200, error(told, request.environ.get("emds.mcp_id"))))
