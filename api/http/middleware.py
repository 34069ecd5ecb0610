"""The outermost layer, around Flask: request ids, bounds of what is read, CORS, and a line in the access log."""

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
"""A request id that a caller may choose; one that holds a key would be logged."""
_NOSNIFF = ("X-Content-Type-Options", "nosniff")


def wrap(app: WSGIApplication, base_url: str, log: Callable[[bytes], object] = write_line) -> WSGIApplication:
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

        cors, refusal = cors_headers(environ), _refusal(environ)
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
        count(environ, answered, seconds)
        log(log_line(environ, answered, seconds))
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


def _typed(environ: WSGIEnvironment, status: str, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Flask says of an empty answer too that it is HTML or text: its own to OPTIONS, and a 202 or 204 of ours."""
    if environ["REQUEST_METHOD"] == "GET" or not (status.startswith("204") or ("Content-Length", "0") in headers):
        return headers
    return [pair for pair in headers if pair[0] != "Content-Type"]
