"""Post JSON to a facilitator or a node within a time limit, and distinguish "never reached" from "no response".

That difference decides whether a payment may have moved. An HTTP library's general timeout error hides it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import orjson

_MOST_BYTES = 1 << 20
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A response. `document` is None if the body is not a JSON object; an incomplete response has status 0."""

    status: int
    document: dict[str, Any] | None


def post(
    url: str, document: Mapping[str, Any], headers: Mapping[str, str], connect_s: float, read_s: float
) -> JsonReply | None:
    """Post once without following redirects; return None if no connection was made, so that nothing was sent."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=connect_s)
    try:
        connection.connect()
    except OSError:
        connection.close()
        return None
    connection.sock.settimeout(read_s)
    deadline = threading.Timer(read_s, _hang_up, [connection.sock])  # a slow peer never triggers the socket's timeout
    deadline.daemon = True
    deadline.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, orjson.dumps(document), {**_JSON, **headers})
        response = connection.getresponse()
        return JsonReply(response.status, _object(response.read(_MOST_BYTES)))
    except (OSError, HTTPException):
        return JsonReply(0, None)
    finally:
        deadline.cancel()
        connection.close()


def _hang_up(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _object(body: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        document = orjson.loads(body)
        return document if isinstance(document, dict) else None
    return None
