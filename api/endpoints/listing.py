"""The body of `/catalog`: all that is held, and every path with its price."""

from __future__ import annotations

from typing import Any

from api.documents.catalogue import Catalogue
from api.endpoints import ENDPOINTS, Endpoint


def listing(catalogue: Catalogue, base_url: str) -> dict[str, Any]:
    """All that is held, and every path with its price."""
    held: dict[str, Any] = catalogue.document.json
    return {**held, "endpoints": [_entry(endpoint, base_url) for endpoint in ENDPOINTS.values()]}


def _entry(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    entry = {
        "id": endpoint.id,
        "method": endpoint.method,
        "path": endpoint.path,
        "url": base_url + endpoint.path,
        "summary": endpoint.summary,
        "access": _access(endpoint),
        "parameters": list(endpoint.parameters),
        "zones": list(endpoint.zones),
    }
    return {**entry, "price_usd": endpoint.price} if endpoint.paid else entry


def _access(endpoint: Endpoint) -> str:
    if endpoint.token:
        return "token"
    return "paid" if endpoint.paid else "key" if endpoint.keyed else "free"
