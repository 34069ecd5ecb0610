"""The reference page at `/docs`: the OpenAPI document in the order in which readers need it, with guides and zones.

What is one resource is one entry: its formats and older addresses are listed in it. Each operation is called in curl,
Python, TypeScript, R and SQL (DuckDB): paid calls are samples, so that what is copied runs as it is, and keys are read
from the environment variable `EMDS_KEY`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from markupsafe import Markup

from api.endpoints.endpoint import Endpoint
from api.endpoints.guides import DOC_PAGES, EXAMPLES, FOLDER, GUIDES
from api.endpoints.table import ENDPOINTS
from api.openapi.document import BODIES, FEATURES
from api.pages import html
from api.settings import Settings
from warehouse.market import clock
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
LANGUAGES: Mapping[str, str] = {
    "curl": "curl",
    "python": "Python",
    "typescript": "TypeScript",
    "r": "R",
    "sql": "SQL (DuckDB)",
}
_READERS = {
    "application/vnd.apache.parquet": "read_parquet",
    "text/csv": "read_csv",
    "json": "read_json",
    "text": "read_text",
    "bytes": "read_blob",
}
"""Functions of DuckDB, by media type or kind."""


def render(settings: Settings, api: Json) -> str:
    """The reference page of an OpenAPI document, one file that works offline."""
    samples = {e.id: in_each_language(e, settings.base_url + example_path(e)) for e in ENDPOINTS.values()}
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
        languages=LANGUAGES,
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


def example_path(endpoint: Endpoint) -> str:
    """A path that can be called as it is, but for the ids of webhooks and features."""
    zone = "GB" if "GB" in endpoint.zones else (endpoint.zones or ("",))[0]
    words = {
        "zone": "DE-LU" if "{month}" in endpoint.path else zone,  # tomorrow's auction is known: no month is empty
        "kind": "unknown-zone",
        "page": "brief",
        "file": "evcc.yaml",
        "metric": "price",
        "month": clock.month_of(clock.now()),
    }
    path = endpoint.path
    for name, word in words.items():
        path = path.replace(f"{{{name}}}", word)
    return path


def example_call(endpoint: Endpoint) -> str:
    """Such a path with what its query must hold."""
    needed = [f"{name}={','.join(own.example)}" for name, own in endpoint.parameters.items() if own.required]
    return _with(example_path(endpoint), needed)


def in_each_language(endpoint: Endpoint, address: str) -> dict[str, str]:
    """The call by language; SQL can neither post nor delete. `address` has the path's variables filled in."""
    url = address.replace("{webhook}", "wh_0123456789abcdef01234567")
    if "{feature}" in url:
        url = url.replace("{feature}", FEATURES[endpoint.path.split("/")[4]])
    query, media = _query(endpoint), endpoint.media[0]
    is_table = "text/csv" in endpoint.media and "time" in endpoint.parameters
    kind = "json" if media.endswith("json") else "text" if media.startswith("text/") else "bytes"
    call = {
        "method": endpoint.method,
        "url": _with(url, query),
        "table": _with(url, [*query, "format=csv", "time=utc"]) if is_table else "",
        "body": orjson.dumps(BODIES[endpoint.body]).decode() if endpoint.body else "",
        "key": endpoint.keyed or endpoint.token,
        "kind": kind if endpoint.answer else "",
        "reader": _READERS["text/csv"] if is_table else _READERS.get(media) or _READERS[kind],
    }
    languages = [name for name in LANGUAGES if name != "sql" or endpoint.method == "GET"]
    return {language: html.render("code_samples.txt", language=language, **call) for language in languages}


def _query(endpoint: Endpoint) -> list[str]:
    """What is asked for: zones that publish the metric, a token, a sample of what is paid."""
    query = []
    if endpoint.answer.endswith("OfZones"):
        zones = endpoint.parameters["zones"]
        both = {"GB", "FR"} <= set(zones.schema["items"]["enum"])
        query.append(f"zones={'GB,FR' if both else ','.join(zones.example)}")
    query += ["token=TOKEN"] if "token" in endpoint.parameters else []
    return [*query, "sample=true"] if endpoint.paid else query


def _with(url: str, query: list[str]) -> str:
    return f"{url}?{'&'.join(query)}" if query else url
