"""The facilitators in the owner's order: which one is asked, what its answer means, and when the next may be.

A verification can go to the next one at will. A settlement goes on only where the last one surely moved nothing: not
reached, refused at the door, or failed by its own account without a transaction. Reasons are classified, never matched
exhaustively: hosted facilitators know two hundred codes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from api.access.x402.cdp_token import token
from api.access.x402.json_post import JsonReply, NoReply, NotReached, post
from api.access.x402.payload import Payment
from api.access.x402.requirements import NETWORK, NETWORK_V1, NONCE_USED
from api.settings import Facilitator

TROUBLE = frozenset(
    {
        "invalid_exact_evm_failed_to_execute_transfer",
        "invalid_exact_evm_transaction_simulation_failed",
        "settle_exact_node_failure",
        "transaction_failed",
        "unexpected_settle_error",
        "unexpected_verify_error",
        "unknown_error",
    }
)
"""Reasons that speak of the facilitator, not of the payment: another one may manage."""
_SPENT = frozenset({NONCE_USED, "duplicate_settlement"})
_PENDING = "settlement_pending"
_CODE = re.compile(r"[a-z0-9_]{1,80}")
_TX = re.compile(r"0x[0-9a-fA-F]{64}")
_REST_S = 30.0
"""A facilitator that did not answer is asked last for so long."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker waits, in seconds; a settlement and everything round it must end well within the ledger's lease."""

    connect: float = 2.0
    verify: float = 5.0
    settle: float = 20.0
    pending: float = 1.0


@dataclass(frozen=True, slots=True)
class Verified:
    by: str


@dataclass(frozen=True, slots=True)
class Settled:
    """`tx` is empty where the transfer is inferred: the authorization was spent by an attempt of ours before."""

    tx: str


@dataclass(frozen=True, slots=True)
class Refused:
    code: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nobody took the question: nothing moved."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """It may have moved; `tx` where the facilitator named one."""

    tx: str = ""


@dataclass(slots=True)
class Facilitators:
    """Asks facilitators for a worker, and remembers for a while which of them did not answer."""

    listed: Sequence[Facilitator]
    patience: Patience
    clock: Callable[[], float] = time.monotonic
    _resting: dict[str, float] = field(default_factory=dict)

    def verify(self, payment: Payment, requirement: Mapping[str, Any]) -> Verified | Refused | Unreachable:
        """Whether the payment would settle, as the first facilitator says that can tell."""
        last: Refused | Unreachable = Unreachable()
        for facilitator in self._order(""):
            reply = self._ask(facilitator, "verify", payment, requirement, self.patience.verify)
            document = reply.document if isinstance(reply, JsonReply) else None
            if document is None or not isinstance(document.get("isValid"), bool) or _other_payer(document, payment):
                self._resting[facilitator.url] = self.clock() + _REST_S
                continue
            if document["isValid"]:
                return Verified(facilitator.url)
            code = _code(document.get("invalidReason"))
            if code not in TROUBLE:
                return Refused(code)
            last = Refused(code) if "simulation" in code else Unreachable()
        return last

    def spent(self, payment: Payment, requirement: Mapping[str, Any]) -> bool:
        """Whether a facilitator sees the authorization as used up. `requirement` is version 2's: to version 1 some name no reason."""
        document = payment.document | {"x402Version": 2, "accepted": requirement}
        question = replace(payment, version=2, document=document)
        verdict = self.verify(question, requirement)
        return isinstance(verdict, Refused) and verdict.code in _SPENT

    def settle(
        self,
        payment: Payment,
        requirement: Mapping[str, Any],
        first: str,
        moved: bool,
    ) -> Settled | Refused | Unreachable | Doubtful:
        """Moves the money once. `moved`: an earlier attempt may have done so, a spent authorization then means success."""
        tried = False
        for facilitator in self._order(first):
            outcome = self._settle_at(facilitator, payment, requirement, moved or tried)
            if outcome is not None and not isinstance(outcome, Unreachable):
                return outcome
            tried = tried or outcome is None
        return Doubtful() if tried else Unreachable()

    def _settle_at(
        self,
        facilitator: Facilitator,
        payment: Payment,
        requirement: Mapping[str, Any],
        moved: bool,
    ) -> Settled | Refused | Unreachable | Doubtful | None:
        """One facilitator's outcome; None where it failed by its own account and the next may be asked."""
        reply = self._ask(facilitator, "settle", payment, requirement, self.patience.settle)
        if isinstance(reply, JsonReply) and reply.document and reply.document.get("errorReason") == _PENDING:
            time.sleep(self.patience.pending)  # asked again with the same payment it tells how that one ended
            reply = self._ask(facilitator, "settle", payment, requirement, self.patience.settle)
        if isinstance(reply, NotReached):
            self._resting[facilitator.url] = self.clock() + _REST_S
            return Unreachable()
        if isinstance(reply, NoReply):
            return Doubtful()
        document = reply.document
        if document is None or not isinstance(document.get("success"), bool):
            # A 5xx, and a 200 without sense, tell nothing; any other status turned us away before the work.
            return Doubtful() if reply.status >= 500 or reply.status < 300 or reply.status == 408 else Unreachable()
        return _settlement(document, payment, moved)

    def _ask(
        self,
        facilitator: Facilitator,
        verb: str,
        payment: Payment,
        requirement: Mapping[str, Any],
        read_s: float,
    ) -> JsonReply | NotReached | NoReply:
        question = {
            "x402Version": payment.version,
            "paymentPayload": payment.document,
            "paymentRequirements": requirement,
        }
        url = f"{facilitator.url}/{verb}"
        try:
            return post(url, question, _authorization(facilitator, url), self.patience.connect, read_s)
        except (NotReached, NoReply) as fault:
            return fault

    def _order(self, first: str) -> list[Facilitator]:
        now = self.clock()
        return sorted(self.listed, key=lambda each: (each.url != first, self._resting.get(each.url, 0.0) > now))


def _settlement(document: Mapping[str, Any], payment: Payment, moved: bool) -> Settled | Refused | Doubtful | None:
    """What the body of a settlement means, whatever status it came with."""
    tx = document.get("transaction")
    named = tx if isinstance(tx, str) and _TX.fullmatch(tx) else ""
    if document["success"]:
        network = document.get("network") in (NETWORK, NETWORK_V1)
        return Settled(named) if named and network and not _other_payer(document, payment) else Doubtful(named)
    code = _code(document.get("errorReason"))
    if code in _SPENT and moved:
        return Settled(named)
    if code == _PENDING or (tx and code not in _SPENT):
        return Doubtful(named)
    if code in TROUBLE:
        return None
    return Refused(code)


def _other_payer(document: Mapping[str, Any], payment: Payment) -> bool:
    payer = document.get("payer")
    return isinstance(payer, str) and payer != "" and payer.lower() != payment.payer


def _code(reason: object) -> str:
    """A reason's code; anything that is not one (revert texts, stack traces) stays with us."""
    return reason if isinstance(reason, str) and _CODE.fullmatch(reason) else "payment_refused"


def _authorization(facilitator: Facilitator, url: str) -> dict[str, str]:
    if facilitator.auth == "bearer":
        return {"Authorization": f"Bearer {facilitator.secret}"}
    if facilitator.auth == "cdp":
        return {"Authorization": f"Bearer {token(facilitator.secret, 'POST', url, int(time.time()))}"}
    return {}
