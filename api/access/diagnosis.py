"""What is wrong with how access is set up, in words for the owner: `emds doctor` prints it."""

from __future__ import annotations

from urllib.parse import urlsplit

from api.access.gate import LIVE_MODES, UNKNOWN_PROXY
from api.access.rate_limits import RateLimits, limits_path
from api.settings import Settings, is_loopback
from warehouse.clock import DAY


def access_faults(settings: Settings, mode: str, proxied_calls: int) -> list[tuple[str, bool]]:
    """Every fault in a sentence or two, and whether it surely is one; `proxied_calls`.

    Today's calls by proxies that are not trusted.
    """
    faults: list[tuple[str, bool]] = []
    if settings.pay_to and mode in LIVE_MODES and settings.lacks_node(settings.facilitators):
        text = (
            "EMDS_RPC_URL is not set: NO PAYMENTS ARE TAKEN. Without a Base node nobody can tell whether a payment "
            "whose settlement was not answered was charged."
        )
        faults.append((text, True))
    if settings.pay_to and mode in LIVE_MODES and not settings.facilitators:
        faults.append(("EMDS_PAY_TO is set without EMDS_FACILITATOR_URLS: no payments are taken.", True))
    if proxied_calls:
        text = (
            f"{proxied_calls} calls of today came with X-Forwarded-For from an address outside EMDS_TRUSTED_PROXIES: "
            "behind a proxy that is not listed there, all clients count as one and share its limits."
        )
        faults.append((text, False))
    elif not settings.trusted_proxies and _is_public(settings.base_url):
        text = (
            "EMDS_BASE_URL is https and EMDS_TRUSTED_PROXIES is empty: if a proxy terminates TLS, list its address, or "
            "all clients count as one."
        )
        faults.append((text, False))
    return faults


def calls_by_unknown_proxies(settings: Settings, now: int) -> int:
    """Today's calls on this host that named their client by a proxy which is not trusted."""
    path = limits_path(settings)
    if not path.exists():
        return 0
    limits = RateLimits(path)
    try:
        return limits.count(UNKNOWN_PROXY, "", DAY, now)
    finally:
        limits.close()


def _is_public(base_url: str) -> bool:
    return urlsplit(base_url).scheme == "https" and not is_loopback(base_url)
