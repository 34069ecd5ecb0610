"""Keep the balances and spent nonces of a token in memory, and check signatures as USDC does, without a chain."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.stand_ins.buyer import signer_of


@dataclass(slots=True)
class Book:
    """The state of a token, shared by any number of facilitators."""

    balances: dict[str, int] = field(default_factory=dict)
    spent: dict[str, str] = field(default_factory=dict)
    """Maps each spent nonce to the hash of the transaction that spent it."""
    transfers: list[dict[str, Any]] = field(default_factory=list)
    """Every transfer, with `from`, `to`, `value`, `nonce`, `tx` and `at` (Unix seconds).

    The nonce is empty for a transfer without an authorization.
    """
    lock: threading.Lock = field(default_factory=threading.Lock)

    def verify(self, body: dict[str, Any]) -> dict[str, Any]:
        signed, reason = self._checked(body)
        return {"isValid": not reason, "payer": signed["from"]} | ({"invalidReason": reason} if reason else {})

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        network = "base" if body["x402Version"] == 1 else "eip155:8453"
        with self.lock:
            signed, reason = self._checked(body)
            answer = {"success": not reason, "payer": signed["from"], "network": network, "transaction": ""}
            if reason:
                return answer | {"errorReason": reason, "errorMessage": "revert at 10.0.0.7"}
            tx = "0x" + hashlib.sha256(signed["nonce"].encode()).hexdigest()
            self.move(signed, tx)
        return answer | {"transaction": tx}

    def move(self, signed: dict[str, str], tx: str) -> None:
        """Move the value of the authorization `signed` in the transaction `tx`, without checks.

        The caller must hold the lock if the book is being served.
        """
        payer, payee, value = signed["from"].lower(), signed["to"].lower(), int(signed["value"])
        self.balances[payer] = self.balances.get(payer, 0) - value
        self.balances[payee] = self.balances.get(payee, 0) + value
        nonce = signed.get("nonce", "")
        if nonce:
            self.spent[nonce] = tx
        at = int(time.time())
        self.transfers.append({"from": payer, "to": payee, "value": value, "nonce": nonce, "tx": tx, "at": at})

    def _checked(self, body: dict[str, Any]) -> tuple[dict[str, str], str]:
        payload = body["paymentPayload"]["payload"]
        signed, wanted = payload["authorization"], body["paymentRequirements"]
        tests = (
            (signer_of(signed, payload["signature"]) == signed["from"].lower(), "invalid_exact_evm_payload_signature"),
            (signed["to"].lower() == wanted["payTo"].lower(), "invalid_exact_evm_payload_recipient_mismatch"),
            (
                signed["value"] == wanted.get("amount", wanted.get("maxAmountRequired")),
                "invalid_exact_evm_payload_authorization_value",
            ),
            (int(signed["validAfter"]) < time.time(), "invalid_exact_evm_payload_authorization_valid_after"),
            (int(signed["validBefore"]) > time.time(), "invalid_exact_evm_payload_authorization_valid_before"),
            (signed["nonce"] not in self.spent, "invalid_exact_evm_nonce_already_used"),
            (
                self.balances.get(signed["from"].lower(), 0) >= int(signed["value"]),
                "invalid_exact_evm_insufficient_balance",
            ),
        )
        return signed, next((reason for fits, reason in tests if not fits), "")
