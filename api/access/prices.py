"""Return what a call costs by the table of endpoints, for offers and payments.

`api.access.x402.server` requests and takes payments. A key's calls are free up to its quota.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from api.endpoints.endpoint import Endpoint
from api.endpoints.table import ENDPOINTS

USDC_DECIMALS = 6
PRICES: dict[str, Endpoint] = {endpoint.id: endpoint for endpoint in ENDPOINTS.values() if endpoint.paid}
"""The paid endpoints by operationId, in the specification's order. Any other path or tool is free."""


def for_zones(key: str, zones: int) -> str:
    """Return the key of a price that is paid once for each of several zones."""
    return f"{key}*{zones}"


@lru_cache(maxsize=256)
def price_of(key: str) -> Endpoint:
    """Return the endpoint of a key; a key of `for_zones` has the price of all (25 cost 0.25 USD). Raises KeyError."""
    name, _, zones = key.partition("*")
    endpoint = PRICES[name]
    return replace(endpoint, price=str(Decimal(endpoint.price) * int(zones))) if zones else endpoint


def units_of(key: str) -> int:
    """Return a price in USDC's smallest units: 0.002 USD is 2000. Raises KeyError."""
    return int(Decimal(price_of(key).price).scaleb(USDC_DECIMALS))
