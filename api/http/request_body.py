"""Request bodies, read whole within a bound. One sent in chunks states no length, and may turn out not to be chunks."""

from __future__ import annotations

from flask import Request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected

from api.http.problems import Problem

# What is left of a body that was not read would be taken for the next request.
_CLOSING = (("Connection", "close"),)


def read(request: Request, most: int) -> bytes:
    """The whole body. Raises Problem 413 above `most` bytes, 400 where it is broken or shorter than it says."""
    parts, left = [], most + 1
    try:
        while left and (part := request.stream.read(left)):
            parts.append(part)
            left -= len(part)
    except (ParseException, OSError, ClientDisconnected):
        raise _broken() from None
    body = b"".join(parts)
    if len(body) > most:
        raise Problem("body-too-large", f"This path takes a body of at most {most} bytes.", headers=_CLOSING)
    if request.content_length is not None and len(body) < request.content_length:
        raise _broken()
    return body


def _broken() -> Problem:
    return Problem("invalid-request", "The body cannot be read: broken chunks, or an early end.", headers=_CLOSING)
