"""Generate `/openapi.json` (OpenAPI 3.1) from the tables of endpoints, parameters, schemas, problems and prices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from api.access.prices import for_zones, price_of
from api.documents.zone_figure import TITLES
from api.endpoints import query_parameters as query
from api.endpoints.endpoint import Endpoint
from api.endpoints.guides import DOC_PAGES, EXAMPLES
from api.endpoints.query_parameters import METRICS
from api.endpoints.table import ENDPOINTS
from api.geo.parameters import LIMIT
from api.http.parameters import Parameter, choice, text
from api.http.problems import KINDS
from api.http.times import FORMS
from api.openapi import responses
from api.openapi.members import ref
from api.openapi.schemas import SCHEMAS
from api.settings import Settings
from warehouse.market import clock
from warehouse.market.zones import ZONES
from warehouse.version import __version__

Json = dict[str, Any]

_DESCRIPTION = f"""\
Real-time and historical electricity market data for {len(ZONES)} grid zones in the US, Great Britain, Australia
and Europe.

**Access.** The zone list, freshness and geography are free. Everything else requires a free API key (`POST
/v1/keys/signup`, 500 requests per day, `Authorization: Bearer <key>`){{payment}} or `sample=true`, which returns a
truncated result without credentials.

**Times** in responses are Unix seconds UTC. `ts` is the start of an interval. Windows are half-open. A missing interval
has no row. You can send {FORMS}. For civil times at clock changes, see /docs/data.

**Caching.** Every response that caches can store has a strong `ETag`. A request with `If-None-Match` returns 304 if
nothing changed, which is not counted or charged. The default window of a series ends now, so its response changes every
second: send `start` and `end` if you rely on 304. HEAD works wherever GET does. Bodies are compressed with zstd, br or
gzip according to `Accept-Encoding`.

**More.** AI agents can read the same data through MCP at `/mcp`. The map of all zones is at `/`.

