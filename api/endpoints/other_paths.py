"""Explain paths that clients know from other services by the paths of this service."""

from __future__ import annotations

from warehouse.errors import UnknownZone
from warehouse.market.zones import find_zone

_SERIES_WITH = {
    "forecast": "kind=forecast",
    "forecasts": "kind=forecast",
    "history": "start=-7d",
    "historical": "start=-7d",
    "statistics": "stats=true",
    "stats": "stats=true",
    "day-ahead": "market=day_ahead",
}
"""Paths of other services that are parameters of a series here, as a query."""
_OTHER = {
    "/v1": "The series are listed at /catalog and every path is described at /docs; /v1/price/GB is one of them",
    "/docs": "The documentation is at /docs",
    "/v1/docs": "The documentation is at /docs",
    "/api": "Paths begin with /v1, such as /v1/price/GB",
    "/v1/catalog": "The catalogue is at /catalog",
    "/v1/openapi.json": "The OpenAPI document is at /openapi.json",
    "/v1/mcp": "The MCP server is at /mcp",
}


def explain_path(path: str) -> str:
    """Return a sentence with the alternative to a path that does not exist; empty if there is no known alternative."""
    plain = path.lower().replace("_", "-").rstrip("/")
    if plain in _OTHER:
        return f" {_OTHER[plain]}."
    version, _, rest = plain.removeprefix("/").partition("/")
    word, _, name = rest.partition("/")
    if version != "v1" or word not in _SERIES_WITH:
        return ""
    try:
        zone = find_zone(name)
    except UnknownZone:
        zone = "GB"
    metric = "demand" if word.startswith("forecast") else "price"
    return f" Send {_SERIES_WITH[word]} to a series, such as /v1/{metric}/{zone}?{_SERIES_WITH[word]}."
