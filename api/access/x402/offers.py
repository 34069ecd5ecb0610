"""Answers to a buyer: the offer to pay in both protocol versions, receipts, and why a payment was not taken.

One 402 serves both: version 1 reads the JSON body, version 2 the base64 JSON in PAYMENT-REQUIRED
(https://github.com/x402-foundation/x402/tree/main/specs). A facilitator's own text is never passed on, only its
reason's code.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Any

import orjson

from api.access.prices import price_of
from api.access.values import NO_STORE, Headers, Refusal, refuse_for
from api.access.x402 import bazaar

CHAIN_ID = 8453
"""Base."""
NETWORK = f"eip155:{CHAIN_ID}"
NETWORK_V1 = "base"
"""v1 clients know networks by name only and reject others before they look at anything else."""
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
DOMAIN = {"name": "USD Coin", "version": "2"}
"""The EIP-712 domain of USDC on Base; on Base Sepolia the same token is named USDC."""
MAX_TIMEOUT_S = 120
"""How long a client's signature is to hold: longer than a settlement and one retry take."""

UNPAID = "payment_required: pay with x402, or send a free API key (POST /v1/keys/signup), or add sample=true"
CLOSED = "payments are not taken here: send a free API key (POST /v1/keys/signup), or add sample=true"
BAD_SIGNATURE = "invalid_exact_evm_payload_signature"


def requirement(version: int, base_url: str, pay_to: str, price: str, path: str) -> dict[str, Any]:
    """Return one element of `accepts`: what is signed for, and what a facilitator compares the signature with."""
    units = str(price_of(price).units)
    common = {"scheme": "exact", "payTo": pay_to, "maxTimeoutSeconds": MAX_TIMEOUT_S, "asset": USDC, "extra": DOMAIN}
    if version == 2:
        return {**common, "network": NETWORK, "amount": units}
    return {
        **common,
        "network": NETWORK_V1,
        "maxAmountRequired": units,
        "resource": base_url + path,
        "description": price_of(price).title,
        "mimeType": "application/json",
        "outputSchema": {"input": bazaar.request_of(price, path), "output": bazaar.output_of(price)},
    }


@lru_cache(maxsize=2048)
def offer(base_url: str, pay_to: str, price: str, path: str, error: str) -> Refusal:
    """Return the 402; without `pay_to` its `accepts` are empty."""
    v1, v2 = ([requirement(version, base_url, pay_to, price, path)] if pay_to else [] for version in (1, 2))
    resource = {
        "url": base_url + path,
        "description": price_of(price).title,
        "mimeType": "application/json",
        "serviceName": bazaar.SERVICE_NAME,
        "tags": bazaar.TAGS,
    }
    second = {
        "x402Version": 2,
        "error": error,
        "resource": resource,
        "accepts": v2,
        "extensions": bazaar.extension(price, path) if pay_to else {},
    }
    body = orjson.dumps({"x402Version": 1, "error": error, "accepts": v1})
    return Refusal("payment-required", error, (("PAYMENT-REQUIRED", encode(second)), NO_STORE), body=body)


def receipt(version: int, payer: str, tx: str, refused: str = "") -> Headers:
    """Return the receipt of a settlement, or of a refused one, in the payment's own version; `refused`: its code."""
    settled: dict[str, Any] = {"success": not refused, "payer": payer, "transaction": tx}
    if refused:
        settled["errorReason"] = refused
    if version == 1:
        return (("X-PAYMENT-RESPONSE", encode({**settled, "network": NETWORK_V1})),)
    return (("PAYMENT-RESPONSE", encode({**settled, "network": NETWORK})),)


def encode(document: dict[str, Any]) -> str:
    """Return standard, padded base64 of compact JSON, as every client reads it."""
    return base64.b64encode(orjson.dumps(document)).decode()


def malformed(code: str, detail: str) -> Refusal:
    """Return 400: the header holds no payment."""
    return Refusal("invalid-payment", detail, members=(("code", code), ("charged", False)))


_FREE = (("charged", False),)
_AGAIN = "Nothing was charged; the same payment header can be sent again."
BUSY = refuse_for(
    2,
    "payment-in-progress",
    "A call with this payment is under way. Send the same payment header again later; it is charged once.",
)
CROWDED = refuse_for(2, "facilitator-unavailable", f"Too many payments are being settled. {_AGAIN}", members=_FREE)
UNREACHABLE = refuse_for(10, "facilitator-unavailable", f"No payment facilitator answers. {_AGAIN}", members=_FREE)
BOUND = refuse_for(
    5,
    "payment-bound",
    "This payment was sent for another request and its outcome is not known yet: repeat that request with it.",
)
UNKNOWN = refuse_for(
    5,
    "settlement-unknown",
    "It is not known yet whether this payment was charged. "
    "Send the SAME payment header again: it is never charged twice.",
)
"""Never a 402, at which a client would sign a second payment."""
