"""Describe the responses of each operation with their headers, and the problems that operations share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from api.endpoints.endpoint import Endpoint
from api.http.problems import KINDS, MEDIA, Problem
from api.openapi.members import ref
from api.series import formats

Json = dict[str, Any]
# fmt: off
_WORDS: Mapping[str, str] = {
    "X-Request-Id": "Request ID: the one that the client sent, or a generated one.",
    "ETag": "Strong validator of this representation.",
    "Cache-Control":
        "`public` for free responses, `private` for responses to a key, `no-store` for 402, 429, 5xx and sign-ups.",
    "Vary": "Request headers that the response depends on.",
    "Link":
        '`rel="next"`: next page, if rows or entries were omitted. `rel="describedby"`: description of a layer\'s CSV.',
    "X-Sample": "`true` if the response is a sample.",
    "X-EMDS-Data": "`simulated` if the data is simulated.",
    "X-EMDS-Stale": "`true` if newer data was due before the time of the response.",
    "RateLimit": "Remaining requests of the key today (draft-ietf-httpapi-ratelimit-headers-11).",
    "RateLimit-Policy": "Quota that `RateLimit` refers to.",
    "Retry-After": "Number of seconds to wait.",
    "Allow": "Methods that the path supports.",
    "PAYMENT-REQUIRED": "Payment requirements of x402 version 2, as base64-encoded JSON.",
    "PAYMENT-RESPONSE": "Receipt of a payment of x402 version 2, as base64-encoded JSON.",
    "X-PAYMENT-RESPONSE": "Receipt of a payment of x402 version 1, as base64-encoded JSON.",
    "Location": "Path with the exact ID.",
    "WWW-Authenticate": "How to authenticate.",
    "Content-Encoding": "`zstd`, `br` or `gzip`, if the request accepts it and the body is large enough.",
    "Content-Disposition": "File name, for every format except JSON.",
    "Accept-Ranges": "`bytes` if `Range` requests are supported.",
    "Content-Range": "Range of the returned bytes, and the total size.",
    "Content-Security-Policy": "What the page may load: nothing from other hosts.",
    **{name: f"CSV only: the envelope's `{member}`, as text." for member, name in formats.ENVELOPE_FIELDS.items()},
}
# fmt: on
HEADERS: Json = {
    name: {"description": words, "schema": {"type": "integer" if name == "Retry-After" else "string"}}
    for name, words in _WORDS.items()
}
_QUOTA = ("RateLimit", "RateLimit-Policy")
_CACHED = ("ETag", "Cache-Control", "Vary")
_OF_SOME: Mapping[str, tuple[str, ...]] = {
    "Now": ("X-EMDS-Stale",),
    "Series": ("Link", "Content-Disposition", "Accept-Ranges", *formats.ENVELOPE_FIELDS.values()),
    "Bulk": ("Content-Disposition", "Accept-Ranges"),
    "/v1/geo/": ("Link", "Content-Disposition", "Accept-Ranges", "X-EMDS-Stale"),
    "/v1/changes": ("Link",),
    "/docs/examples/": ("Content-Disposition",),
    "/embed/": ("Content-Security-Policy", "X-EMDS-Stale"),
    "/badge/": ("Content-Security-Policy", "X-EMDS-Stale"),
}
"""Further headers of some responses, by tag or by the start of their path."""
_OF_STATUS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After", *_QUOTA),
    503: ("Retry-After",),
}
ANYWHERE = (400, 405, 414, 429, 431, 500, 503)
"""The statuses of problems that every client path can return."""


def describe_responses(endpoint: Endpoint, examples: Mapping[str, Any]) -> Json:
    """Return all responses of an operation, by status."""
    others = {*endpoint.statuses, *ANYWHERE} - ({429} if endpoint.tag == "Service" else set())  # no limit for operators
    kinds = ((206, 416 in endpoint.statuses), (304, _is_cached(endpoint)), (308, endpoint.zones))
    others |= {status for status, fits in kinds if fits}
    answer = _response(f"{endpoint.summary}.", *_answer_headers(endpoint))
    if endpoint.answer:
        answer["content"] = {media: _media(endpoint, media, examples) for media in endpoint.media}
    if endpoint.id == "zones":
        zone = {"zone": "$response.body#/zones/0/id"}
        of_every_zone = ("latest", "brief", "price", "demand", "interchange")
        answer["links"] = {name: {"operationId": name, "parameters": zone} for name in of_every_zone}
    return {str(endpoint.code): answer, **{str(n): {"$ref": f"#/components/responses/{n}"} for n in sorted(others)}}


def shared(base_url: str, offer: Any) -> Json:
    """Return the responses that operations refer to, by status. `offer` is an example of 402."""
    payment = _response(
        "Payment required. The body is the offer of x402 version 1; `PAYMENT-REQUIRED` is that of version 2.",
        "PAYMENT-REQUIRED",
        "Cache-Control",
    )
    part = "The bytes requested with `Range`, uncompressed. For every format that is a file."
    unchanged = "Not modified: `If-None-Match` matches this representation."
    elsewhere = (
        "The zone or metric is spelled differently, for example `france`. `Location` has the path with the exact ID."
    )
    return {
        **{str(status): _problem(status, base_url) for status in sorted({kind.status for kind in KINDS.values()})},
        "206": _response(part, *_CACHED, "Accept-Ranges", "Content-Range"),
        "304": _response(unchanged, *_CACHED, "X-EMDS-Data", "X-Sample", *_QUOTA),
        "308": _response(elsewhere, "Cache-Control", "Location"),
        "402": {**payment, "content": {"application/json": {"schema": ref("PaymentRequired"), "example": offer}}},
    }


def _response(description: str, *headers: str) -> Json:
    names = ("X-Request-Id", *headers)
    return {"description": description, "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names}}


def _answer_headers(endpoint: Endpoint) -> Iterator[str]:
    if _is_cached(endpoint):
        yield from (*_CACHED, "Content-Encoding", "X-Sample", "X-EMDS-Data")
    else:
        yield from ("Cache-Control", "X-Sample")
    for tag_or_path, names in _OF_SOME.items():
        if tag_or_path == endpoint.tag or endpoint.path.startswith(tag_or_path):
            yield from names
    if endpoint.media == ("text/html",):
        yield "Content-Security-Policy"
    if endpoint.paid or endpoint.id == "usage":
        yield from _QUOTA
    if endpoint.paid:
        yield from ("PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE")


def _media(endpoint: Endpoint, media: str, examples: Mapping[str, Any]) -> Json:
    if not media.startswith("text/") and not media.endswith("json"):
        return {"schema": {"type": "string", "format": "binary"}}  # without a schema, generated types are `unknown`
    content: Json = {"schema": {"type": "string"} if media.startswith("text/") else ref(endpoint.answer)}
    example, forecast = (examples.get(f"{endpoint.id} {media}{kind}") for kind in ("", " forecast"))
    if forecast is not None:
        return {**content, "examples": {"actual": {"value": example}, "forecast": {"value": forecast}}}
    return content if example is None else {**content, "example": example}


def _is_cached(endpoint: Endpoint) -> bool:
    """Return whether caches may store the responses of an endpoint."""
    return endpoint.method == "GET" and endpoint.tag not in ("Keys", "Service")


def _problem(status: int, base_url: str) -> Json:
    """Return the response of a status, with an example of each problem type that has it."""
    kinds = [kind for kind in KINDS.values() if kind.status == status]
    examples = {
        kind.name: {
            "summary": kind.title,
            "value": orjson.loads(Problem(kind).document(base_url, "0123456789abcdef0123456789abcdef")),
        }
        for kind in kinds
    }
    response = _response(f"{'; '.join(kind.title for kind in kinds)}.", "Cache-Control", *_OF_STATUS.get(status, ()))
    return {**response, "content": {MEDIA: {"schema": ref("Problem"), "examples": examples}}}
