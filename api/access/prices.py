"""What a call costs, by the table of endpoints: offers and payments read it here.

How a payment is asked for and taken: `api.access.x402.server`. A key's calls cost nothing up to its quota.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from api.endpoints.endpoint import Endpoint
from api.endpoints.table import ENDPOINTS

USDC_DECIMALS = 6
PRICES: dict[str, Endpoint] = {endpoint.id: endpoint for endpoint in ENDPOINTS.values() if endpoint.paid}
"""What is paid for, by operationId, in the specification's order. A path or tool that is not here is free."""


def for_zones(key: str, zones: int) -> str:
    """Return the key of a price that is paid once for each of some zones."""
    return f"{key}*{zones}"


@lru_cache(maxsize=256)
def price_of(key: str) -> Endpoint:
    """Return what a key names, or one of `for_zones` at the price of all: 25 zones cost 0.25 USD. Raises KeyError."""
    name, _, zones = key.partition("*")
    endpoint = PRICES[name]
    return replace(endpoint, price=str(Decimal(endpoint.price) * int(zones))) if zones else endpoint


def units_of(key: str) -> int:
    """Return a price in USDC's smallest units: 0.002 USD are 2000. Raises KeyError."""
    return int(Decimal(price_of(key).price).scaleb(USDC_DECIMALS))
