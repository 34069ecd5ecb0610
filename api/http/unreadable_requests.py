"""Requests that gunicorn cannot read: they get problem documents, and the log quotes no secrets of them."""

from __future__ import annotations

import logging
import re
import secrets
import socket
from collections.abc import Callable
from typing import Any

from gunicorn import util

from api.http.problems import KINDS, MEDIA, body_of

_SECRET = re.compile(r"emds_[0-9A-Za-z]+|(?i:bearer|basic)\s+\S+|[A-Za-z0-9+/=_-]{80,}|[^\s'\"]+@[^\s'\"]+")
_KIND_OF_STATUS = {414: "url-too-long", 431: "headers-too-large", 500: "internal-error"}


def hide_secrets(record: logging.LogRecord) -> bool:
    """Replace keys, payments and addresses in a log record: gunicorn quotes what it cannot read. A log filter."""
    record.msg, record.args = _SECRET.sub("***", record.getMessage()), ()
    return True


def answer_as_problems(base_url: str) -> None:
    """Make gunicorn answer with a problem document instead of a page of HTML."""

    def write_error(sock: socket.socket, status: int, reason: str, _message: str) -> None:
        util.write_nonblock(sock, _problem(base_url, _KIND_OF_STATUS.get(status, "invalid-request")))

    write: Callable[..., Any] = write_error
    util.write_error = write


def _problem(base_url: str, kind_name: str) -> bytes:
    """Return a whole HTTP response that ends the connection."""
    kind, request_id = KINDS[kind_name], secrets.token_hex(16)
    body = body_of(base_url, kind, kind.meaning, request_id, {})
    head = (
        f"HTTP/1.1 {kind.status} {kind.title}\r\n"
        "Connection: close\r\n"
        f"Content-Type: {MEDIA}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        f"X-Request-Id: {request_id}\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Access-Control-Allow-Origin: *\r\n\r\n"
    )
    return head.encode("latin-1") + body
