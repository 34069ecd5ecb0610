"""One signed POST to a receiver, to an address that was checked, within a bound of time. No redirects.

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
import socket
import ssl
import threading
import time
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from warehouse.errors import MarketError

TOTAL_S = 10.0
"""Name, connection, TLS, request and the answer's head together."""
_NAME_S = 5.0
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ip_network("::/96")
Address = IPv4Address | IPv6Address


class NotDelivered(MarketError):
    """The receiver did not take the message; the text names no secret and nothing that the receiver wrote."""


def post(url: str, headers: dict[str, str], body: bytes, private: bool, total_s: float = TOTAL_S) -> None:
    """Delivers a body; any 2xx counts. Raises NotDelivered. `private`: http and private addresses too, for tests."""
    deadline = time.monotonic() + total_s
    parts = urlsplit(url)
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        raise NotDelivered("not an https address")
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    address = _checked(_resolved(host, port, min(_NAME_S, total_s)), private)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    opened: list[socket.socket] = []
    # A receiver that sends a byte now and then outlives every time-out of a socket: its end is cut off.
    watch = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, [opened])
    watch.daemon = True
    watch.start()
    try:
        status = _sent(parts.scheme, host, str(address), port, target, headers, body, opened, deadline)
    except TimeoutError:
        raise NotDelivered("no answer in time") from None
    except (OSError, http.client.HTTPException, ValueError) as fault:
        late = time.monotonic() >= deadline
        raise NotDelivered("no answer in time" if late else f"connection failed: {type(fault).__name__}") from None
    finally:
        watch.cancel()
        _close(opened)
    if time.monotonic() >= deadline:  # a head that was cut off reads like one that ended
        raise NotDelivered("no answer in time")
    if not 200 <= status < 300:
        raise NotDelivered(f"answered {status}")


def signed(secret: str, message: str, body: bytes, at: int) -> dict[str, str]:
    """The headers of a message. `secret`: `whsec_` and base64."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "User-Agent": "emds-webhooks",
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def is_public(address: Address) -> bool:
    """Whether an address is one that anybody may be sent to: none of this host, of private nets, or hidden in IPv6."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None or address in _COMPATIBLE:
            return False
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if any(address in network for network in _NAT64):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _checked(addresses: list[Address], private: bool) -> Address:
    """The first of some addresses, if all may be sent to. Raises NotDelivered."""
    if not addresses:
        raise NotDelivered("the name has no address")
    if not private and not all(map(is_public, addresses)):
        raise NotDelivered("the name leads to an address that is not public")
    return addresses[0]


def _resolved(host: str, port: int, patience_s: float) -> list[Address]:
    """Every address of a name; the system's own look-up knows no time-out. Raises NotDelivered."""
    found: queue.SimpleQueue[list[Address] | None] = queue.SimpleQueue()

    def look() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            found.put([ip_address(answer[4][0]) for answer in answers])
        except (OSError, ValueError):
            found.put(None)

    threading.Thread(target=look, daemon=True).start()
    try:
        addresses = found.get(timeout=patience_s)
    except queue.Empty:
        raise NotDelivered("the name was not resolved in time") from None
    if addresses is None:
        raise NotDelivered("the name is not known")
    return addresses


def _sent(
    scheme: str,
    host: str,
    address: str,
    port: int,
    target: str,
    headers: dict[str, str],
    body: bytes,
    opened: list[socket.socket],
    deadline: float,
) -> int:
    """The answer's status. What the receiver says besides is not read."""
    left = max(0.1, deadline - time.monotonic())
    raw = socket.create_connection((address, port), timeout=left)
    opened.append(raw)
    if scheme == "https":
        opened[0] = raw = ssl.create_default_context().wrap_socket(raw, server_hostname=host)
    raw.settimeout(max(0.1, deadline - time.monotonic()))
    connection = http.client.HTTPConnection(host, port)
    connection.sock = raw
    default = {"https": 443, "http": 80}[scheme]
    name = f"[{host}]" if ":" in host else host
    connection.request(
        "POST", target, body, {"Host": name if port == default else f"{name}:{port}", **headers, "Connection": "close"}
    )
    status: int = connection.getresponse().status
    return status


def _cut(opened: list[socket.socket]) -> None:
    for each in opened:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue


def _close(opened: list[socket.socket]) -> None:
    for each in opened:
        each.close()
