"""The outermost layer, around Flask: request ids, bounds of what is read, CORS, and a line in the access log.

And the answer where a view, or Flask, raised.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from prometheus_client import Counter, Histogram
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.access.database import AccountsUnavailable
from api.access.gate import unavailable
from api.http.messages import HttpRequest, Responded, Response, problem_response
from api.http.problems import Problem, of_error
from warehouse.errors import CallerError, StorageError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_LOG = logging.getLogger("emds.api")
_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
"""What Flask's routing raises."""
_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Answers by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to an answer, by route.", ("route",), buckets=_BUCKETS)
# Children are found by a lock and a dictionary of tuples of texts; these find them at once.
_answers, _seconds = lru_cache(2048)(ANSWERS.labels), lru_cache(512)(SECONDS.labels)

MOST_URL_BYTES = 8000
MOST_BODY_BYTES = 1_048_576
_ID = re.compile(r"(?!.*emds_)[A-Za-z0-9._-]{1,64}", re.IGNORECASE)
"""A request id that a caller may choose; one that holds a key would be logged."""
_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

EXPOSED = (
    "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, "
    "EXTENSION-RESPONSES, "
    "X-Request-Id, X-Sample, X-EMDS-Data, X-EMDS-Stale, Content-Disposition, Accept-Ranges, Content-Range, "
    "Deprecation, Sunset"
)
ALLOWED = (
    "Authorization, Content-Type, Accept, If-None-Match, If-Range, Range, Idempotency-Key, PAYMENT-SIGNATURE, "
    "X-PAYMENT, Access-Control-Expose-Headers, "
    "Payment-Retry, X-API-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id, traceparent"
)
_NOSNIFF = ("X-Content-Type-Options", "nosniff")
_CORS = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", EXPOSED)]
_PREFLIGHT = [
    ("Access-Control-Allow-Headers", ALLOWED),
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"),
    ("Access-Control-Max-Age", "86400"),
]


def write_line(line: bytes) -> None:
    """Write a line to standard output, whole."""
    with contextlib.suppress(OSError):  # the log's reader may be gone; the answer is not
        os.write(sys.stdout.fileno(), line)


def around(app: WSGIApplication, base_url: str, log: Callable[[bytes], object] = write_line) -> WSGIApplication:
    """A WSGI application around another."""

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        wanted = environ.get("HTTP_X_REQUEST_ID", "")
        name = wanted if wanted and _ID.fullmatch(wanted) else f"{random.getrandbits(128):032x}"
        environ["emds.request_id"] = name
        answered = 0

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            nonlocal answered
            answered = int(status[:3])
            if ("Connection", "close") in headers:
                # gunicorn drops the header of an application.
                getattr(getattr(start_response, "__self__", None), "force_close", lambda: None)()
            return start_response(
                status, [*_typed(environ, status, headers), ("X-Request-Id", name), _NOSNIFF, *cors], exc_info
            )

        cors, refusal = _cors(environ), _refusal(environ)
        is_preflight = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ and "HTTP_ORIGIN" in environ
        if refusal is not None:
            # The rest of the request stays unread: what follows on this connection would be taken for a request.
            problem = Problem(refusal, headers=[("Connection", "close")])
            answer = problem_response(base_url, problem, HttpRequest(environ))(environ, start)
        elif cors and is_preflight and environ["REQUEST_METHOD"] == "OPTIONS":
            start("204 No Content", [])  # to an unknown path too: its 404 tells a page more than a refused preflight
            answer = []
        else:
            answer = app(environ, start)
        seconds = time.perf_counter() - began
        route = environ.get("emds.endpoint", "none")
        _seconds(route).observe(seconds)
        _answers(route, answered).inc()
        log(_log_line(environ, answered, seconds))
        return answer

    return served


def _refusal(environ: WSGIEnvironment) -> str | None:
    """The kind of problem of a request that no path takes: too large, or without the one Host that HTTP/1.1 requires.

    A server that takes several Host headers joins them with commas.
    """
    host = environ.get("HTTP_HOST", "")
    if (not host and environ.get("SERVER_PROTOCOL") == "HTTP/1.1") or "," in host:
        return "missing-host"  # RFC 9112 section 3.2
    if len(environ.get("PATH_INFO", "")) + len(environ.get("QUERY_STRING", "")) > MOST_URL_BYTES:
        return "url-too-long"
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > MOST_BODY_BYTES:
        return "body-too-large"
    return None


def _cors(environ: WSGIEnvironment) -> list[tuple[str, str]]:
    """Any page may read every path but /mcp, which sets its own headers, by however many slashes it begins: `//mcp`."""
    path = environ.get("PATH_INFO", "").lstrip("/")
    if path == "mcp" or path.startswith("mcp/"):
        return []
    return _CORS + _PREFLIGHT if environ["REQUEST_METHOD"] == "OPTIONS" else _CORS


def _typed(environ: WSGIEnvironment, status: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Flask says of an empty answer too that it is HTML or text: its own to OPTIONS, and a 202 or 204 of ours."""
    if environ["REQUEST_METHOD"] == "GET" or not (status.startswith("204") or ("Content-Length", "0") in headers):
        return headers
    return [pair for pair in headers if pair[0] != "Content-Type"]


def _log_line(environ: WSGIEnvironment, status: int, seconds: float) -> bytes:
    """One line of JSON, without query, path or headers, which may hold keys and addresses."""
    method, trace = environ["REQUEST_METHOD"], environ.get("HTTP_TRACEPARENT", "")
    fields = {
        "at": round(time.time(), 3),
        "id": environ["emds.request_id"],
        "method": method if len(method) < 10 else "?",
        "route": environ.get("emds.endpoint", "none"),
        "zone": environ.get("emds.zone"),
        "status": status,
        "ms": round(seconds * 1000, 2),
    }
    if trace and _TRACE.fullmatch(trace):
        fields["trace"] = trace
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def failed(base_url: str, error: Exception, request: HttpRequest) -> Response:
    """The answer where a view, or Flask, raised: its own, or a problem for whatever it is."""
    outcome = error.outcome if isinstance(error, Responded) else _problem_of(error, request)
    return problem_response(base_url, outcome, request) if isinstance(outcome, Problem) else outcome


def _problem_of(error: Exception, request: HttpRequest) -> Problem:
    match error:
        case Problem():
            return error
        case AccountsUnavailable():
            return unavailable()
        case CallerError() | StorageError():
            return of_error(error)
        case HTTPException():
            code = error.code or 500
            kind = _BY_STATUS.get(code, "internal-error" if code >= 500 else "invalid-request")
            allowed = sorted(error.valid_methods or ()) if isinstance(error, MethodNotAllowed) else []
            return Problem(kind, headers=[("Allow", ", ".join(allowed))] if allowed else [])
    _LOG.error("request %s failed", request.id, exc_info=error)
    return Problem("internal-error")
