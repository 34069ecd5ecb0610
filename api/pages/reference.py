"""Render the reference at `/docs` from the OpenAPI document, in the order in which readers need it.

The page includes guides and zones. An entry is a resource and lists its formats and older URLs. Each operation is shown
in curl, Python, TypeScript, R and SQL (DuckDB). Paid calls are samples, so that the copied code runs unchanged. Keys
are read from the environment variable `EMDS_KEY`.
"""

from __future__ import annotations

from typing import Any

import orjson
from markupsafe import Markup

from api.endpoints.endpoint import Endpoint
from api.endpoints.guides import DOC_PAGES, EXAMPLES, FOLDER, GUIDES
from api.endpoints.table import ENDPOINTS
from api.openapi.document import BODIES, example_call
from api.openapi.responses import ANYWHERE
from api.pages import html
from api.settings import Settings
from warehouse.market.zones import ZONES

Json = dict[str, Any]
LANGUAGES = ("curl", "Python", "TypeScript", "R", "SQL (DuckDB)")


def render(settings: Settings, api: Json) -> str:
    """Return the reference page of an OpenAPI document, a single file that works offline."""
    entries = _entries(api)
    groups = {
        tag["name"]: (tag["description"], [entry for entry in entries if entry["op"]["tags"] == [tag["name"]]])
        for tag in api["tags"]
    }
    return html.render(
        "docs.html",
        api=api,
        takes_payments=bool(settings.pay_to),
        # Operations refer to shared parameters by name.
        parameter=lambda own: api["components"]["parameters"][own["$ref"].rpartition("/")[2]] if "$ref" in own else own,
        groups=groups,
        everywhere=[*map(str, ANYWHERE)],
        samples={e.id: in_each_language(e, settings.base_url) for e in ENDPOINTS.values()},
        guides=GUIDES,
        examples=EXAMPLES,
        headings=_headings(),
        zones=list(ZONES.values()),
        script=Markup(html.SCRIPT),  # noqa: S704  a file of this package
        head=html.head(settings, "/docs"),
    )


def _entries(api: Json) -> list[Json]:
    """Return the operations. Other formats and URLs of the same resource are merged into its entry."""
    entries: dict[tuple[str, str], Json] = {}
    for path, methods in api["paths"].items():
        for method, op in methods.items():
            stem = path.rpartition(".")[0] or path  # the path of a geo layer without its format
            is_layer = path.startswith("/v1/geo/") and stem in api["paths"]
            resource = (method, stem if is_layer else f"{op['tags'][0]}: {op['summary']}")
            entry = {"path": path, "method": method, "op": op, "id": op["operationId"], "also": []}
            if entries.setdefault(resource, entry) is not entry:
                entries[resource]["also"].append((op["operationId"], path))
    return list(entries.values())


def _headings() -> dict[str, str]:
    """Return the headings of each page, for the search."""
    lines = {page: (FOLDER / f"{page}.md").read_text().splitlines() for page in DOC_PAGES}
    return {page: " ".join(line.lstrip("# ") for line in lines[page] if line[:1] == "#") for page in DOC_PAGES}


def in_each_language(endpoint: Endpoint, base_url: str) -> dict[str, str]:
    """Return the call by language. SQL cannot post or delete."""
    media, more = endpoint.media[0], {"sample": "true"} if endpoint.paid else {}
    more |= {"token": "TOKEN"} if "token" in endpoint.parameters else {}
    is_table = "text/csv" in endpoint.media and "time" in endpoint.parameters
    kind = "json" if media.endswith("json") else "text" if media.startswith("text/") else "blob"
    call = {
        "method": endpoint.method,
        "url": base_url + example_call(endpoint, **more),
        "table": base_url + example_call(endpoint, **more, format="csv", time="utc") if is_table else "",
        "body": orjson.dumps(BODIES[endpoint.body]).decode() if endpoint.body else "",
        "key": endpoint.keyed or endpoint.token,
        "kind": kind if endpoint.answer else "",
        "duckdb": "csv" if is_table or media == "text/csv" else "parquet" if media.endswith("parquet") else kind,
    }
    languages = LANGUAGES if endpoint.method == "GET" else LANGUAGES[:-1]
    return {language: html.render("code_samples.txt", language=language, **call) for language in languages}
