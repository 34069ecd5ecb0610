"""A call of each operation in curl, Python, TypeScript, R and SQL (DuckDB), as the reference page shows it.

Paid calls are samples, so that what is copied runs as it is. Keys are read from the environment variable `EMDS_KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from api.endpoints.endpoint import Endpoint
from api.openapi.document import BODIES, FEATURES
from api.pages import html
from warehouse.market import clock

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
