"""Run the official SDK's facilitator on a chain.

It verifies payments by simulation and settles them by transactions.
"""

from __future__ import annotations

from typing import Any

from x402.facilitator import x402FacilitatorSync
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.schemas.helpers import parse_payment_payload, parse_payment_requirements


class Official:
    """The core of a facilitator that pays gas from one key."""

    def __init__(self, rpc_url: str, key: str) -> None:
        self._sdk = x402FacilitatorSync()
        register_exact_evm_facilitator(self._sdk, FacilitatorWeb3Signer(key, rpc_url), "eip155:8453")

    def verify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._sdk.verify(*_parsed(body)).model_dump(by_alias=True, exclude_none=True)

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._sdk.settle(*_parsed(body)).model_dump(by_alias=True, exclude_none=True)


def _parsed(body: dict[str, Any]) -> tuple[Any, Any]:
    version = body["x402Version"]
    return parse_payment_payload(body["paymentPayload"]), parse_payment_requirements(
        version, body["paymentRequirements"]
    )
