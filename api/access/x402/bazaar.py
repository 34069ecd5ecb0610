"""The discovery extension of an offer: how a machine calls the path, with an example that works as it stands.

https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md: `queryParams` and `pathParams` hold
example values, `routeTemplate` is the catalogue's key. Clients echo all of it in their payment's header, so it is kept
short.
"""

from __future__ import annotations

import re
from typing import Any

from api.access.prices import price_key, price_of
from warehouse.market.metrics import BY_FUEL, BY_PATH, METRICS
from warehouse.market.zones import ZONES, zones_with

SERVICE_NAME = "Electricity Market Data Service"
TAGS = ("electricity", "energy", "prices", "carbon intensity", "grid")
"""At most five, of at most 32 characters, as the service's name."""
_PART = re.compile(r"{(\w+)}")
_PARTS = {"zone": "a zone of /v1/zones", "metric": "`price`, `demand` ...", "month": "UTC month of /v1/bulk, `2026-11`"}
_ORIGIN = {"attribution": "Elexon Limited", "license": "BMRS data licence"}
_VALUE = {"value": 71.5, "unit": "GBP/MWh", "ts": 1767225600, "resolution": "30m"}
_DOCUMENTS: dict[str, dict[str, Any]] = {
    "snapshot": {"zones": {"GB": {"metrics": {"price": _VALUE}, **_ORIGIN}}},
    "brief": {
        "zone": "GB",
        "current": {"price": _VALUE},
        "context": {"price": {"percentile": 62}},
        "summary": "Price 71.5 GBP/MWh.",
        **_ORIGIN,
    },
    "latest": {"zone": "GB", "metrics": {"price": _VALUE}, **_ORIGIN},
    "records": {
        "zone": "GB",
        "metric": "price",
        "all_time": {"since": "2026-01-01", "unit": "GBP/MWh", "highest": {"value": 412.5, "ts": 1767225600}},
        **_ORIGIN,
    },
    "windows": {"zone": "FR", "metric": "price", "kind": "lowest", "available": True},
}
_MOMENT = {"type": "string", "description": "Unix seconds or ISO 8601"}
_QUERY_SCHEMA: dict[str, Any] = {
    "start": _MOMENT,
    "end": _MOMENT,
    "limit": {"type": "string", "description": "1 to 5000 rows"},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "format": {"type": "string", "enum": ["json", "csv", "parquet", "arrow"]},
}
_ZONES_SCHEMA = {"type": "string", "description": "zone ids with commas, or `all`"}
_WINDOWS_SCHEMA: dict[str, Any] = {
    "hours": {"type": "string", "description": "length of the block, `3` or `1.5`"},
    "within": {"type": "string", "description": "hours ahead, `24h`"},
    "kind": {"type": "string", "enum": ["lowest", "highest"]},
}
_OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "example": {"type": "object"}},
    "required": ["type"],
}


def request_of(price: str, path: str) -> dict[str, Any]:
    """Return how to call a path, as a request that can be sent: `input` of both protocol versions."""
    described: dict[str, Any] = {"type": "http", "method": "GET"}
    if example := _query(price)[0]:
        described["queryParams"] = example
    template = price_of(price).path
    if named := _PART.findall(template):
        match = re.fullmatch(_PART.sub("([^/]+)", template), path)
        described["pathParams"] = dict(zip(named, match.groups() if match else (), strict=False))
    return described


def output_of(price: str) -> dict[str, Any]:
    """Return the shape of the answer, cut to a row: members and types are its own, figures and attribution vary."""
    if price_key(price) == "bulk-file":
        return {"type": "parquet"}
    name = price_key(price)
    return {"type": "json", "example": _DOCUMENTS.get(name) or _series(name.removesuffix("-zones"), "-zones" in name)}


def extension(price: str, path: str) -> dict[str, Any]:
    """Return `extensions` of an offer."""
    info = {"input": request_of(price, path), "output": output_of(price)}
    declared: dict[str, Any] = {"info": info, "schema": _schema(price)}
    template = price_of(price).path
    if "{" in template:
        declared["routeTemplate"] = _PART.sub(r":\1", template)
    return {"bazaar": declared}


def _series(name: str, several: bool) -> dict[str, Any]:
    metric, zone = BY_PATH[name], _example_zone(name)
    of, fuel = METRICS[metric], {"fuel": "wind"} if metric in BY_FUEL else {}
    value = of.path.example if of.path is not None else None
    row = {**fuel, "ts": 1767225600, "value": value, "unit": of.unit(ZONES[zone]), "resolution": "30m"}
    if several:
        attribution = {zone: _ORIGIN["attribution"]}
        return {"zones": [zone], "metric": metric, "attribution": attribution, "data": [{"zone": zone, **row}]}
    window = {"start": 1767225600, "end": 1767227400, "count": 1, "truncated": False}
    return {"zone": zone, "metric": metric, **window, **_ORIGIN, "data": [row]}


def _example_zone(name: str) -> str:
    """Return a zone that publishes the metric of a series path: Great Britain where it does."""
    zones = zones_with(BY_PATH[name])
    return "GB" if "GB" in zones else zones[0]


def _query(price: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return example values of the query, and the properties of their schema."""
    name = price_key(price)
    if name == "windows":
        return {"hours": "3", "kind": "lowest"}, _WINDOWS_SCHEMA
    rows = {"limit": "48", "order": "desc"}
    if name.endswith("-zones"):
        return {"zones": _example_zone(name.removesuffix("-zones")), **rows}, {"zones": _ZONES_SCHEMA, **_QUERY_SCHEMA}
    return (rows, _QUERY_SCHEMA) if name in BY_PATH else ({}, {})


def _schema(price: str) -> dict[str, Any]:
    """Return the JSON Schema of `info`."""
    fields: dict[str, Any] = {
        "type": {"type": "string", "const": "http"},
        "method": {"type": "string", "enum": ["GET"]},
    }
    if properties := _query(price)[1]:
        fields["queryParams"] = {"type": "object", "properties": properties}
    if named := _PART.findall(price_of(price).path):
        properties = {name: {"type": "string", "description": _PARTS[name]} for name in named}
        fields["pathParams"] = {"type": "object", "properties": properties, "required": named}
    call = {"type": "object", "properties": fields, "required": ["type", "method"], "additionalProperties": False}
    parts = {"input": call, "output": _OUTPUT_SCHEMA}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "type": "object", "properties": parts, "required": ["input"]}
