"""Posts one signed message to a receiver, within ten seconds, to an address that was checked. Follows no redirect.

The name is resolved once, every address of it must be public, and the connection goes to the address that was checked:
a name that changes its address in between (DNS rebinding) leads nowhere else. Signed as Standard Webhooks
(https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import queue
import re
import socket
import ssl
import threading
import time
from ipaddress import ip_address
from urllib.parse import urlsplit

from api.access.public_addresses import Address, is_public
from warehouse.errors import MarketError
from warehouse.version import __version__

TOTAL_S = 10.0
"""Name, connection, TLS, request and the head of the answer together."""
_NAME_S = 5.0
_LONGEST_HEAD = 65_536


class NotDelivered(MarketError):
    """The receiver did not take the message; the text names no secret and nothing that the receiver wrote."""


def post(url: str, headers: dict[str, str], body: bytes, private: bool, total_s: float = TOTAL_S) -> None:
    """Deliver a body; any 2xx counts. Raises NotDelivered. `private`: http and private addresses too, for tests."""
    deadline = time.monotonic() + total_s
    parts = urlsplit(url)
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        raise NotDelivered("not an https address")
    try:
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        address = _check(_resolve(host, port, min(_NAME_S, total_s)), private)
        with _connect(parts.scheme, host, (str(address), port), deadline) as connected:
            connection = http.client.HTTPConnection(host, port)
            connection.default_port = {"https": 443, "http": 80}[parts.scheme]  # leaves the port out of `Host`
            connection.sock = connected
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, {**headers, "Connection": "close"})
            status = _read_status(connected, deadline)
    except TimeoutError:
        raise NotDelivered("no answer in time") from None
    except (OSError, http.client.HTTPException, ValueError) as fault:
        raise NotDelivered(f"connection failed: {type(fault).__name__}") from None
    if not 200 <= status < 300:
        raise NotDelivered(f"answered {status}")


def signed(secret: str, message: str, body: bytes, at: int) -> dict[str, str]:
    """Return the headers of a message. `secret`: `whsec_` and base64."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"emds-webhooks/{__version__}",
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _check(addresses: list[Address], private: bool) -> Address:
    """Return the first of some addresses, if all may be connected to. Raises NotDelivered."""
    if not addresses:
        raise NotDelivered("the name has no address")
    if not private and not all(map(is_public, addresses)):
        raise NotDelivered("the name leads to an address that is not public")
    return addresses[0]


def _resolve(host: str, port: int, timeout_s: float) -> list[Address]:
    """Return every address of a name. Raises NotDelivered. A thread of its own: `getaddrinfo` has no timeout."""
    found: queue.SimpleQueue[list[Address] | None] = queue.SimpleQueue()

    def look() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            found.put([ip_address(answer[4][0]) for answer in answers])
        except (OSError, ValueError):
            found.put(None)

    threading.Thread(target=look, daemon=True).start()
    try:
        addresses = found.get(timeout=timeout_s)
    except queue.Empty:
        raise NotDelivered("the name was not resolved in time") from None
    if addresses is None:
        raise NotDelivered("the name is not known")
    return addresses


def _connect(scheme: str, host: str, address: tuple[str, int], deadline: float) -> socket.socket:
    connected = socket.create_connection(address, timeout=_left(deadline))
    if scheme == "http":
        return connected
    try:
        connected.settimeout(_left(deadline))
        return ssl.create_default_context().wrap_socket(connected, server_hostname=host)
    except BaseException:
        connected.close()
        raise


def _read_status(connected: socket.socket, deadline: float) -> int:
    """Return the status of the final answer, behind interim ones (1xx); reads no more than heads.

    http.client, and so urllib3, takes 103 for the answer and has no deadline against a receiver that drips bytes.
    """
    received = b""
    while True:
        while b"\r\n\r\n" not in received:
            connected.settimeout(_left(deadline))
            chunk = connected.recv(4096)
            if not chunk or len(received) > _LONGEST_HEAD:
                raise http.client.BadStatusLine("")
            received += chunk
        head, _, received = received.partition(b"\r\n\r\n")
        line = re.match(rb"HTTP/1\.[01] ([1-9][0-9]{2})( |\r|$)", head)
        if line is None:
            raise http.client.BadStatusLine("")
        if int(line[1]) >= 200:
            return int(line[1])


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
