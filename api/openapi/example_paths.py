"""A path of each operation that can be called as it is, for examples and listings."""

from __future__ import annotations

from api.endpoints import Endpoint
from warehouse import clock


def example_path(endpoint: Endpoint) -> str:
    """A path that can be called as it is."""
    zone = "GB" if "GB" in endpoint.zones else (endpoint.zones or ("",))[0]
    words = {
        "zone": "DE-LU" if "{month}" in endpoint.path else zone,  # tomorrow's auction is known: no month is empty
        "kind": "unknown-zone",
        "metric": "price",
        "month": clock.month_of(clock.now()),
    }
    path = endpoint.path
    for name, word in words.items():
        path = path.replace(f"{{{name}}}", word)
    return path
