"""Who is calling: the client's address behind trusted proxies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from api.settings import Network

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?")
"""`203.0.113.9:4711` and `[2001:db8::1]:4711`, as some proxies write them (RFC 7239 section 6)."""


SUBSCRIBER, SITE = 64, 48
"""Bits of the IPv6 network that one subscriber holds at least, and of the largest that is given out freely."""


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The nearest address that is no trusted proxy, read from the right: anyone can have written what lies left of it.

    `peer` is the socket's other end, empty on a Unix socket, which only a local proxy can reach.
    """
    if not forwarded_for or not trusted:
        return peer
    address = peer
    for hop in reversed(forwarded_for.split(",")):
        if not _is_trusted(address, trusted):
            break
        name = _without_port(hop.strip())
        if not _is_address(name):
            break
        address = name
    return address


def comes_by_unknown_proxy(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> bool:
    """Whether a call names a client that is not believed: behind a proxy that is not listed, all clients look alike."""
    return bool(forwarded_for) and not (trusted and _is_trusted(peer, trusted))


@lru_cache(maxsize=4096)
def client_unit(address: str, prefix: int = SUBSCRIBER) -> str:
    """What limits are counted by: an IPv4 address, that of a 6to4 address too, or an IPv6 network of `prefix` bits."""
    if not _is_address(address):
        return address
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        host_bits = 128 - prefix
        return str(ip.ipv4_mapped or ip.sixtofour or IPv6Address(int(ip) >> host_bits << host_bits))
    return str(ip)


def _without_port(hop: str) -> str:
    match = _WITH_PORT.fullmatch(hop)
    return (match["v6"] or match["v4"]) if match else hop


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    return not address or (_is_address(address) and any(ip_address(address) in network for network in trusted))
