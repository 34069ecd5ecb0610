"""The reference page at `/docs`: the OpenAPI document in the order in which readers need it, with guides and zones.

What is one resource is one entry: its formats and older addresses are listed in it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markupsafe import Markup

from api.endpoints.guides import DOC_PAGES, EXAMPLES, FOLDER, GUIDES
from api.endpoints.table import ENDPOINTS
from api.pages import code_samples, html
from api.pages.code_samples import example_path
from api.settings import Settings
from warehouse.market.zones import ZONES

Json = dict[str, Any]
_FIRST = ("price", "demand", "brief", "latest", "windows")
# In this order; an operation stands in the first group whose pattern its tag and path fit.
_GROUPS = (
    ("Data", "Prices, demand and what follows from them, of one zone.", r"(Now|Series) .*{zone}"),
    ("Several zones", "The same, of many zones in one answer.", r"Now|Series"),
    ("Files", "History by the month.", r"\w+ /v1/bulk"),
    (
        "Map layers",
        "Zones, lines and plants; every format of a layer is one entry.",
        r"\w+ /v1/geo/(?!collections|conformance)",
    ),
    ("OGC API Features", "The layers as QGIS and ArcGIS add them.", r"\w+ .*/geo"),
    ("Zones and freshness", "What there is, how fresh it is, and what changed.", "Free"),
    ("Keys", "Free API keys.", "Keys"),
    ("Webhooks", "Being told instead of asking.", "Webhooks"),
    ("About this service", "Descriptions of it for programs and people.", "Discovery"),
    ("Operation", "For operators.", "Service"),
)


def render(settings: Settings, api: Json) -> str:
    """The reference page of an OpenAPI document, one file that works offline."""
    samples = {e.id: code_samples.in_each_language(e, settings.base_url + example_path(e)) for e in ENDPOINTS.values()}
    groups: dict[str, list[Json]] = {title: [] for title, _, _ in _GROUPS}
    for entry in _entries(api):
        place = f"{entry['op']['tags'][0]} {entry['path']}"
        groups[next(title for title, _, pattern in _GROUPS if re.match(pattern, place))].append(entry)
    groups["Data"].sort(key=lambda entry: _FIRST.index(entry["id"]) if entry["id"] in _FIRST else len(_FIRST))
    described = [(title, words, groups[title]) for title, words, _ in _GROUPS if groups[title]]
    return html.render(
        "docs.html",
        api=api,
        parameter=lambda parameter: _resolved(api, parameter),
        groups=described,
        everywhere=_everywhere(api),
        samples=samples,
        languages=code_samples.LANGUAGES,
        guides=GUIDES,
        examples=EXAMPLES,
        headings=_headings(),
        zones=list(ZONES.values()),
        script=Markup(html.SCRIPT),  # noqa: S704 our own file
        head=html.head(settings, "/docs"),
    )


def _entries(api: Json) -> list[Json]:
    """The operations, those that give one resource in another format or at another address put together."""
    entries: dict[tuple[str, str], Json] = {}
    for path, methods in api["paths"].items():
        for method, op in methods.items():
            stem = path.rpartition(".")[0] or path  # of a geo layer, whatever the format
            is_layer = path.startswith("/v1/geo/") and stem in api["paths"]
            resource = (method, stem if is_layer else f"{op['tags'][0]}: {op['summary']}")
            entry = {"path": path, "method": method, "op": op, "id": op["operationId"], "also": []}
            if entries.setdefault(resource, entry) is not entry:
                entries[resource]["also"].append((op["operationId"], path))
    return list(entries.values())


def _resolved(api: Json, parameter: Json) -> Json:
    """A parameter that several operations share is only named by them."""
    return api["components"]["parameters"][parameter["$ref"].rpartition("/")[2]] if "$ref" in parameter else parameter


def _everywhere(api: Json) -> list[str]:
    """The refusals that every operation for callers may give: said once."""
    operations = [op for methods in api["paths"].values() for op in methods.values() if "Service" not in op["tags"]]
    shared = set.intersection(*({status for status, a in op["responses"].items() if "$ref" in a} for op in operations))
    return sorted(shared)


@cache
def _headings() -> dict[str, str]:
    """What a page is about, for the search: its headings."""
    lines = {page: (FOLDER / f"{page}.md").read_text().splitlines() for page in DOC_PAGES}
    return {page: " ".join(line.lstrip("# ") for line in lines[page] if line[:1] == "#") for page in DOC_PAGES}
