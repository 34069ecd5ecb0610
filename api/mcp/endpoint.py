"""The MCP endpoint, `POST /mcp` over streamable HTTP: stateless, answers as JSON. HTTP's own checks are here.

The protocol is in `api.mcp.protocol`, the tools in `api.mcp.tools`, what they do in `api.mcp.calls`. The order of
the checks: Host and Origin, method, Content-Type, Accept, size, and then the message.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header, parse_options_header

from api.access.client_address import client_address
from api.access.values import Headers
from api.http import request_body
from api.http.messages import Request, Response, View
from api.http.problem_responses import request_id
from api.http.problems import Problem
from api.mcp import arguments, calls, reading, results
from api.mcp.arguments import BadArguments
from api.mcp.calls import Caller
from api.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LISTS,
    OLDEST,
    CheckedRequest,
    ProtocolHeaders,
    RpcError,
    RpcReply,
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

_NO_STORE = ("Cache-Control", "no-store")
_TYPED = ("Content-Type", _JSON)
_FOR_ORIGIN = (("Vary", "Origin"), ("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy, X-Request-Id"))
_PREFLIGHT = (
    ("Access-Control-Allow-Methods", "POST"),
    (
        "Access-Control-Allow-Headers",
        "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
        "Mcp-Session-Id, X-API-Key, X-Request-Id, traceparent",
    ),
    ("Access-Control-Max-Age", "86400"),
)


def view(service: Service) -> View:
    """The endpoint of one worker. It takes every method: which one is allowed is said after Origin and Host."""
    return McpEndpoint(service, StaticResults.of(service.settings), OriginPolicy.of(service.settings)).answer


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Which Host and Origin headers are admitted: no foreign page may get here through its visitor's browser."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, settings: Settings) -> OriginPolicy:
        """The service's own address and those that the owner lists; loopback is admitted anyway."""
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
    """Whether a host is localhost or an address in digits: DNS rebinding needs a name."""
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
    """Whether an Accept header admits JSON; the event stream, which clients list too, is not required."""
    return not accept or parse_accept_header(accept, MIMEAccept).quality(_JSON) > 0


@lru_cache(maxsize=128)
def _states_json(content_type: str) -> bool:
    """Whether a Content-Type header is JSON's, with whatever parameters."""
    return parse_options_header(content_type)[0].lower() == _JSON


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """The view."""

    service: Service
    static: StaticResults
    origins_policy: OriginPolicy

    def answer(self, request: Request) -> Response:
        """The answer to a request."""
        host, origin = request.header("HTTP_HOST"), request.header("HTTP_ORIGIN")
        if not self.origins_policy.admits(host, origin):
            return _refused(
                403, "Origin or Host not allowed; the owner of this service lists origins in EMDS_ALLOWED_ORIGINS"
            )
        return _for_origin(_preflight() if request.method == "OPTIONS" else self._checked(request), origin)

    def _checked(self, request: Request) -> Response:
        if request.method != "POST":
            return _refused(
                405, "Send JSON-RPC messages by POST; this server has no streams and no sessions", ("Allow", "POST")
            )
        if not _states_json(request.header("CONTENT_TYPE")):
            return _refused(415, "The body is JSON, with Content-Type: application/json")
        if not _takes_json(request.header("HTTP_ACCEPT")):
            return _refused(406, "Answers are application/json; Accept admits none")
        try:
            body = request_body.read(request.environ, MOST_BYTES)
        except Problem as problem:
            return _refused(problem.kind.status, problem.detail, *problem.headers)
        post = Post(self, request.environ, _caller(request, self.service.settings), [])
        shown = ProtocolHeaders(
            *(_header(request.environ, name) for name in ("MCP_PROTOCOL_VERSION", "MCP_METHOD", "MCP_NAME"))
        )
        return _sent(exchange(body, shown, post.perform), post.counted)


