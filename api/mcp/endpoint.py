"""Serve the MCP endpoint, `POST /mcp` over stateless streamable HTTP with JSON responses, and check HTTP.

`api.mcp.protocol` contains the protocol, `api.mcp.server` the methods and `api.mcp.tools` the tools. The checks run in
the order Host and Origin, method, Content-Type, Accept, size, and message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from werkzeug.http import parse_options_header

from api.access.key_spelling import KEY_PREFIX
from api.access.values import NO_STORE, Call, Headers
from api.http.cors import ALLOWED
from api.http.messages import HttpRequest, Response, View, read_body
from api.http.other_names import KEY_FORM
from api.http.problems import Problem
from api.http.responses import accepted
from api.mcp import protocol
from api.mcp.protocol import CheckedRequest, ProtocolHeaders, RpcError, RpcReply, error, exchange
from api.mcp.server import McpServer
from api.mcp.tools import TOOLS
from api.service import Service
from api.settings import Settings, is_loopback

PATH = "/mcp"
METHODS = ("POST", "GET", "PUT", "PATCH", "DELETE", "OPTIONS")
"""All methods are routed here, because the method is checked after Origin and Host."""
MOST_BYTES = 65_536
"""A call with a payment takes 4 kB. A batch of twenty such calls fits."""
_JSON = "application/json"
_FOREIGN = "Origin or Host not allowed. The operator can add it to EMDS_ALLOWED_ORIGINS"
_LOG = logging.getLogger("emds.mcp")

_FOR_ORIGIN = (("Vary", "Origin"), ("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy, X-Request-Id"))
_PREFLIGHT = (
    ("Access-Control-Allow-Methods", "POST"),
    ("Access-Control-Allow-Headers", f"{ALLOWED}, Last-Event-ID, Mcp-Session-Id"),
    ("Access-Control-Max-Age", "86400"),
)


def view(service: Service) -> View:
    """Return the view of a worker."""
    mcp, admits = McpServer(service), _origin_policy(service.settings)

    def answer(request: HttpRequest) -> Response:
        header = request.environ.get
        origin = header("HTTP_ORIGIN", "")
        if not admits(header("HTTP_HOST", ""), origin):
            return _refused(403, _FOREIGN)
        if request.method == "OPTIONS":
            response = _sent(RpcReply(204), ("Allow", "POST"), *_PREFLIGHT)
        elif request.method != "POST":
            message = "Send JSON-RPC messages with POST. This server has no streams or sessions"
            response = _refused(405, message, ("Allow", "POST"))
        elif fault := _http_fault(header("CONTENT_TYPE", ""), header("HTTP_ACCEPT", "")):
            response = _refused(*fault)
        elif KEY_PREFIX in request.query:
            response = _refused(400, f"Do not send a key in the URL. {KEY_FORM}")
        else:
            try:
                response = _post(mcp, request)
            except Problem as problem:  # the body is invalid
                response = _refused(problem.kind.status, problem.detail, *problem.headers)
            except Exception as failure:
                response = _unforeseen(failure, request)
        return _for_origin(response, origin)

    return answer


def _origin_policy(settings: Settings) -> Callable[[str, str], bool]:
    """Return a function that admits or rejects Host and Origin, each empty if absent.

    It admits the service's own address, the origins that the operator lists, and loopback. A foreign page cannot send
    requests through its visitor's browser.
    """
    own = urlsplit(settings.base_url)
    origins = frozenset({f"{own.scheme}://{own.netloc}".lower(), *settings.allowed_origins})
    hosts = frozenset(urlsplit(origin).hostname or "" for origin in origins)

    @lru_cache(maxsize=128)
    def admits(host: str, origin: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            page = urlsplit(origin).scheme in ("http", "https") and is_loopback(origin)
            own_origin = not origin or origin.lower() in origins or page
        except ValueError:
            return False
        return own_origin and (not host or name in hosts or _is_local(name))

    return admits


def _is_local(name: str) -> bool:
    """Return whether a host is localhost or a numeric address. DNS rebinding needs a name."""
    try:
        return bool(ip_address(name))
    except ValueError:
        return name == "localhost"


@lru_cache(maxsize=128)
def _http_fault(content_type: str, accept: str) -> tuple[int, str] | None:
    """Return status and message if a POST does not send or accept JSON. An event stream in Accept is optional."""
    if parse_options_header(content_type)[0].lower() != _JSON:
        return 415, "The body must be JSON, with Content-Type: application/json"
    if accept and accepted(accept, (_JSON,)) is None:
        return 406, "Responses are application/json. Add it to the Accept header"
    return None


def _post(mcp: McpServer, request: HttpRequest) -> Response:
    """Return the response to the message in a request's body. Raises Problem 400 or 413."""
    environ, body = request.environ, read_body(request.environ, MOST_BYTES)
    sent = mcp.service.gate.call_of(request)
    authorization = f"Bearer {sent.api_key}" if sent.api_key else sent.authorization
    caller = Call(PATH, "", sent.client, authorization=authorization, other_header=sent.other_header)

    def perform(rpc: CheckedRequest) -> tuple[bytes, Headers]:
        tool = rpc.params["name"] if rpc.method == "tools/call" and rpc.params["name"] in TOOLS else ""
        # The access log, the metrics and `_unforeseen` read these.
        environ["emds.mcp_id"], environ["emds.endpoint"] = rpc.id, f"mcp.{tool or rpc.method.replace('/', '.')}"
        return mcp.perform(rpc, caller)

    headers = (environ.get(f"HTTP_{name}") for name in ("MCP_PROTOCOL_VERSION", "MCP_METHOD", "MCP_NAME"))
    reply = exchange(body, ProtocolHeaders(*(each if each is None else each.strip() for each in headers)), perform)
    return _sent(reply, *(header for header in reply.headers if header[0].startswith("RateLimit")))


def _sent(reply: RpcReply, *more: tuple[str, str]) -> Response:
    return Response(reply.status, [NO_STORE, *more, *([("Content-Type", _JSON)] if reply.body else ())], reply.body)


def _refused(status: int, message: str, *more: tuple[str, str]) -> Response:
    """Return a failed HTTP check as a JSON-RPC error, without an id because no message was read."""
    return _sent(RpcReply(status, error(RpcError(protocol.INVALID_REQUEST, message), None)), *more)


def _for_origin(response: Response, origin: str) -> Response:
    """Let a page of an admitted origin read a response."""
    return response.with_headers([("Access-Control-Allow-Origin", origin), *_FOR_ORIGIN]) if origin else response


def _unforeseen(failure: Exception, request: HttpRequest) -> Response:
    """Return the response after an internal error. The log has the reason, never a key or a payment."""
    name = request.id
    _LOG.exception("request %s failed", name, exc_info=failure)
    fault = RpcError(
        protocol.INTERNAL_ERROR,
        f"Internal error. Nothing was counted or charged. If it happens again, report request ID {name}.",
    )
    return _sent(RpcReply(200, error(fault, request.environ.get("emds.mcp_id"))))
