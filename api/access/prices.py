"""What a call costs: the one price table, from which offers, `/catalog`, OpenAPI and both `.well-known` documents come.

How a payment is asked for and taken: `api.access.x402.resource_server`. A key's calls cost nothing up to its quota.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

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
        """USDC's smallest units: 0.002 USD are 2000."""
        return int(Decimal(self.usd).scaleb(USDC_DECIMALS))


def _several(name: str, what: str) -> Price:
    return Price(
        f"{name}-zones", f"/v1/{name}", "0.01", f"{what} of several zones at once; the price is that of a zone"
    )


def _series(name: str, title: str) -> Price:
    return Price(name, f"/v1/{name}/{{zone}}", "0.01", title)


PRICES: dict[str, Price] = {
    price.key: price
    for price in (
        Price("snapshot", "/v1/map/snapshot", "0.002", "Latest electricity market values of all 25 zones"),
        Price(
            "brief",
            "/v1/brief/{zone}",
            "0.02",
            "One zone's market now, ranked against its last 30 days, with trend and summary",
        ),
        Price("latest", "/v1/latest/{zone}", "0.001", "One zone's latest electricity market values"),
        Price(
            "windows", "/v1/windows/{zone}", "0.005", "The cheapest or dearest hours of one zone's known prices ahead"
        ),
        Price(
            "bulk-file",
            "/v1/bulk/{metric}/{zone}/{month}.parquet",
            "0.02",
            "A month of one zone's series as a Parquet file",
        ),
        _series("demand", "Electricity demand of one zone, in MW"),
        _series("generation", "Electricity generation of one zone by fuel"),
        _series("price", "Wholesale electricity price of one zone, in local currency per MWh"),
        _series("carbon-intensity", "Carbon intensity of one zone's electricity, in gCO2/kWh"),
        _series("interchange", "Net electricity import of one zone, in MW"),
        _series("capacity", "Installed capacity of one zone by fuel and year, in MW"),
        _several("demand", "Electricity demand"),
        _several("generation", "Electricity generation by fuel"),
        _several("price", "Wholesale electricity price"),
        _several("carbon-intensity", "Carbon intensity of electricity"),
        _several("interchange", "Net electricity import"),
        _several("capacity", "Installed capacity by fuel and year"),
    )
}
"""By key, in the specification's order. A path or tool that is not here is free."""


def for_zones(key: str, zones: int) -> str:
    """The key of a price that is paid once for each of some zones."""
    return f"{key}*{zones}"


def price_key(key: str) -> str:
    """The key in `PRICES`, without the number of zones."""
    return key.partition("*")[0]


@lru_cache(maxsize=256)
def price_of(key: str) -> Price:
    """A price by its key, or by one of `for_zones`: 25 zones, which is all, cost 0.25 USD. Raises KeyError."""
    name, _, zones = key.partition("*")
    price = PRICES[name]
    return replace(price, usd=str(Decimal(price.usd) * int(zones))) if zones else price
