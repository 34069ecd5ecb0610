"""The discovery extension of an offer: how a machine calls the path, with an example that works as it stands.

https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md: `queryParams` and `pathParams` hold
example values, `routeTemplate` is the catalogue's key. Clients echo all of it in their payment's header, so it is kept
short.
"""

from __future__ import annotations

import re
from typing import Any

from api.access.prices import price_key, price_of

SERVICE_NAME = "Electricity Market Data Service"
TAGS = ("electricity", "energy", "prices", "carbon intensity", "grid")
"""At most five, of at most 32 characters, as the service's name."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MOMENT = {"type": "string", "description": "Unix seconds or RFC 3339"}
_QUERY_SCHEMA: dict[str, Any] = {
    "start": _MOMENT,
    "end": _MOMENT,
    "limit": {"type": "string", "description": "1 to 5000 rows"},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "format": {"type": "string", "enum": ["json", "csv", "parquet", "arrow"]},
}
_ZONES_SCHEMA = {"type": "string", "description": "zone ids with commas, or `all`"}
_SERIES_QUERY = {"limit": "48", "order": "desc"}
_WINDOWS_QUERY = {"hours": "3", "kind": "lowest"}
_WINDOWS_SCHEMA: dict[str, Any] = {
    "hours": {"type": "string", "description": "length of the block, `3` or `1.5`"},
    "within": {"type": "string", "description": "hours ahead, `24h`"},
    "kind": {"type": "string", "enum": ["lowest", "highest"]},
}
_PART = re.compile(r"{(\w+)}")
_PARTS = {"zone": "a zone of /v1/zones", "metric": "`price`, `demand` ...", "month": "UTC month of /v1/bulk, `2026-11`"}
_OF = {"attribution": "Elexon Limited", "license": "BMRS data licence"}


def _series(metric: str, unit: str, value: float, **more: str) -> dict[str, Any]:
    row = {**more, "ts": 1767225600, "value": value, "unit": unit, "resolution": "30m"}
    window = {"start": 1767225600, "end": 1767227400, "count": 1, "truncated": False}
    return {"zone": "GB", "metric": metric, **window, **_OF, "data": [row]}


_VALUE = {"value": 71.5, "unit": "GBP/MWh", "ts": 1767225600, "resolution": "30m"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "snapshot": {"zones": {"GB": {"metrics": {"price": _VALUE}, **_OF}}},
    "brief": {
        "zone": "GB",
        "current": {"price": _VALUE},
        "context": {"price": {"percentile": 62}},
        "summary": "Price 71.5 GBP/MWh.",
        **_OF,
    },
    "latest": {"zone": "GB", "metrics": {"price": _VALUE}, **_OF},
    "demand": _series("demand", "MW", 28450.0),
    "generation": _series("generation", "%", 31.4, fuel="wind"),
    "price": _series("price", "GBP/MWh", 71.5),
    "carbon-intensity": _series("carbon_intensity", "gCO2/kWh", 142.0),
    "interchange": _series("interchange", "MW", 2310.0),
    "windows": {"zone": "FR", "metric": "price", "kind": "lowest", "available": True},
    "bulk-file": {},
    "capacity": {**_series("capacity", "MW", 9800.0, fuel="nuclear"), "zone": "FR"},
}
EXAMPLES |= {
    f"{name}-zones": {
        "zones": [EXAMPLES[name]["zone"]],
        "metric": EXAMPLES[name]["metric"],
        "attribution": {EXAMPLES[name]["zone"]: _OF["attribution"]},
        "data": [{"zone": EXAMPLES[name]["zone"], **EXAMPLES[name]["data"][0]}],
    }
    for name in ("demand", "generation", "price", "carbon-intensity", "interchange", "capacity")
}
"""The shape of each answer, cut to a row: members and types are the answer's own, figures and attribution vary."""


def request_of(price: str, path: str) -> dict[str, Any]:
    """How to call a path, as a request that can be sent: `input` of the extension and of version 1's `outputSchema`."""
    described: dict[str, Any] = {"type": "http", "method": "GET"}
    example, _ = _query(price)
    if example:
        described["queryParams"] = example
    if named := _PART.findall(price_of(price).path):
        match = re.fullmatch(_PART.sub("([^/]+)", price_of(price).path), path)
        described["pathParams"] = dict(zip(named, match.groups() if match else (), strict=False))
    return described


def output_of(price: str) -> dict[str, Any]:
    """What comes back."""
    example = EXAMPLES.get(price_key(price))
    if price == "bulk-file":
        return {"type": "parquet"}
    return {"type": "json", "example": example} if example else {"type": "json"}


def _query(price: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Example values of the query, and the properties of their schema."""
    if price == "windows":
        return _WINDOWS_QUERY, _WINDOWS_SCHEMA
    if price_key(price).endswith("-zones"):
        zone = EXAMPLES[price_key(price)]["zones"][0]
        return {"zones": zone, **_SERIES_QUERY}, {"zones": _ZONES_SCHEMA, **_QUERY_SCHEMA}
    return (_SERIES_QUERY, _QUERY_SCHEMA) if "data" in EXAMPLES.get(price_key(price), {}) else ({}, {})


def extension(price: str, path: str) -> dict[str, Any]:
    """`extensions` of an offer."""
    info = {"input": request_of(price, path), "output": output_of(price)}
    declared: dict[str, Any] = {"info": info, "schema": _schema(price)}
    template = price_of(price).path
    if "{" in template:
        declared["routeTemplate"] = _PART.sub(r":\1", template)
    return {"bazaar": declared}


def _schema(price: str) -> dict[str, Any]:
    """The JSON Schema of `info`."""
    fields: dict[str, Any] = {
        "type": {"type": "string", "const": "http"},
        "method": {"type": "string", "enum": ["GET"]},
    }
    _, properties = _query(price)
    if properties:
        fields["queryParams"] = {"type": "object", "properties": properties}
    if named := _PART.findall(price_of(price).path):
        properties = {name: {"type": "string", "description": _PARTS[name]} for name in named}
        fields["pathParams"] = {"type": "object", "properties": properties, "required": named}
    given = {"type": "object", "properties": fields, "required": ["type", "method"], "additionalProperties": False}
    output = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "example": {"type": "object"}},
        "required": ["type"],
    }
    parts = {"input": given, "output": output}
    return {"$schema": _DIALECT, "type": "object", "properties": parts, "required": ["input"]}
