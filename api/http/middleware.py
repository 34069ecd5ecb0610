"""Wrap Flask in the outermost layer: request IDs, size limits, CORS, and the access log."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from api.http.access_log import count, log_line, write_line
from api.http.cors import cors_headers
from api.http.messages import HttpRequest, problem_response
from api.http.problems import Problem

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MOST_URL_BYTES = 8000
MOST_BODY_BYTES = 1_048_576
_ID = re.compile(r"(?!.*emds_)[A-Za-z0-9._-]{1,64}", re.IGNORECASE)
"""A request ID that a client may choose. It must not contain a key, because the ID is logged."""
_NOSNIFF = ("X-Content-Type-Options", "nosniff")


def wrap(app: WSGIApplication, base_url: str, log: Callable[[bytes], object] = write_line) -> WSGIApplication:
    """Return a WSGI application around `app`, which passes a line per request to `log`."""

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
                # gunicorn drops this header if an application sets it.
                getattr(getattr(start_response, "__self__", None), "force_close", lambda: None)()
            return start_response(
                status, [*_typed(environ, status, headers), ("X-Request-Id", name), _NOSNIFF, *cors], exc_info
            )

        cors, refusal = cors_headers(environ), _refusal(environ)
        is_preflight = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ and "HTTP_ORIGIN" in environ
        if refusal is not None:
            # The rest of the request stays unread, and must not be taken for the next request on this connection.
            problem = Problem(refusal, headers=[("Connection", "close")])
            answer = problem_response(base_url, problem, HttpRequest(environ))(environ, start)
        elif cors and is_preflight and environ["REQUEST_METHOD"] == "OPTIONS":
            start("204 No Content", [])  # also for unknown paths: a 404 is clearer to a page than a rejected preflight
            answer = []
        else:
            answer = app(environ, start)
        seconds = time.perf_counter() - began
        count(environ, answered, seconds)
        log(log_line(environ, answered, seconds))
        return answer

    return served


def _refusal(environ: WSGIEnvironment) -> str | None:
    """Return the problem of a request that no path accepts, which is too large or lacks HTTP/1.1's single Host
    header.

    A server joins several Host headers with commas.
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


def _typed(environ: WSGIEnvironment, status: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers without the Content-Type that Flask adds to an empty response (OPTIONS, 202, 204)."""
    if environ["REQUEST_METHOD"] == "GET" or not (status.startswith("204") or ("Content-Length", "0") in headers):
        return headers
    return [pair for pair in headers if pair[0] != "Content-Type"]
