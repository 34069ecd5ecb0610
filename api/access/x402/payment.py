"""Decode a payment header, check its signature, and make every comparison that needs no facilitator. No I/O.

Signatures are checked as USDC itself checks them (EIP-712 over EIP-3009): 65 bytes r, s, v, the lower half of s
(EIP-2), and the payer as signer. A facilitator checks the longer signatures of contract wallets (ERC-1271, ERC-6492).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from api.access.x402.ethereum_address import checksummed, keccak256
from api.access.x402.offers import (
    CHAIN_ID,
    DOMAIN,
    NETWORK,
    NETWORK_V1,
    USDC,
    malformed,
    offered_terms,
    requirement,
)

MAX_HEADER = 16384
SETTLE_MARGIN_S = 6
"""The seconds for which a signature must still be valid to be settled in time."""
LAST_VALID_BEFORE = (1 << 63) - 1
"""The contract takes 256 bits, the ledger's column 63."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_NONCE = re.compile(r"0x[0-9a-fA-F]{64}")
_NUMBER = re.compile(r"[0-9]{1,78}")
_SIGNATURE = re.compile(r"0x(?:[0-9a-fA-F]{2}){1,8192}")  # longer for smart wallets (ERC-1271, ERC-6492)
_DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_TRANSFER_FIELDS = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
_TRANSFER_TYPE = f"TransferWithAuthorization({_TRANSFER_FIELDS})"
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_PLAIN_LENGTH = 2 + 2 * 65
_RECOVERY = {27: 0, 28: 1}
"""Recovery id by `v`, the last byte of a signature: USDC reverts a transfer with any other `v`."""


@dataclass(frozen=True, slots=True)
class Payment:
    """A transferWithAuthorization (EIP-3009) as it was sent, with addresses and nonce in lower case."""

    version: int
    hash: str
    """SHA-256 of the header."""
    accepted: tuple[str, str, object]
    """Asset, receiver and amount of the offer that the payment names, in version 2 only."""
    scheme: str
    network: str
    payer: str
    to: str
    value: int
    valid_after: int
    valid_before: int
    nonce: str
    signature: str

    @property
    def is_plain(self) -> bool:
        """Return whether the signature has the form of an ordinary account's, which is checked here."""
        return len(self.signature) == _PLAIN_LENGTH


def decode(header: str) -> Payment:
    """Return the payment in a PAYMENT-SIGNATURE or X-PAYMENT header, of either version. Raises Problem 400."""
    document = _document(header)
    version = document.get("x402Version")
    if version not in (1, 2) or isinstance(version, bool):
        raise malformed("invalid_x402_version", "x402Version must be 1 or 2")
    terms = document if version == 1 else _member_object(document, "accepted")
    payload = _member_object(document, "payload")
    signed = _member_object(payload, "authorization")
    return Payment(
        version,
        hashlib.sha256(header.encode()).hexdigest(),
        accepted=(_lower(terms.get("asset")), _lower(terms.get("payTo")), terms.get("amount")),
        scheme=_matching(terms, "scheme", re.compile(r".{1,64}")),
        network=_matching(terms, "network", re.compile(r".{1,64}")),
        payer=_matching(signed, "from", _ADDRESS).lower(),
        to=_matching(signed, "to", _ADDRESS).lower(),
        value=int(_matching(signed, "value", _NUMBER)),
        valid_after=int(_matching(signed, "validAfter", _NUMBER)),
        valid_before=int(_matching(signed, "validBefore", _NUMBER)),
        nonce=_matching(signed, "nonce", _NONCE).lower(),
        signature=_with_v(_matching(payload, "signature", _SIGNATURE)),
    )


def mismatch(payment: Payment, pay_to: str, units: int, now: int) -> str | None:
    """Return the code of the first term that differs from this service's offer, or None.

    The offer as the payload repeats it proves nothing.
    """
    payee = pay_to.lower()
    is_our_offer = payment.version == 1 or payment.accepted == (USDC.lower(), payee, str(units))
    tests = (
        (payment.scheme == "exact", "unsupported_scheme"),
        (payment.network == (NETWORK if payment.version == 2 else NETWORK_V1), "invalid_network"),
        (is_our_offer, "no_matching_payment_requirements"),
        (payment.to == payee, "invalid_exact_evm_payload_recipient_mismatch"),
        (payment.value == units, "invalid_exact_evm_payload_authorization_value_mismatch"),
        (payment.valid_after <= now, "invalid_exact_evm_payload_authorization_valid_after"),
        (
            now + SETTLE_MARGIN_S <= payment.valid_before <= LAST_VALID_BEFORE,
            "invalid_exact_evm_payload_authorization_valid_before",
        ),
    )
    return next((code for fits, code in tests if not fits), None)


