"""Build the responses to a buyer: the offer to pay in both protocol versions, receipts and refusals.

A single 402 serves both versions: version 1 reads the JSON body, version 2 the base64 JSON in PAYMENT-REQUIRED
(https://github.com/x402-foundation/x402/tree/main/specs). A facilitator's text is never forwarded, only its code.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Any

import orjson

from api.access.prices import price_of, units_of
from api.access.values import Headers, refuse_for
from api.http.problems import Problem, ProblemKind
from warehouse.market.metrics import BY_FUEL, BY_PATH, METRICS
from warehouse.market.zones import ZONES, zones_with

CHAIN_ID = 8453
"""The chain ID of Base."""
NETWORK = f"eip155:{CHAIN_ID}"
NETWORK_V1 = "base"
"""The name of the network for version 1, whose clients reject other networks before they check anything else."""
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
DOMAIN = {"name": "USD Coin", "version": "2"}
"""The EIP-712 domain of USDC on Base; on Base Sepolia the same token is named USDC."""
MAX_TIMEOUT_S = 120
"""The validity of a client's signature in seconds, longer than a settlement and a retry take."""

UNPAID = "payment_required: pay with x402, send a free API key (get one with POST /v1/keys/signup), or add sample=true"
CLOSED = (
    "this service does not accept payments: send a free API key (get one with POST /v1/keys/signup), or add sample=true"
)
BAD_SIGNATURE = "invalid_exact_evm_payload_signature"
_PAYMENT_REQUIRED = ProblemKind("payment-required", 402, "Payment required", "")
"""The problem has no page, because its body is the offer."""


_SERVICE_NAME = "Electricity Market Data Service"
_TAGS = ("electricity", "energy", "prices", "carbon intensity", "grid")
"""At most five tags; each tag, like the service's name, has at most 32 characters."""
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
    "all-records": {
        "metric": "price",
        "zones": {"GB": {"years": {"2026": {"unit": "GBP/MWh", "negative_hours": 162.5}}, **_ORIGIN}},
    },
    "windows": {"zone": "FR", "metric": "price", "find": "lowest", "available": True},
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
    "find": {"type": "string", "enum": ["lowest", "highest"]},
}
_OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "example": {"type": "object"}},
    "required": ["type"],
}


def requirement(version: int, base_url: str, pay_to: str, price: str, path: str) -> dict[str, Any]:
    """Return an element of `accepts`: the terms to sign, with which a facilitator compares the signature."""
    units = str(units_of(price))
    common = {"scheme": "exact", "payTo": pay_to, "maxTimeoutSeconds": MAX_TIMEOUT_S, "asset": USDC, "extra": DOMAIN}
    if version == 2:
        return {**common, "network": NETWORK, "amount": units}
    return {
        **common,
        "network": NETWORK_V1,
        "maxAmountRequired": units,
        "resource": base_url + path,
        "description": price_of(price).offer,
        "mimeType": "application/json",
        "outputSchema": {"input": _request(price, path)[0], "output": _output(price)},
    }


def offered_terms(base_url: str, pay_to: str, price: str, path: str) -> dict[str, Any]:
    """Return `resource`, `accepts` and `extensions` of version 2, which clients repeat in their payment."""
    resource = {
        "url": base_url + path,
        "description": price_of(price).offer,
        "mimeType": "application/json",
        "serviceName": _SERVICE_NAME,
        "tags": _TAGS,
    }
    accepts = [requirement(2, base_url, pay_to, price, path)] if pay_to else []
    return {
        "resource": resource,
        "accepts": accepts,
        "extensions": {"bazaar": _discovery(price, path)} if pay_to else {},
    }


@lru_cache(maxsize=2048)
def offer(base_url: str, pay_to: str, price: str, path: str, error: str) -> Problem:
    """Return the 402; without `pay_to` its `accepts` is empty."""
    first = [requirement(1, base_url, pay_to, price, path)] if pay_to else []
    second = {"x402Version": 2, "error": error, **offered_terms(base_url, pay_to, price, path)}
    body = orjson.dumps({"x402Version": 1, "error": error, "accepts": first})
    return Problem(_PAYMENT_REQUIRED, error, headers=[("PAYMENT-REQUIRED", encode(second))], body=body)