@dataclass(frozen=True, slots=True)
class Post:
    """One POST: its sender, and the counts of its calls."""

    endpoint: McpEndpoint
    environ: dict[str, Any]
    """The request's: told what is being answered, for the access log and for `unforeseen`."""
    caller: Caller
    counts: list[Headers]

    @property
    def counted(self) -> Headers:
        """The gate's count after a single call; several in a batch have several."""
        return self.counts[0] if len(self.counts) == 1 else ()

    def perform(self, rpc: CheckedRequest) -> bytes:
        """The result of a request. Raises RpcError."""
        static = self.endpoint.static
        self.environ["emds.mcp_id"] = rpc.id
        self._named(rpc.method.replace("/", "."))
        if rpc.method in LISTS:
            return static.listed(rpc)
        match rpc.method:
            case "tools/call":
                return results.to_result(self._called(rpc), rpc.version, static)
            case "resources/read":
                return reading.resource(self.endpoint.service, rpc, static, self.caller.client)
            case "prompts/get":
                return reading.prompt(rpc, static)
            case "completion/complete":
                return reading.completion(rpc, static)
            case "initialize":
                return static.initialized(rpc)
            case "server/discover":
                return static.discover
        return b"{}"  # ping

    def _named(self, asked: str) -> None:
        """Names what is asked for as access log and counts show it."""
        self.environ["emds.endpoint"] = f"mcp.{asked}"

    def _called(self, rpc: CheckedRequest) -> Outcome:
        name, given, meta = (
            rpc.params.get("name"),
            rpc.params.get("arguments"),
            rpc.params.get("_meta"),
        )
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {str(name)[:60]}; tools are {', '.join(TOOLS)}")
        self._named(tool.name)
        if not isinstance(given, dict | None):
            raise RpcError(INVALID_PARAMS, "params.arguments is an object")
        payment = calls.encoded(meta.get("x402/payment")) if isinstance(meta, dict) else ""
        caller = Caller(self.caller.client, self.caller.authorization, payment)
        try:
            outcome = calls.called(
                self.endpoint.service, tool.name, arguments.values(tool.arguments, given or {}), caller
            )
        except BadArguments as fault:
            if rpc.version in _BEFORE_ERRORS_AS_RESULTS:
                raise RpcError(INVALID_PARAMS, f"Invalid arguments: {fault}") from None
            return Outcome((f"Invalid arguments: {fault}",))
        self.counts.append(outcome.headers)
        return outcome


def _caller(request: Request, settings: Settings) -> Caller:
    client = client_address(
        request.header("REMOTE_ADDR"), request.header("HTTP_X_FORWARDED_FOR"), settings.trusted_proxies
    )
    key = request.header("HTTP_X_API_KEY").strip()
    return Caller(client, f"Bearer {key}" if key else request.header("HTTP_AUTHORIZATION"))


def _header(environ: dict[str, Any], name: str) -> str | None:
    header = environ.get(f"HTTP_{name}")
    return None if header is None else str(header).strip()


def _sent(reply: RpcReply, counted: Headers = (), *more: tuple[str, str]) -> Response:
    headers = [_NO_STORE, *(header for header in counted if header[0] in _COUNTED), *more]
    if reply.body:
        headers.append(_TYPED)
    return Response(reply.status, headers, reply.body)


def _refused(status: int, message: str, *more: tuple[str, str]) -> Response:
    """What HTTP's own checks answer: a JSON-RPC error without id, since no message was read."""
    return _sent(RpcReply(status, error(RpcError(INVALID_REQUEST, message), None)), (), *more)


def _preflight() -> Response:
    """What a browser asks before it sends a POST from a page of an allowed origin."""
    return _sent(RpcReply(204), (), ("Allow", "POST"), *_PREFLIGHT)


def _for_origin(response: Response, origin: str) -> Response:
    """An answer that a page of an admitted origin may read."""
    return response.with_headers([("Access-Control-Allow-Origin", origin), *_FOR_ORIGIN]) if origin else response


def unforeseen(failure: Exception, request: Request) -> Response:
    """Answers a request that met a failure of ours; the log has the reason, never a key or a payment."""
    name = request_id(request)
    _LOG.exception("request %s failed", name, exc_info=failure)
    fault = RpcError(INTERNAL_ERROR, f"Internal error; request id {name}. Nothing was counted or charged")
    reply = RpcReply(200, error(fault, request.environ.get("emds.mcp_id")))
    return _for_origin(_sent(reply), request.header("HTTP_ORIGIN"))  # a foreign one meets no failure
