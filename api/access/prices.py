"""What a call costs, by the table of endpoints: offers and payments read it here.

How a payment is asked for and taken: `api.access.x402.server`. A key's calls cost nothing up to its quota.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from api.endpoints.table import ENDPOINTS

USDC_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Price:
    """One paid endpoint: `usd` a call, as the specification writes it, paid in USDC."""

    key: str
    path: str
    """The path template, as in `/v1/latest/{zone}`."""
    usd: str
    title: str
    """What a buyer gets, in one line; facilitators refuse more than 500 characters."""

    @property
    def units(self) -> int:
        """Return the price in USDC's smallest units: 0.002 USD are 2000."""
        return int(Decimal(self.usd).scaleb(USDC_DECIMALS))


PRICES: dict[str, Price] = {e.id: Price(e.id, e.path, e.price, e.offer) for e in ENDPOINTS.values() if e.paid}
"""By operationId, in the specification's order. A path or tool that is not here is free."""


def for_zones(key: str, zones: int) -> str:
    """Return the key of a price that is paid once for each of some zones."""
    return f"{key}*{zones}"


def price_key(key: str) -> str:
    """Return the key in `PRICES`, without the number of zones."""
    return key.partition("*")[0]


@lru_cache(maxsize=256)
def price_of(key: str) -> Price:
    """Return a price by its key, or by one of `for_zones`: 25 zones, which is all, cost 0.25 USD. Raises KeyError."""
    name, _, zones = key.partition("*")
    price = PRICES[name]
    return replace(price, usd=str(Decimal(price.usd) * int(zones))) if zones else price
