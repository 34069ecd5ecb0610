"""Request bodies, read whole within a bound. One sent in chunks states no length, and may turn out not to be chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_content_length, get_input_stream

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


def _broken() -> Problem:
    return Problem("invalid-request", "The body cannot be read: broken chunks, or an early end.", headers=_CLOSING)