def receipt(version: int, payer: str, tx: str, refused: str = "") -> Headers:
    """Return the receipt of a settlement, or of a refusal with the code `refused`, in the payment's own version."""
    settled: dict[str, Any] = {"success": not refused, "payer": payer, "transaction": tx}
    if refused:
        settled["errorReason"] = refused
    if version == 1:
        return (("X-PAYMENT-RESPONSE", encode({**settled, "network": NETWORK_V1})),)
    return (("PAYMENT-RESPONSE", encode({**settled, "network": NETWORK})),)


def encode(document: dict[str, Any]) -> str:
    """Return compact JSON in standard, padded base64, which every client reads."""
    return base64.b64encode(orjson.dumps(document)).decode()


def malformed(code: str, detail: str) -> Problem:
    """Return the 400 for a header without a valid payment; `code` gives the protocol's reason."""
    return Problem("invalid-payment", detail, members={"code": code, "charged": False})


_FREE = {"charged": False}
_AGAIN = "Nothing was charged. Send the same payment header again later."
BUSY = refuse_for(
    2,
    "payment-in-progress",
    "Another request with this payment is still running. Wait and send the same payment header again. You are charged "
    "only once.",
)
CROWDED = refuse_for(2, "facilitator-unavailable", f"Too many payments are being processed. {_AGAIN}", members=_FREE)
UNREACHABLE = refuse_for(
    10, "facilitator-unavailable", f"No payment facilitator is responding. {_AGAIN}", members=_FREE
)
BOUND = refuse_for(
    5,
    "payment-bound",
    "This payment was sent for a different request whose outcome is not known yet. Repeat that request with the same "
    "payment header.",
)
UNKNOWN = refuse_for(
    5,
    "settlement-unknown",
    "It is not yet known whether this payment was charged. Send the same payment header again. You are never charged "
    "twice.",
)
"""A 503 and never a 402, after which a client would sign a second payment."""


def _request(price: str, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a request to a path that works as it is, and its JSON Schema: `input` of both versions."""
    endpoint = price_of(price)
    name, example, properties = endpoint.id.removesuffix("-zones"), dict[str, str](), dict[str, Any]()
    if name == "windows":
        example, properties = {"hours": "3", "find": "lowest"}, _WINDOWS_SCHEMA
    elif name in BY_PATH:
        example, properties = {"limit": "48", "order": "desc"}, _QUERY_SCHEMA
        if name != endpoint.id:
            example, properties = {"zones": _example_zone(name), **example}, {"zones": _ZONES_SCHEMA, **properties}
    described: dict[str, Any] = {"type": "http", "method": "GET"}
    fields: dict[str, Any] = {
        "type": {"type": "string", "const": "http"},
        "method": {"type": "string", "enum": ["GET"]},
    }
    if example:
        described["queryParams"], fields["queryParams"] = example, {"type": "object", "properties": properties}
    if named := _PART.findall(endpoint.path):
        match = re.fullmatch(_PART.sub("([^/]+)", endpoint.path), path)
        described["pathParams"] = dict(zip(named, match.groups() if match else (), strict=False))
        parts = {part: {"type": "string", "description": _PARTS[part]} for part in named}
        fields["pathParams"] = {"type": "object", "properties": parts, "required": named}
    required = ["type", "method"]
    return described, {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _output(price: str) -> dict[str, Any]:
    """Return the shape of the response, cut to a row: fields and types are real, values and attribution examples."""
    name = price_of(price).id
    if name == "bulk-file":
        return {"type": "parquet"}
    return {"type": "json", "example": _DOCUMENTS.get(name) or _series(name.removesuffix("-zones"), "-zones" in name)}


def _discovery(price: str, path: str) -> dict[str, Any]:
    """Return the discovery extension, which shows a machine how to call the path by a working example.

    https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md: `routeTemplate` is the catalogue's
    key. Clients echo the extension in their payment's header, so it is short.
    """
    call, schema = _request(price, path)
    dialect, parts = "https://json-schema.org/draft/2020-12/schema", {"input": schema, "output": _OUTPUT_SCHEMA}
    declared: dict[str, Any] = {
        "info": {"input": call, "output": _output(price)},
        "schema": {"$schema": dialect, "type": "object", "properties": parts, "required": ["input"]},
    }
    template = price_of(price).path
    return declared | ({"routeTemplate": _PART.sub(r":\1", template)} if "{" in template else {})


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
    """Return a zone that publishes the metric of a series path, Great Britain if possible."""
    zones = zones_with(BY_PATH[name])
    return "GB" if "GB" in zones else zones[0]
