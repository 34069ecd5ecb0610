"""Post one signed message to a receiver, within ten seconds, to a checked address. Redirects are not followed.

The name is resolved once, and all its addresses must be public. The connection uses the checked address, so a name that
changes its address meanwhile (DNS rebinding) has no effect. Messages are signed as Standard Webhooks requires
(https://www.standardwebhooks.com).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import re
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from ipaddress import ip_address
from urllib.parse import urlsplit

from api.access.public_addresses import is_public
from warehouse.errors import MarketError
from warehouse.version import __version__

TOTAL_S = 10.0
"""Time limit for name resolution, connection, TLS, request and the head of the response together."""
_LONGEST_HEAD = 65_536


class NotDelivered(MarketError):
    """The receiver did not accept the message. The text contains no secret and nothing that the receiver sent."""


def post(url: str, headers: dict[str, str], body: bytes, private: bool, total_s: float = TOTAL_S) -> None:
    """Deliver a body; any 2xx counts. Raises NotDelivered. `private` allows http and private addresses, for tests.

    A thread sends it and is abandoned after `total_s`: `getaddrinfo` has no timeout, and a receiver may send bytes
    slowly.
    """
    answer = Future[int]()

    def ask() -> None:
        try:
            answer.set_result(_ask(url, headers, body, private, total_s))
        except Exception as fault:
            answer.set_exception(fault)

    threading.Thread(target=ask, daemon=True).start()
    try:
        status = answer.result(total_s)
    except TimeoutError:
        raise NotDelivered("no response before the timeout") from None
    except (OSError, http.client.HTTPException, ValueError) as fault:
        raise NotDelivered(f"connection failed: {type(fault).__name__}") from None
    if not 200 <= status < 300:
        raise NotDelivered(f"returned {status}")


def signed(secret: str, message: str, body: bytes, at: int) -> dict[str, str]:
    """Return the headers of a message. `secret` is `whsec_` followed by base64."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"emds-webhooks/{__version__}",
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _ask(url: str, headers: dict[str, str], body: bytes, private: bool, total_s: float) -> int:
    """Return the status of a receiver's response."""
    ends = time.monotonic() + total_s
    parts = urlsplit(url)
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        raise NotDelivered("not an https address")
    default_port = {"https": 443, "http": 80}[parts.scheme]
    host, port = parts.hostname or "", parts.port or default_port
    connection = http.client.HTTPConnection(host, port)
    connection.default_port = default_port  # leaves the port out of `Host`
    with socket.create_connection((_address(host, port, private), port), timeout=total_s) as plain:
        connection.sock = plain
        if parts.scheme == "https":
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        with connection.sock as connected:
            if time.monotonic() > ends:
                raise TimeoutError  # the message already counts as failed, and is sent again in its turn
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, {**headers, "Connection": "close"})
            return _status(connected)


def _address(host: str, port: int, private: bool) -> str:
    """Return the first address of a name, if all its addresses may be connected to. Raises NotDelivered."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        raise NotDelivered("the name is not known") from None
    addresses = [str(answer[4][0]) for answer in answers]
    if not addresses:
        raise NotDelivered("the name has no address")
    if not private and not all(is_public(ip_address(address)) for address in addresses):
        raise NotDelivered("the name leads to an address that is not public")
    return addresses[0]


def _status(connected: socket.socket) -> int:
    """Return the final status once its head has arrived, after interim responses: http.client stops at a 103."""
    status = 0
    with connected.makefile("rb") as stream:
        while status < 200:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline(_LONGEST_HEAD)
                head += line
                if not line or len(head) > _LONGEST_HEAD:
                    raise http.client.BadStatusLine("")
            first = re.match(rb"HTTP/1\.[01] ([1-9][0-9]{2})( |\r|$)", head)
            if first is None:
                raise http.client.BadStatusLine("")
            status = int(first[1])
    return status
