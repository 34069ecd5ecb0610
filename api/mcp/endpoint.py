"""The MCP endpoint, `POST /mcp` over streamable HTTP: stateless, answers as JSON. HTTP's own checks are here.

The protocol is in `api.mcp.protocol`, the methods in `api.mcp.server`, the tools in `api.mcp.tools`. The order of the
checks: Host and Origin, method, Content-Type, Accept, size, and then the message.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header, parse_options_header

from api.access.client_address import client_address
from api.access.values import Headers
from api.http.messages import Request, Response, View, read_body
from api.http.problem_responses import request_id
from api.http.problems import Problem
from api.mcp import server
from api.mcp.calls import Caller
from api.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    CheckedRequest,
    ProtocolHeaders,
    RpcError,
    RpcReply,
    error,
    exchange,
)
from api.mcp.server import Server
from api.service import Service
from api.settings import Settings, is_loopback

PATH = "/mcp"
MOST_BYTES = 65_536
"""A call with a payment takes 4 kB, twenty of them in a batch fit."""
_JSON = "application/json"
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
    return McpEndpoint(Server.of_service(service), service.settings, OriginPolicy.of_settings(service.settings)).answer


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Which Host and Origin headers are admitted: no foreign page may get here through its visitor's browser."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of_settings(cls, settings: Settings) -> OriginPolicy:
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

    server: Server
    settings: Settings
    origin_policy: OriginPolicy

    def answer(self, request: Request) -> Response:
        """Answer a request, whatever its method."""
        host, origin = request.header("HTTP_HOST"), request.header("HTTP_ORIGIN")
        if not self.origin_policy.admits(host, origin):
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
            body = read_body(request.environ, MOST_BYTES)
        except Problem as problem:
            return _refused(problem.kind.status, problem.detail, *problem.headers)
        return self._exchanged(request, body)

    def _exchanged(self, request: Request, body: bytes) -> Response:
        environ, caller = request.environ, _caller(request, self.settings)
        counts: list[Headers] = []

        def perform(rpc: CheckedRequest) -> bytes:
            # For the access log, the counts, and `unforeseen`.
            environ["emds.mcp_id"], environ["emds.endpoint"] = rpc.id, f"mcp.{server.label(rpc)}"
            result, count = self.server.perform(rpc, caller)
            counts.append(count)
            return result

        headers = ProtocolHeaders(
            *(_header(request, name) for name in ("MCP_PROTOCOL_VERSION", "MCP_METHOD", "MCP_NAME"))
        )
        reply = exchange(body, headers, perform)
        return _sent(reply, counts[0] if len(counts) == 1 else ())  # several calls in a batch have several counts


def _caller(request: Request, settings: Settings) -> Caller:
    client = client_address(
        request.header("REMOTE_ADDR"), request.header("HTTP_X_FORWARDED_FOR"), settings.trusted_proxies
    )
    key = request.header("HTTP_X_API_KEY").strip()
    return Caller(client, f"Bearer {key}" if key else request.header("HTTP_AUTHORIZATION"))


def _header(request: Request, name: str) -> str | None:
    """A header, None where it was not sent."""
    header = request.environ.get(f"HTTP_{name}")
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
