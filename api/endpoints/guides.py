"""The pages of the folder `docs` that the service shows, by what a reader wants, and the files that go with them."""

from __future__ import annotations

from collections.abc import Mapping

GUIDES: Mapping[str, Mapping[str, str]] = {
    "Use it": {
        "api": "Calling the API",
        "home-assistant": "Home Assistant",
        "evcc": "evcc",
        "grafana": "Grafana",
        "pipelines": "dlt and n8n",
        "sql": "SQL, pandas and polars over the files",
        "mcp": "The MCP server",
        "bulk": "Month files",
        "changes": "How to follow what changes",
        "corrections": "Corrected prices",
        "webhooks": "How to be told",
        "map": "The map, and programs that open its layers",
    },
    "What the figures mean": {
        "data": "What each metric and zone is",
        "forecasts": "Publishers' forecasts",
        "brief": "The method of the brief",
        "windows": "The method of windows",
        "statistics": "The method of statistics",
        "records": "The method of records",
        "publishers": "How publishers are measured",
        "feeds": "Feeds: where each figure comes from",
    },
    "Run it": {
        "operating": "Operating one machine",
        "fleet": "A public service, a bucket, a fleet",
        "payments": "Payments",
        "architecture": "Architecture",
        "decisions": "Decisions",
        "adding-a-source": "Adding a source, a zone, a metric",
        "benchmarks": "Benchmarks",
    },
}
DOC_PAGES: Mapping[str, str] = {page: title for pages in GUIDES.values() for page, title in pages.items()}
"""Every page with its title."""
EXAMPLES: Mapping[str, str] = {
    "evcc.yaml": "evcc",
    "evcc-template.yaml": "evcc",
    "grafana.json": "grafana",
    "home-assistant.yaml": "home-assistant",
    "n8n.json": "pipelines",
}
"""The files of `docs/examples`, each with the page that explains it."""
