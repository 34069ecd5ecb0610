"""What the MCP server gives to read without a tool: zones, the catalogue, the pages of the methods. All of it free."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from api.documents.catalogue import SERIES, Catalogue, zone_list
from api.endpoints.table import DOC_PAGES
from api.mcp.answers import with_times
from api.mcp.arguments import metric_name, zone_id
from warehouse.zones import ZONES

_DOCS = Path(__file__).parents[2] / "docs"
_JSON, _MARKDOWN = "application/json", "text/markdown"
_ZONES, _CATALOGUE, _PAGE = "emds://zones", "emds://catalogue", "emds://docs/"

LISTED: tuple[Mapping[str, str], ...] = (
    {
        "uri": _ZONES,
        "name": "zones",
        "title": "Grid zones",
        "description": "The 25 zones with name, clocks, currency, licence, attribution and metrics.",
        "mimeType": _JSON,
    },
    {
        "uri": _CATALOGUE,
        "name": "catalogue",
        "title": "Catalogue",
        "description": "Every zone's metrics in short: unit, resolution, sources, first and last interval held, rows.",
        "mimeType": _JSON,
    },
    *(
        {
            "uri": f"{_PAGE}{page}",
            "name": f"docs-{page}",
            "title": title,
            "description": f"{title}: the page /docs/{page} of the service.",
            "mimeType": _MARKDOWN,
        }
        for page, title in DOC_PAGES.items()
    ),
)
"""In the order in which resources/list gives them."""

TEMPLATES: tuple[Mapping[str, str], ...] = (
    {
        "uriTemplate": "emds://catalogue/{zone}/{metric}",
        "name": "series",
        "title": "One series in the catalogue",
        "description": "What is held of one metric of one zone: unit, resolution, hub or market, feeds, licence, first "
        "and last interval, rows.",
        "mimeType": _JSON,
    },
)


class UnknownResource(Exception):
    """No resource has that address."""


def read(catalogue: Catalogue, uri: str) -> dict[str, str]:
    """The contents of a resource. Raises UnknownResource, StorageError."""
    if uri == _ZONES:
        return _contents(uri, _zones(catalogue))
    if uri == _CATALOGUE:
        return _contents(uri, {zone: _series_of(catalogue, zone) for zone in ZONES})
    page = uri.removeprefix(_PAGE)
    if page != uri and page in DOC_PAGES:
        return {"uri": uri, "mimeType": _MARKDOWN, "text": (_DOCS / f"{page}.md").read_text()}
    return _contents(uri, _series(catalogue, uri.removeprefix(f"{_CATALOGUE}/").split("/")))


def with_metrics(stated: dict[str, Any]) -> dict[str, Any]:
    """The zone list with each zone's metrics, which the REST list leaves to the catalogue."""
    for zone in stated["zones"]:
        zone["metrics"] = [metric.value for metric in SERIES.values() if metric in ZONES[zone["id"]].metrics]
    return stated


def _zones(catalogue: Catalogue) -> dict[str, Any]:
    return with_metrics(zone_list(catalogue))


def _series_of(catalogue: Catalogue, zone: str) -> dict[str, Any]:
    """A zone's metrics with what tells them apart; the whole entries are as long as a book."""
    wanted = ("unit", "resolution", "first", "last", "rows")
    metrics = catalogue.zones[zone]["metrics"]
    return {
        name: {
            **{member: entry[member] for member in wanted if member in entry},
            "sources": list(dict.fromkeys(feed["source"] for feed in entry["feeds"])),
        }
        for name, entry in metrics.items()
    }


def _series(catalogue: Catalogue, parts: list[str]) -> Mapping[str, Any]:
    """A whole entry of the catalogue. Raises UnknownResource."""
    try:
        zone, name = parts
        zone, metric = zone_id(zone), SERIES[metric_name(name)]
    except ValueError:
        raise UnknownResource from None
    entry = catalogue.entry(zone, metric.value)
    if not entry:
        raise UnknownResource
    return {"zone": zone, "metric": metric.value, **entry}


def _contents(uri: str, stated: Any) -> dict[str, str]:
    timed = with_times(stated, frozenset({"first", "last"}))
    return {"uri": uri, "mimeType": _JSON, "text": orjson.dumps(timed).decode()}
