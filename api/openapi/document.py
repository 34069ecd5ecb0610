"""`/openapi.json`: OpenAPI 3.1 from the tables of endpoints, parameters, schemas, problems and prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from api.access.prices import PRICES, for_zones, price_of
from api.documents.bulk import METRICS
from api.endpoints import ENDPOINTS, Endpoint
from api.geo.collections import LIMIT
from api.geo.parameters import FORMATS
from api.http.parameters import Parameter
from api.http.problem_kinds import KINDS
from api.http.problems import MEDIA
from api.openapi import schemas
from api.series import formats
from api.settings import Settings
from warehouse.zones import ZONES

VERSION = "1.0.0"
Json = dict[str, Any]

_DESCRIPTION = """\
Real-time and historical electricity market data for 25 grid zones in the US, Great Britain, Australia and Europe.

**Access.** The zone list, freshness and geography are free. Everything else takes one of three: a free API key (`POST
/v1/keys/signup`, 500 answers a day, `Authorization: Bearer <key>`), a payment per call (x402, USDC on Base), or
`sample=true`, which gives a truncated answer without credentials.

**Times** are Unix seconds UTC. `ts` is the start of an interval, windows are half-open, a missing interval has no row.

**Caching.** Every answer that may be kept has a strong `ETag`; `If-None-Match` gives 304, which costs nothing. The
default window of a series ends now, so its answer changes each second: give `start` and `end` where 304s matter. HEAD
works wherever GET does. Bodies come as zstd, br or gzip by `Accept-Encoding`.

**Elsewhere.** The same reads as tools for agents: MCP at `/mcp`. A map of all zones: `/`.

