"""The body of `/catalog`: all that is held, and every path with its price."""

from __future__ import annotations

from typing import Any

from api.access.prices import PRICES
from api.documents.catalogue import Catalogue
from api.endpoints import ENDPOINTS, Endpoint


def listing(catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """All that is held, and every path with its price."""
    stated: dict[str, Any] = catalogue.document.json
    return {**stated, "endpoints": [_endpoint(endpoint, base_url) for endpoint in ENDPOINTS.values()]}


def _endpoint(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    described = {
        "id": endpoint.id,
        "method": endpoint.method,
        "path": endpoint.path,
        "url": base_url + endpoint.path,
        "summary": endpoint.summary,
        "access": _access(endpoint),
        "parameters": list(endpoint.parameters),
        "zones": list(endpoint.zones),
    }
    return {**described, "price_usd": PRICES[endpoint.id].usd} if endpoint.paid else described


def _access(endpoint: Endpoint) -> str:
    if endpoint.token:
        return "token"
    return "paid" if endpoint.paid else "key" if endpoint.keyed else "free"
