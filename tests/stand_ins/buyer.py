"""Sign payments without an SDK, including invalid payments that an SDK would refuse to create."""

from __future__ import annotations

import base64
import json
import secrets
import time
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_keys.exceptions import BadSignature

from tests.stand_ins.chain import BUYER, KEYS, USDC

_TYPES = {
    "TransferWithAuthorization": [
        {"name": "from", "type": "address"},
        {"name": "to", "type": "address"},
        {"name": "value", "type": "uint256"},
        {"name": "validAfter", "type": "uint256"},
        {"name": "validBefore", "type": "uint256"},
        {"name": "nonce", "type": "bytes32"},
    ]
}


def domain(**other: Any) -> dict[str, Any]:
    """Return the EIP-712 domain of USDC on Base. `other` replaces parts of it."""
    return {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": USDC} | other


def authorization(offer: dict[str, Any], **other: Any) -> dict[str, str]:
    """Return the message to sign for an element of `accepts`, filled in as SDKs do. `other` replaces parts of it."""
    now = int(time.time())
    return {
        "from": BUYER,
        "to": offer["payTo"],
        "value": offer.get("amount") or offer["maxAmountRequired"],
        "validAfter": "0",
        "validBefore": str(now + offer["maxTimeoutSeconds"]),
        "nonce": "0x" + secrets.token_hex(32),
        **other,
    }


def sign(signed: dict[str, str], key: str = KEYS[2], **other: Any) -> str:
    """Return the signature of the authorization `signed` under the domain. `other` replaces parts of the domain."""
    message = {
        name: int(value) if name in ("value", "validAfter", "validBefore") else value for name, value in signed.items()
    }
    digest = encode_typed_data(domain(**other), _TYPES, message)
    return "0x" + Account.sign_message(digest, key).signature.hex().removeprefix("0x")


def signer_of(signed: dict[str, str], signature: str) -> str:
    """Return the address, in lower case, that signed an authorization for USDC on Base.

    Return an empty string for an impossible signature.
    """
    message = {
        name: int(value) if name in ("value", "validAfter", "validBefore") else value for name, value in signed.items()
    }
    try:
        return str(Account.recover_message(encode_typed_data(domain(), _TYPES, message), signature=signature)).lower()
    except (ValueError, BadSignature):
        return ""


def pay_v2(offer: dict[str, Any], signed: dict[str, str] | None = None, signature: str = "") -> dict[str, Any]:
    """Return the document of a PAYMENT-SIGNATURE header for `offer`."""
    signed = signed or authorization(offer)
    return {
        "x402Version": 2,
        "payload": {"authorization": signed, "signature": signature or sign(signed)},
        "accepted": offer,
    }


def pay_v1(offer: dict[str, Any], signed: dict[str, str] | None = None, signature: str = "") -> dict[str, Any]:
    """Return the document of an X-PAYMENT header for `offer`."""
    signed = signed or authorization(offer)
    payload = {"authorization": signed, "signature": signature or sign(signed)}
    return {"x402Version": 1, "scheme": "exact", "network": offer["network"], "payload": payload}


def header(document: Any) -> str:
    """Return the value of the header for a payment document."""
    return base64.b64encode(json.dumps(document).encode()).decode()
