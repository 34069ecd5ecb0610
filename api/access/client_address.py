"""Find the address of a client behind proxies, and the network that counts as a single client."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from api.settings import Network

SUBSCRIBER, SITE = 64, 48
"""The bits of the IPv6 network that a subscriber has at least, and of the largest network that is handed out freely."""
_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?")
"""`203.0.113.9:4711` and `[2001:db8::1]:4711`, as some proxies write addresses (RFC 7239 section 6)."""


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """Return the rightmost address that is not a trusted proxy; any client can write what is to its left.

    `peer` is the other end of the socket, empty on a Unix socket, which only a local proxy can reach.
    """
    if not forwarded_for or not trusted:
        return peer
    address = peer
    for hop in reversed(forwarded_for.split(",")):
        ip = _ip(address)
        if address and not (ip and any(ip in network for network in trusted)):
            break
        match = _WITH_PORT.fullmatch(hop.strip())
        name = (match["v6"] or match["v4"]) if match else hop.strip()
        if _ip(name) is None:
            break
        address = name
    return address


@lru_cache(maxsize=4096)
def client_unit(address: str, prefix: int = SUBSCRIBER) -> str:
    """Return what is limited: an IPv4 address, also that of a 6to4 address, or an IPv6 network of `prefix` bits."""
    ip = _ip(address)
    if isinstance(ip, IPv6Address):
        host_bits = 128 - prefix
        return str(ip.ipv4_mapped or ip.sixtofour or IPv6Address(int(ip) >> host_bits << host_bits))
    return str(ip or address)


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
