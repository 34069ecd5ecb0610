"""One JSON question to a facilitator or a node, with an end in time, that tells "never reached" from "no answer".

That difference decides whether a payment may have moved: an HTTP library's general time-out error hides it.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import orjson

_MOST_BYTES = 1 << 20


class NotReached(Exception):
    """No connection came about: nothing was asked."""


class NoReply(Exception):
    """The question left, and no whole answer came in time."""


@dataclass(frozen=True, slots=True)
class JsonReply:
    """An answer; `document` is None where its body is no JSON object."""

    status: int
    document: dict[str, Any] | None


class _Timed(io.RawIOBase):
    """A socket's incoming bytes until a deadline: a peer that drips them cannot hold a worker for longer."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._sock.recv_into(buffer)


class _Connection:
    """As much of a socket as `http.client` uses, which closes it before it has read a body without a length."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self.sendall = sock.sendall

    def close(self) -> None:
        """Left to `post`."""

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self._sock, self._deadline))


def post(
    url: str, document: Mapping[str, Any] | list[Any], headers: Mapping[str, str], connect_s: float, read_s: float
) -> JsonReply:
    """Asks once, following no redirect. Raises NotReached or NoReply, never anything else."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=connect_s)
    try:
        connection.connect()
    except (OSError, ssl.SSLError) as fault:
        connection.close()
        raise NotReached(type(fault).__name__) from None
    sock = connection.sock
    try:
        sock.settimeout(connect_s)  # for sending
        connection.sock = _Connection(sock, time.monotonic() + read_s)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        body = orjson.dumps(document)
        connection.request(
            "POST", target, body, {"Content-Type": "application/json", "Accept": "application/json", **headers}
        )
        response = connection.getresponse()
        return JsonReply(response.status, _object(response.read(_MOST_BYTES)))
    except (OSError, HTTPException) as fault:
        raise NoReply(type(fault).__name__) from None
    finally:
        connection.close()
        sock.close()


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
