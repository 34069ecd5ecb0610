"""Request bodies, read whole within a bound. One sent in chunks states no length, and may turn out not to be chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected
from werkzeug.http import parse_options_header
from werkzeug.wsgi import get_content_length, get_input_stream

from api.http.messages import Request
from api.http.problems import Problem

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# What is left of a body that was not read would be taken for the next request.
_CLOSING = (("Connection", "close"),)


def read(environ: WSGIEnvironment, most: int) -> bytes:
    """The whole body. Raises Problem 413 above `most` bytes, 400 where it is broken or shorter than it says."""
    stream = get_input_stream(environ)
    parts, left = [], most + 1
    try:
        while left and (part := stream.read(left)):
            parts.append(part)
            left -= len(part)
    except (ParseException, OSError, ClientDisconnected):
        raise _broken() from None
    body = b"".join(parts)
    if len(body) > most:
        raise Problem("body-too-large", f"This path takes a body of at most {most} bytes.", headers=_CLOSING)
    stated = get_content_length(environ)
    if stated is not None and len(body) < stated:
        raise _broken()
    return body


def read_json(request: Request, most: int, example: str = "") -> Any:
    """The JSON value in the body. Raises Problem 400, 413 or 415, whose words show `example`."""
    if parse_options_header(request.header("CONTENT_TYPE"))[0].lower() != "application/json":
        such_as = f" {example}," if example else ""
        raise Problem("unsupported-media-type", f"The body is JSON,{such_as} with Content-Type: application/json.")
    try:
        return orjson.loads(read(request.environ, most))
    except ValueError:
        raise Problem("invalid-request", f"The body is not JSON{f'; send {example}' if example else ''}.") from None


def _broken() -> Problem:
    return Problem("invalid-request", "The body cannot be read: broken chunks, or an early end.", headers=_CLOSING)
