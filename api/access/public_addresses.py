"""Decide which IP addresses a client may have emds connect to: public addresses, by a list of all others.

Python's `is_global` follows the registries of its own release. Older releases treat site-local IPv6, 192.0.0.8,
192.88.99.1 and 3fff::/20 as public.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

Address = IPv4Address | IPv6Address

_GLOBAL_UNICAST = ip_network("2000::/3")
_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in (
        # the IANA IPv4 special-purpose registry, multicast and reserved addresses
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # within IPv6 global unicast: protocol assignments (with Teredo), documentation, 6to4
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)


def is_public(address: Address) -> bool:
    """Return whether an address is public; an IPv4 address that is mapped into IPv6 counts as IPv4."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if address.scope_id is not None or address not in _GLOBAL_UNICAST:
            return False
    return not any(address in network for network in _NOT_PUBLIC)