**Errors** are `application/problem+json` (RFC 9457), except 402, whose body is defined by x402. Errors are never
counted or charged.
"""

_PAYMENT = ", a payment per call (x402, USDC on Base),"
_LICENCE = "Apache-2.0 (the service; each response states the licence of its data)"
BODIES: Mapping[str, Json] = {
    "SignUp": {"email": "someone@example.org"},
    "Subscription": {"url": "https://example.org/emds", "events": ["changes"], "zones": ["GB"]},
}
_SECURITY_SCHEMES: Json = {
    "apiKey": {"type": "http", "scheme": "bearer", "description": "A free key from POST /v1/keys/signup."},
    "token": {"type": "http", "scheme": "bearer", "description": "The operator's EMDS_METRICS_TOKEN."},
    **{
        name: {"type": "apiKey", "in": "header", "name": header, "description": f"A signed payment, x402 version {n}."}
        for name, header, n in (("x402", "PAYMENT-SIGNATURE", 2), ("x402v1", "X-PAYMENT", 1))
    },
}
_SECURITY: Mapping[str, list[Json]] = {
    "free": [{}],
    "paid": [{"apiKey": []}, {"x402": []}, {"x402v1": []}, {}],
    "key": [{"apiKey": []}],
    "token": [{"token": []}],
}
TAGS = {
    "Now": "Current values and cheapest hours.",
    "Series": "Time series by metric and zone.",
    "Bulk": "Monthly files.",
    "Free": "Catalogue data, freshness, changes and map layers. No key needed.",
    "Keys": "Free API keys.",
    "Webhooks": "Notifications about changes.",
    "Discovery": "Machine-readable descriptions and documentation.",
    "Service": "Health checks and metrics for operators.",
}
"""The tags in the order in which readers need them."""


def document(settings: Settings, examples: Mapping[str, Any]) -> Json:
    """Return the whole description. `examples` has keys of operationId and media type (`price text/csv`), or `402`."""
    paths: dict[str, Json] = {}
    for endpoint in ENDPOINTS.values():
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint, examples)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Electricity Market Data Service",
            "version": __version__,
            "description": _DESCRIPTION.replace("{payment}", _PAYMENT if settings.pay_to else ""),
            "contact": {"name": "Operator", "url": contact(settings)},
            "license": {"name": _LICENCE, "identifier": "Apache-2.0"},
        },
        "servers": [{"url": settings.base_url}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            # QGIS looks for the limit here, and requests as many features per page as its maximum allows.
            "parameters": {"limit": _described(LIMIT, {})},
            "responses": responses.shared(settings.base_url, examples.get("402")),
            "headers": responses.HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def contact(settings: Settings) -> str:
    """Return a URI at which the operator can be contacted."""
    address = settings.contact or settings.base_url
    return f"mailto:{address}" if "@" in address and not address.startswith(("mailto:", "http")) else address


def operation(endpoint: Endpoint, examples: Mapping[str, Any]) -> Json:
    """Return the description of a method of a path."""
    described: Json = {
        "operationId": endpoint.id,
        "summary": endpoint.summary,
        "description": endpoint.description,
        "tags": [endpoint.tag],
        "parameters": [*_parameters(endpoint, examples.get(f"parameters of {endpoint.id}", {}))],
        "responses": responses.describe_responses(endpoint, examples),
        "security": _SECURITY[endpoint.access],
    }
    if endpoint.body:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": ref(endpoint.body), "example": BODIES[endpoint.body]}},
        }
    if endpoint.paid:
        described["x-payment-info"] = {"price": _price(endpoint), "protocols": [{"x402": {}}]}
    return described


def _price(endpoint: Endpoint) -> Json:
    """Return the price of a call. For several zones, it ranges from the price of a single zone to that of all zones."""
    if endpoint.answer.endswith("OfZones"):
        most = price_of(for_zones(endpoint.id, len(ZONES))).price
        return {"mode": "dynamic", "currency": "USD", "min": endpoint.price, "max": most}
    return {"mode": "fixed", "currency": "USD", "amount": endpoint.price}


_FEATURES = {"interconnectors": "gb-fr-ifa", "flows": "gb-fr-ifa", "plants": "eia-6099"}
"""A feature of each collection whose features are not zones."""
_PATH_PARAMETERS = {
    "metric": choice("metric", "Metric, spelled as in paths.", METRICS),
    "month": replace(query.MONTH, description="UTC month as `YYYY-MM`, one of those in `/v1/bulk`."),
    "feature": Parameter("feature", "Feature ID.", str, {"type": "string"}),
    "webhook": text(
        "webhook", "Webhook ID. The webhook must belong to the key.", "^wh_[0-9a-f]{24}$", str, f"wh_{'0' * 24}"
    ),
    "page": choice("page", "Documentation page.", DOC_PAGES),
    "file": choice("file", "Example file.", EXAMPLES),
    "kind": choice("kind", "Last part of an error `type`.", KINDS),
}


def path_parameters(endpoint: Endpoint) -> Iterator[Parameter]:
    """Yield the variable parts of a path, in order, with examples that can be called."""
    zone = "GB" if "GB" in endpoint.zones else next(iter(endpoint.zones), "")
    own_examples = {
        "zone": "DE-LU" if "{month}" in endpoint.path else zone,  # has rows of tomorrow, so that no month is empty
        "month": clock.month_of(clock.now()),
        "feature": next((own for layer, own in _FEATURES.items() if f"/{layer}/" in endpoint.path), "GB"),
    }
    for name in re.findall(r"{(\w+)}", endpoint.path):
        parameter = _PATH_PARAMETERS[name] if name != "zone" else choice("zone", "Zone ID.", endpoint.zones)
        if name == "metric" and endpoint.path.endswith(".svg"):
            parameter = choice("metric", "Metric. Only these metrics have images.", TITLES)
        yield replace(parameter, required=True, example=own_examples.get(name, parameter.example))


def example_path(endpoint: Endpoint) -> str:
    """Return a path that can be called unchanged, except for the ids of webhooks."""
    return endpoint.path.format_map({parameter.name: parameter.example for parameter in path_parameters(endpoint)})


def example_call(endpoint: Endpoint, **more: str) -> str:
    """Return such a path with its required query parameters and the parameters `more`."""
    examples = {own.name: own.example for own in endpoint.parameters.values() if own.required}
    query = {name: own if isinstance(own, str) else ",".join(own) for name, own in examples.items()} | more
    return example_path(endpoint) + (f"?{urlencode(query, safe=',')}" if query else "")


def _parameters(endpoint: Endpoint, own_examples: Json) -> Iterator[Json]:
    """Yield the path parameters, then the query parameters."""
    for parameter in path_parameters(endpoint):
        yield _described(parameter, own_examples, "path")
    for parameter in endpoint.parameters.values():
        is_shared = parameter is LIMIT
        yield {"$ref": "#/components/parameters/limit"} if is_shared else _described(parameter, own_examples)


def _described(parameter: Parameter, own_examples: Json, place: str = "query") -> Json:
    return {
        "name": parameter.name,
        "in": place,
        "description": parameter.description,
        "schema": dict(parameter.schema),
        **({"style": "form", "explode": False} if parameter.comma else {}),
        **({"required": True} if parameter.required else {}),
        "example": own_examples.get(parameter.name, parameter.example),
    }
