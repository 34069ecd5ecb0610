"""Who is calling: the client's address behind trusted proxies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from api.settings import Network


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The nearest address that is no trusted proxy, read from the right: what lies left of it anyone can have written.

    `peer` is the socket's other end, empty on a Unix socket, which only a local proxy can reach.
    """
    address = peer
    for hop in reversed(forwarded_for.split(",")):
        if not trusted or not _is_trusted(address, trusted):
            break
        if not _is_address(hop.strip()):
            break
        address = hop.strip()
    return address


@lru_cache(maxsize=4096)
def client_unit(address: str) -> str:
    """What limits are counted by: an IPv4 address, or an IPv6 /64, since one subscriber holds all of it."""
    if not _is_address(address):
        return address
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or IPv6Address(int(ip) >> 64 << 64))
    return str(ip)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    return not address or (_is_address(address) and any(ip_address(address) in network for network in trusted))
