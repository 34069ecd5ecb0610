"""Request bodies, read within a bound. A chunked one says its length nowhere, and may turn out not to be chunks."""

from __future__ import annotations

from flask import Request
from gunicorn.http.errors import ParseException

from api.http.problems import Problem

# What is left of a body that was not read would be taken for the next request.
_CLOSING = (("Connection", "close"),)


def read(asked: Request, most: int) -> bytes:
    """The whole body. Raises Problem 413 above `most` bytes, 400 where it cannot be read."""
    try:
        body: bytes = asked.stream.read(most + 1)
    except (ParseException, OSError):
        raise Problem(
            "invalid-request", "The body cannot be read: broken chunks, or an early end.", headers=_CLOSING
        ) from None
    if len(body) > most:
        raise Problem("body-too-large", f"This path takes a body of at most {most} bytes.", headers=_CLOSING)
    return body
