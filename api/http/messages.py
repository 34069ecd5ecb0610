"""Represent an HTTP request and response as plain values, which views take and return. Nothing here imports Flask.

A body is read whole, up to a limit. A chunked body states no length, and its chunks may be broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import orjson
from werkzeug.datastructures import ImmutableMultiDict, MultiDict
from werkzeug.http import parse_options_header
from werkzeug.wsgi import get_content_length, get_host, get_input_stream

from api.http.problems import MEDIA, Problem

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Headers = list[tuple[str, str]]

_LINES: Mapping[int, str] = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_TRUE = frozenset({"true", "1"})
_BODILESS = frozenset({204, 304})


class HttpRequest:
    """A request over its WSGI environ (PEP 3333)."""

    def __init__(self, environ: WSGIEnvironment) -> None:
        self.environ = environ

    @property
    def method(self) -> str:
        method: str = self.environ["REQUEST_METHOD"]
        return method.upper()

    @property
    def path(self) -> str:
        """The path below the root of this service in UTF-8, without percent escapes and behind one slash."""
        path: str = self.environ.get("PATH_INFO", "")
        if not path.isascii():
            path = path.encode("latin-1").decode("utf-8", "replace")
        return f"/{path.lstrip('/')}"

    @property
    def host_url(self) -> str:
        """The scheme and host that the client used, without a path."""
        return f"{self.environ['wsgi.url_scheme']}://{get_host(self.environ)}"

    @property
    def query(self) -> str:
        """The query string as the client sent it."""
        query: str = self.environ.get("QUERY_STRING", "")
        return query

    @cached_property
    def args(self) -> MultiDict[str, str]:
        """The parameters of the query, in its order."""
        return ImmutableMultiDict(_pairs(self.query))

    @property
    def id(self) -> str:
        """The request ID: the client's own, or an ID from `api.http.middleware`."""
        name: str = self.environ.get("emds.request_id", "")
        return name

    @property
    def sample(self) -> bool:
        """Whether the query requests a sample: `sample=true`, or the equal `%73ample=true`."""
        query = self.query
        return ("sample" in query or "%" in query) and self.args.get("sample", "").lower() in _TRUE

    def header(self, name: str) -> str:
        """Return a header by its name in the environ (`HTTP_ACCEPT`); empty if it was not sent."""
        value: str = self.environ.get(name, "")
        return value


def _pairs(query: str) -> list[tuple[str, str]]:
    if "%" in query or "+" in query or not query.isascii():
        return parse_qsl(query.encode("latin-1").decode("utf-8", "replace"), keep_blank_values=True)
    # Without escapes, this gives the same pairs in a fifth of the time.
    return [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair)]


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response, to which sending adds its length. It is a WSGI application, which Flask accepts from a view."""

    status: int
    headers: Headers
    body: bytes = b""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        headers = self.headers
        withheld = not self.body and environ["REQUEST_METHOD"] == "HEAD"  # GET's length is not computed
        if self.status not in _BODILESS and not withheld:
            headers = [*headers, ("Content-Length", str(len(self.body)))]
        start_response(_LINES[self.status], headers)
        return [] if self.status in _BODILESS else [self.body]

    def header(self, name: str) -> str:
        """Return the first header of a name; empty if there is none."""
        wanted = name.lower()
        return next((value for known, value in self.headers if known.lower() == wanted), "")

    def with_headers(self, headers: Iterable[tuple[str, str]]) -> Response:
        """Return the response with further headers."""
        return Response(self.status, [*self.headers, *headers], self.body)


class Responded(Exception):
    """An exception that carries the response or problem to send instead of a view's response."""

    def __init__(self, outcome: Response | Problem) -> None:
        super().__init__()
        self.outcome = outcome


def problem_response(base_url: str, problem: Problem, request: HttpRequest) -> Response:
    """Return the response for a problem, which is never cached."""
    media = MEDIA if problem.body is None else "application/json"
    headers = [("Cache-Control", "no-store"), *problem.headers, ("Content-Type", media)]
    return Response(problem.kind.status, headers, problem.document(base_url, request.id))


QueryValues = Mapping[str, Any]
"""The checked parameters of a request by name, as `api.http.parameters` reads them, defaults included."""
View = Callable[..., Response]
"""The function that serves a path. In `api.application` it takes the request, and the path's parts by name (`zone`).

In a package's table `VIEWS` it takes the service, the request, its checked parameters, and the path's parts.
"""

# The unread rest of a body would be taken for the next request.
_CLOSING = (("Connection", "close"),)


def read_body(environ: WSGIEnvironment, most: int) -> bytes:
    """Return the whole body.

    Raises Problem 413 above `most` bytes, and 400 if the body is broken or shorter than its stated length.
    """
    body, length = b"", get_content_length(environ) or 0
    broken = Problem(
        "invalid-request",
        "The request body is incomplete or its chunks are malformed. Send the request again.",
        headers=_CLOSING,
    )
    if length <= most:
        try:
            body = get_input_stream(environ, max_content_length=most + 1).read()
        except Exception:  # the server raises its own types
            raise broken from None
    if max(length, len(body)) > most:
        raise Problem(
            "body-too-large",
            f"The request body is too large; this path accepts at most {most} bytes.",
            headers=_CLOSING,
        )
    if len(body) < length:
        raise broken
    return body


def read_json(request: HttpRequest, most: int, example: str = "") -> Any:
    """Return the JSON value in the body. Raises Problem 400, 413 or 415, whose detail shows `example`."""
    if parse_options_header(request.header("CONTENT_TYPE"))[0].lower() != "application/json":
        such_as = f", for example {example}" if example else ""
        raise Problem(
            "unsupported-media-type", f"The request body must be JSON{such_as}. Set Content-Type: application/json."
        )
    try:
        return orjson.loads(read_body(request.environ, most))
    except ValueError:
        raise Problem(
            "invalid-request", f"The request body is not valid JSON.{f' Send {example}.' if example else ''}"
        ) from None
