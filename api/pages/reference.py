"""The reference page at `/docs`: the OpenAPI document in the order in which readers need it, with guides and zones.

What is one resource is one entry: its formats and older addresses are listed in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from api.endpoints.guides import EXAMPLES, GUIDES
from api.endpoints.table import ENDPOINTS
from api.pages import code_samples, html
from api.pages.code_samples import example_path
from api.settings import Settings
from warehouse.market.zones import ZONES

Json = dict[str, Any]
_FIRST = ("price", "demand", "brief", "latest", "windows")
_OGC = "/v1/geo/collections"


@dataclass(slots=True)
class Entry:
    """One resource: an operation, and others that give the same in another format or at another address."""

    path: str
    method: str
    op: Json
    also: list[tuple[str, str]] = field(default_factory=list)
    """operationId and path."""

    @property
    def id(self) -> str:
        return str(self.op["operationId"])


def _is(*tags: str) -> Callable[[Entry], bool]:
    return lambda entry: entry.op["tags"][0] in tags


def _is_layer(entry: Entry) -> bool:
    return entry.path.startswith("/v1/geo/") and not entry.path.startswith((_OGC, "/v1/geo/conformance"))


# In this order; an entry stands in the first group that it fits.
# fmt: off
_GROUPS: tuple[tuple[str, str, Callable[[Entry], bool]], ...] = (
    ("Data", "Prices, demand and what follows from them, of one zone.",
     lambda entry: _is("Now", "Series")(entry) and "{zone}" in entry.path),
    ("Several zones", "The same, of many zones in one answer.", _is("Now", "Series")),
    ("Files", "History by the month.", lambda entry: entry.path.startswith("/v1/bulk")),
    ("Map layers", "Zones, lines and plants; every format of a layer is one entry.", _is_layer),
    ("OGC API Features", "The layers as QGIS and ArcGIS add them.", lambda entry: "/geo" in entry.path),
    ("Zones and freshness", "What there is, how fresh it is, and what changed.", _is("Free")),
    ("Keys", "Free API keys.", _is("Keys")),
    ("Webhooks", "Being told instead of asking.", _is("Webhooks")),
    ("About this service", "Descriptions of it for programs and people.", _is("Discovery")),
    ("Operation", "For operators.", _is("Service")),
)
# fmt: on


def render(settings: Settings, api: Json) -> str:
    """The reference page of an OpenAPI document, one file that works offline."""
    samples = {e.id: code_samples.in_each_language(e, settings.base_url + example_path(e)) for e in ENDPOINTS.values()}
    groups: dict[str, list[Entry]] = {title: [] for title, _, _ in _GROUPS}
    for entry in _entries(api):
        groups[next(title for title, _, fits in _GROUPS if fits(entry))].append(entry)
    groups["Data"].sort(key=lambda entry: _FIRST.index(entry.id) if entry.id in _FIRST else len(_FIRST))
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


def _entries(api: Json) -> list[Entry]:
    """The operations, those of one resource put together."""
    entries: dict[tuple[str, str], Entry] = {}
    for path, methods in api["paths"].items():
        for method, op in methods.items():
            stem = path.rpartition(".")[0] or path  # of a geo layer, whatever the format
            is_layer = path.startswith("/v1/geo/") and stem in api["paths"]
            resource = (method, stem if is_layer else f"{op['tags'][0]}: {op['summary']}")
            if resource in entries:
                entries[resource].also.append((op["operationId"], path))
            else:
                entries[resource] = Entry(path, method, op)
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
    folder = Path(html.DOCS)
    pages = (page for pages in GUIDES.values() for page in pages)
    return {
        page: " ".join(
            line.lstrip("# ") for line in (folder / f"{page}.md").read_text().splitlines() if line[:1] == "#"
        )
        for page in pages
    }