**Errors** are `application/problem+json` (RFC 9457) but for 402, whose body is x402's. An error costs nothing.
"""

_HEADERS: Mapping[str, tuple[str, str]] = {
    "X-Request-Id": ("string", "The request's id: the caller's own where it sent one, else made here."),
    "ETag": ("string", "Strong validator of this representation."),
    "Cache-Control": (
        "string",
        "`public` for free answers, `private` for keyed ones, `no-store` for 402, 429, 5xx and sign-ups.",
    ),
    "Vary": ("string", "The request headers that the answer depends on."),
    "Link": ("string", '`rel="next"`: where the next page is, if rows were left out.'),
    "X-Sample": ("string", "`true` where the answer is a sample."),
    "X-EMDS-Data": ("string", "`simulated` where the figures are simulated."),
    "X-EMDS-Stale": ("string", "`true` past the instant at which newer figures were due."),
    "RateLimit": ("string", "What is left of the key's day (draft-ietf-httpapi-ratelimit-headers-11)."),
    "RateLimit-Policy": ("string", "The quota that `RateLimit` counts."),
    "Retry-After": ("integer", "Seconds to wait."),
    "Allow": ("string", "The methods that the path knows."),
    "PAYMENT-REQUIRED": ("string", "The payment requirements of x402 version 2: base64 of JSON."),
    "PAYMENT-RESPONSE": ("string", "The receipt of a payment of x402 version 2: base64 of JSON."),
    "X-PAYMENT-RESPONSE": ("string", "The receipt of a payment of x402 version 1: base64 of JSON."),
    "WWW-Authenticate": ("string", "How to authenticate."),
    "Content-Encoding": ("string", "`zstd`, `br` or `gzip`, where the request takes one and the body is worth it."),
    "Content-Disposition": ("string", "A file name, for every format but JSON."),
    "Accept-Ranges": ("string", "`bytes`, where parts can be asked for with `Range`."),
    "Content-Range": ("string", "Which bytes these are, of how many."),
    "Content-Security-Policy": ("string", "What the page may load: nothing from elsewhere."),
    **{
        name: ("string", f"CSV only: the envelope's `{member}`, as text.")
        for member, name in formats.ENVELOPE_FIELDS.items()
    },
}
_ALWAYS = ("X-Request-Id",)
_SUFFIXES = tuple(f".{suffix}" for suffixes in FORMATS.values() for suffix in suffixes if suffix != "geojson")
_LIVE = re.compile(r"/live\b")
"""The paths of the newest figures in the geo layers."""
_QUOTA = ("RateLimit", "RateLimit-Policy")
_KEPT = ("ETag", "Cache-Control", "Vary")
_FILE = (
    "Accept-Ranges",
    "Content-Disposition",
    *(formats.ENVELOPE_FIELDS[name] for name in ("license", "attribution")),
)
_OF_STATUS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After", *_QUOTA),
    503: ("Retry-After",),
}
_ANYWHERE = (400, 405, 413, 414, 429, 431, 500, 503)
"""Unknown parameters, what is larger than is read, too many calls, and failures: on every path for callers."""
_SHARED = {"limit": LIMIT}
"""Parameters where clients look for them: QGIS asks for as many features a page as this `limit` allows."""
BODIES: Mapping[str, Json] = {
    "SignUp": {"email": "someone@example.org"},
    "Subscription": {"url": "https://example.org/emds", "events": ["changes"], "zones": ["GB"]},
}
_LINKED = ("latest", "brief", "price", "demand", "interchange")
"""What every zone has."""
_TAGS = {
    "Free": "No credentials needed.",
    "Now": "The present, precomputed.",
    "Series": "History, by metric and zone.",
    "Bulk": "History by the month, as files.",
    "Keys": "Free API keys.",
    "Webhooks": "Being told instead of asking.",
    "Discovery": "Descriptions of this service for programs and people.",
    "Service": "For operators.",
}


def document(settings: Settings, examples: Mapping[str, Any]) -> Json:
    """The whole description; `examples` by operationId and media type (`price text/csv`), or by status (`402`)."""
    paths: dict[str, Json] = {}
    for endpoint in ENDPOINTS.values():
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint, examples)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Electricity Market Data Service",
            "version": VERSION,
            "description": _DESCRIPTION,
            "contact": _contact(settings),
            "license": {
                "name": "Apache-2.0 (the service; each answer states the figures' own licence)",
                "identifier": "Apache-2.0",
            },
        },
        "servers": [{"url": settings.base_url}],
        "tags": [{"name": name, "description": words} for name, words in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas.SCHEMAS,
            "parameters": {name: _described(parameter) for name, parameter in _SHARED.items()},
            "responses": {
                "402": _offer(examples.get("402")),
                **{str(status): _problem(status, settings.base_url) for status in _statuses()},
            },
            "headers": {
                name: {"description": words, "schema": {"type": kind}} for name, (kind, words) in _HEADERS.items()
            },
            "securitySchemes": {
                "apiKey": {"type": "http", "scheme": "bearer", "description": "A free key of POST /v1/keys/signup."},
                "token": {"type": "http", "scheme": "bearer", "description": "The operator's EMDS_METRICS_TOKEN."},
                "x402": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "PAYMENT-SIGNATURE",
                    "description": "A signed payment, x402 version 2.",
                },
                "x402v1": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-PAYMENT",
                    "description": "A signed payment, x402 version 1.",
                },
            },
        },
    }


def _contact(settings: Settings) -> Json:
    contact = settings.contact
    if "@" in contact:
        return {"name": "Operator", "email": contact.removeprefix("mailto:")}
    return {"name": "Operator", "url": contact if contact.startswith("http") else settings.base_url}


def operation(endpoint: Endpoint, examples: Mapping[str, Any]) -> Json:
    """One method of one path."""
    described: Json = {
        "operationId": endpoint.id,
        "summary": endpoint.summary,
        "description": endpoint.description,
        "tags": [endpoint.tag],
        "parameters": [*_path_parameters(endpoint), *map(_parameter, endpoint.parameters.values())],
        "responses": {str(endpoint.code): _answer(endpoint, examples), **_others(endpoint)},
        "security": _security(endpoint),
    }
    if endpoint.body:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas.ref(endpoint.body), "example": BODIES[endpoint.body]}},
        }
    if endpoint.paid:
        price = PRICES[endpoint.id]
        each = {"mode": "fixed", "currency": "USD", "amount": price.usd}
        if "zones" in endpoint.parameters and endpoint.tag == "Series":
            most = price_of(for_zones(endpoint.id, len(ZONES))).usd
            each = {"mode": "dynamic", "currency": "USD", "min": price.usd, "max": most}
        described["x-payment-info"] = {
            "price": each,
            "protocols": [{"x402": {}}],
        }
    return described


def _security(endpoint: Endpoint) -> list[Json]:
    if endpoint.paid:
        return [{"apiKey": []}, {"x402": []}, {"x402v1": []}, {}]
    if endpoint.token:
        return [{"token": []}]
    return [{"apiKey": []}] if endpoint.keyed else [{}]


def _path_parameters(endpoint: Endpoint) -> list[Json]:
    """The variable parts of a path, in its order."""
    month = {"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}
    known: dict[str, tuple[str, Json]] = {
        "zone": ("A zone.", {"type": "string", "enum": list(endpoint.zones)}),
        "metric": ("A metric, as paths spell it.", {"type": "string", "enum": list(METRICS)}),
        "month": ("A UTC month, `YYYY-MM`, of those in `/v1/bulk`.", month),
        "feature": ("The id of a feature.", {"type": "string"}),
        "webhook": ("The id of a webhook of the key.", {"type": "string", "pattern": "^wh_[0-9a-f]{24}$"}),
        "kind": ("The last part of a `type`.", {"type": "string", "enum": list(KINDS)}),
    }
    names = re.findall(r"{(\w+)}", endpoint.path)
    described = [
        {"name": name, "in": "path", "required": True, "description": known[name][0], "schema": known[name][1]}
        for name in names
    ]
    return [{**one, "example": endpoint.zones[0]} if one["name"] == "zone" else one for one in described]


def _parameter(parameter: Parameter) -> Json:
    if _SHARED.get(parameter.name) is parameter:
        return {"$ref": f"#/components/parameters/{parameter.name}"}
    return _described(parameter)


def _described(parameter: Parameter) -> Json:
    described: Json = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    if parameter.comma:
        described |= {"style": "form", "explode": False}
    if parameter.example is not None:
        described["example"] = parameter.example
    return described


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_ALWAYS, *names)}


def _answer(endpoint: Endpoint, examples: Mapping[str, Any]) -> Json:
    marks = (
        (*_QUOTA, "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")
        if endpoint.paid
        else _QUOTA
        if endpoint.id == "usage"
        else ()
    )
    own = {
        "Bulk": _FILE,
        "Series": ("Link", "Content-Disposition", *formats.ENVELOPE_FIELDS.values()),
        "Now": ("X-EMDS-Stale",),
    }.get(endpoint.tag, ())
    more: tuple[str, ...] = (
        ("Content-Security-Policy",)
        if endpoint.media == ("text/html",)
        else ("Content-Disposition",)
        if len(endpoint.media) > 1 or endpoint.path.endswith(_SUFFIXES)
        else ()
    )
    more += ("Accept-Ranges",) if 416 in endpoint.statuses and endpoint.tag != "Bulk" else ()
    more += ("X-EMDS-Stale",) if endpoint.tag == "Free" and _LIVE.search(endpoint.path) else ()
    kept = (
        (*_KEPT, "Content-Encoding", "X-Sample", "X-EMDS-Data") if _is_kept(endpoint) else ("Cache-Control", "X-Sample")
    )
    answer: Json = {"description": endpoint.summary + ".", "headers": _headers(*kept, *own, *more, *marks)}
    if endpoint.answer:
        answer["content"] = {media: _media(endpoint, media, examples) for media in endpoint.media}
    if endpoint.id == "zones":
        there = {"zone": "$response.body#/zones/0/id"}
        answer["links"] = {name: {"operationId": name, "parameters": there} for name in _LINKED}
    return answer


def _media(endpoint: Endpoint, media: str, examples: Mapping[str, Any]) -> Json:
    if not media.startswith("text/") and not media.endswith("json"):
        return {"schema": {"type": "string", "format": "binary"}}  # without one, generated types are `unknown`
    content: Json = {"schema": {"type": "string"} if media.startswith("text/") else schemas.ref(endpoint.answer)}
    example = examples.get(f"{endpoint.id} {media}")
    return content if example is None else {**content, "example": example}


def _is_kept(endpoint: Endpoint) -> bool:
    """Whether caches may keep its answers."""
    return endpoint.method == "GET" and endpoint.tag not in ("Keys", "Service")


def _others(endpoint: Endpoint) -> Json:
    statuses = {*endpoint.statuses, *_ANYWHERE, *((404,) if "{" in endpoint.path else ())}
    statuses -= {429} if endpoint.tag == "Service" else set()  # what operators' programs ask is not limited
    others: Json = {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
    if 416 in endpoint.statuses:
        headers = _headers(*_KEPT, "Accept-Ranges", "Content-Range")
        others["206"] = {
            "description": "The part that `Range` asks for, of every format that is a file, without a coding.",
            "headers": headers,
        }
    if endpoint.zones:
        others["308"] = {
            "description": "The zone was spelt in another case or with `_`: `Location` has its exact id.",
            "headers": {**_headers("Cache-Control"), "Location": {"schema": {"type": "string"}}},
        }
    if _is_kept(endpoint):
        headers = _headers(*_KEPT, "X-EMDS-Data", "X-Sample", *(_QUOTA if endpoint.paid else ()))
        others = {
            "304": {"description": "Not modified: `If-None-Match` named this representation.", "headers": headers},
            **others,
        }
    return others


def _statuses() -> list[int]:
    return sorted(
        {404, *_ANYWHERE, *(status for endpoint in ENDPOINTS.values() for status in endpoint.statuses)} - {402}
    )


def _offer(example: Any) -> Json:
    content: Json = {"schema": schemas.ref("PaymentRequired")}
    return {
        "description": "Payment required: the offer of x402 version 1 as JSON, of version 2 in `PAYMENT-REQUIRED`.",
        "headers": _headers("PAYMENT-REQUIRED", "Cache-Control"),
        "content": {"application/json": content if example is None else {**content, "example": example}},
    }


def _problem(status: int, base_url: str) -> Json:
    """The response of a status: every kind of problem that it may be, as an example."""
    kinds = [kind for kind in KINDS.values() if kind.status == status]
    examples = {
        kind.name: {
            "summary": kind.title,
            "value": {
                "type": f"{base_url}/problems/{kind.name}",
                "title": kind.title,
                "status": status,
                "detail": kind.meaning,
                "instance": "0123456789abcdef0123456789abcdef",
            },
        }
        for kind in kinds
    }
    return {
        "description": "; ".join(kind.title for kind in kinds) + ".",
        "headers": _headers("Cache-Control", *_OF_STATUS.get(status, ())),
        "content": {MEDIA: {"schema": schemas.ref("Problem"), "examples": examples}},
    }