def facilitator_request(payment: Payment, base_url: str, pay_to: str, price: str, path: str) -> dict[str, Any]:
    """Return the body of a request to a facilitator, built from checked values and this service's offer.

    Other values from the client are not forwarded, because a facilitator may fail on them.
    """
    parties = {"from": checksummed(payment.payer), "to": checksummed(payment.to)}
    numbers = {"value": payment.value, "validAfter": payment.valid_after, "validBefore": payment.valid_before}
    signed = parties | {name: str(number) for name, number in numbers.items()} | {"nonce": payment.nonce}
    document: dict[str, Any] = {
        "x402Version": payment.version,
        "payload": {"authorization": signed, "signature": payment.signature},
    }
    if payment.version == 1:
        wanted = requirement(1, base_url, pay_to, price, path)
        document |= {"scheme": wanted["scheme"], "network": wanted["network"]}
    else:
        terms = offered_terms(base_url, pay_to, price, path)
        wanted = terms["accepts"][0]
        document |= {"accepted": wanted, "resource": terms["resource"], "extensions": terms["extensions"]}
    return {"x402Version": payment.version, "paymentPayload": document, "paymentRequirements": wanted}


def is_signed_by_payer(payment: Payment) -> bool | None:
    """Return whether the payer's own key made the signature; None for a contract wallet's longer signature."""
    if not payment.is_plain:
        return None
    signature = bytes.fromhex(payment.signature[2:])
    from coincurve import PublicKey  # imported here, because only payments need it

    recovery = _RECOVERY.get(signature[64])
    if recovery is None or int.from_bytes(signature[32:64]) > _HALF_ORDER:
        return False
    try:
        key = PublicKey.from_signature_and_message(signature[:64] + bytes([recovery]), digest(payment), hasher=None)
    except ValueError:
        return False
    return keccak256(key.format(compressed=False)[1:])[12:].hex() == payment.payer[2:]


def digest(payment: Payment) -> bytes:
    """Return the 32 bytes that are signed: a TransferWithAuthorization in the domain of USDC on Base."""
    numbers = (payment.value, payment.valid_after, payment.valid_before)
    parties = _word(payment.payer) + _word(payment.to) + b"".join(number.to_bytes(32) for number in numbers)
    fields = keccak256(_TRANSFER_TYPE.encode()) + parties + bytes.fromhex(payment.nonce[2:])
    return keccak256(b"\x19\x01" + domain_separator() + keccak256(fields))


@cache
def domain_separator() -> bytes:
    """Return the DOMAIN_SEPARATOR() of USDC on Base."""
    names = (keccak256(DOMAIN[name].encode()) for name in ("name", "version"))
    return keccak256(b"".join((keccak256(_DOMAIN_TYPE.encode()), *names, CHAIN_ID.to_bytes(32), _word(USDC))))


def _document(header: str) -> dict[str, Any]:
    if len(header) > MAX_HEADER:
        raise malformed("invalid_payload", f"the payment header exceeds {MAX_HEADER} characters")
    try:
        # Some wallets send the URL-safe alphabet, or omit the padding.
        plain = header.strip().rstrip("=").translate(str.maketrans("-_", "+/"))
        document = orjson.loads(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        raise malformed("invalid_payload", "the payment header must be base64-encoded JSON") from None
    if not isinstance(document, dict):
        raise malformed("invalid_payload", "the decoded payment header must be a JSON object")
    return document


def _with_v(signature: str) -> str:
    """Return a signature as USDC accepts it: some wallets sign with the recovery id, 0 or 1, instead of `v`."""
    if len(signature) != _PLAIN_LENGTH:
        return signature
    return signature[:-2] + {"00": "1b", "01": "1c"}.get(signature[-2:], signature[-2:])


def _member_object(document: dict[str, Any], name: str) -> dict[str, Any]:
    part = document.get(name)
    if not isinstance(part, dict):
        raise malformed("invalid_payload", f"{name} is missing or no object")
    return part


def _matching(part: dict[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    value = part.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise malformed("invalid_payload", f"{name} is missing or malformed")
    return value


def _lower(value: object) -> str:
    return value.lower() if isinstance(value, str) else ""


def _word(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")
