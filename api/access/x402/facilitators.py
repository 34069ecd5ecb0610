"""The facilitators in the owner's order: which one is asked, what its answer means, and when one is left alone.

Asking the next one is always safe, also after a settlement in doubt: an EIP-3009 authorization moves money once.
Reasons are classified, never matched exhaustively: hosted facilitators know two hundred codes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
SPENT = frozenset({NONCE_USED, "duplicate_settlement"})
"""Reasons that speak of an authorization that is used up."""
_PENDING = "settlement_pending"
_CODE = re.compile(r"[a-z0-9_]{1,80}")
_TX = re.compile(r"0x[0-9a-fA-F]{64}")
_FIRST_REST_S, _LONGEST_REST_S = 2.0, 60.0
"""A facilitator that failed is left alone for so long; each further failure doubles it."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker waits, in seconds; everything about one payment ends well within the ledger's lease."""

    connect: float = 2.0
    verify: float = 5.0
    settle: float = 20.0
    pending: float = 1.0
    whole: float = 45.0
    """For all settlements of one payment together."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The payment would settle; `by` is the address of the facilitator that said so."""

    by: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The money is ours by transaction `tx`; the rest is known where the chain confirmed it."""

    tx: str
    log_index: int | None = None
    at: int | None = None
    """The time of its block, Unix seconds."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Refused for the reason `code`."""

    code: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nobody took the payment. `reached`: somebody saw it."""

    reached: bool = False


@dataclass(frozen=True, slots=True)
class Doubtful:
    """It may have moved; `tx` where the facilitator named one, `pending` where it still waits for a block."""

    tx: str = ""
    pending: bool = False


Outcome = Settled | Refused | Unreachable | Doubtful


@dataclass(slots=True)
class Facilitators:
    """Asks facilitators for a worker, and leaves those alone for a while that failed."""

    listed: Sequence[Facilitator]
    patience: Patience
    clock: Callable[[], float] = time.monotonic
    _resting: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By address: until when, and for how long next time."""

    def verify(self, payment: Payment, requirement: Mapping[str, Any]) -> Verified | Refused | Unreachable:
        """Whether the payment would settle, as the first facilitator says that can tell."""
        last: Refused | Unreachable = Unreachable()
        for facilitator in self._awake(""):
            reply = self._ask(facilitator, "verify", payment, requirement, self.patience.verify)
            if isinstance(reply, NotReached):
                self.rest(facilitator.url)
                continue
            last = Unreachable(reached=True)
            document = reply.document if isinstance(reply, JsonReply) else None
            if document is None or not isinstance(document.get("isValid"), bool) or _other_payer(document, payment):
                self.rest(facilitator.url)
                continue
            if document["isValid"]:
                return Verified(facilitator.url)
            code = _code(document.get("invalidReason"))
            if code not in TROUBLE:
                return Refused(code)
            if "simulation" in code:
                last = Refused(code)
        return last

    def settle(
        self, payment: Payment, requirement: Mapping[str, Any], first: str, has_moved: Callable[[], bool]
    ) -> Outcome:
        """Moves the money once, by the facilitator at `first`, else by those after it.

        `has_moved` tells after a settlement in doubt whether the chain shows it already: then nobody else is asked.
        """
        until, doubt, reached = self.clock() + self.patience.whole, Doubtful(), False
        doubted = False
        for facilitator in self._awake(first):
            left = until - self.clock()
            if left <= 0:
                break
            outcome = self._settle_at(facilitator, payment, requirement, min(self.patience.settle, left))
            if isinstance(outcome, Settled):
                self._resting.pop(facilitator.url, None)
                return outcome
            if isinstance(outcome, Refused):
                return doubt if doubted else outcome
            if isinstance(outcome, Doubtful):
                doubt, doubted = Doubtful(outcome.tx or doubt.tx), True
            reached = reached or not isinstance(outcome, Unreachable) or outcome.reached
            self.rest(facilitator.url)
            if isinstance(outcome, Doubtful) and (outcome.pending or has_moved()):
                return doubt
        return doubt if doubted else Unreachable(reached)

    def _settle_at(
        self, facilitator: Facilitator, payment: Payment, requirement: Mapping[str, Any], read_s: float
    ) -> Outcome:
        reply = self._ask(facilitator, "settle", payment, requirement, read_s)
        if isinstance(reply, JsonReply) and reply.document and reply.document.get("errorReason") == _PENDING:
            time.sleep(self.patience.pending)  # asked again with the same payment, it tells how that one ended
            reply = self._ask(facilitator, "settle", payment, requirement, read_s)
        if isinstance(reply, NotReached):
            return Unreachable()
        if isinstance(reply, NoReply):
            return Doubtful()
        document = reply.document
        if document is None or not isinstance(document.get("success"), bool):
            # A 5xx, and a 200 without sense, tell nothing; any other status turned us away before the work.
            is_inconclusive = reply.status >= 500 or reply.status < 300 or reply.status == 408
            return Doubtful() if is_inconclusive else Unreachable(reached=True)
        return _settlement(document, payment)

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

    def _awake(self, first: str) -> list[Facilitator]:
        """Those that are not resting, the one at `first` before the others."""
        now = self.clock()
        awake = [each for each in self.listed if self._resting.get(each.url, (0.0, 0.0))[0] <= now]
        return sorted(awake, key=lambda each: each.url != first)

    def all_rest(self) -> bool:
        """Whether nobody can be asked at the moment."""
        return not self._awake("")

    def rest(self, url: str) -> None:
        """Leaves a facilitator alone for a while, for longer each time until it settles a payment."""
        span = self._resting.get(url, (0.0, _FIRST_REST_S))[1]
        self._resting[url] = (self.clock() + span, min(2 * span, _LONGEST_REST_S))


def _settlement(document: Mapping[str, Any], payment: Payment) -> Outcome:
    """What the body of a settlement means, whatever status it came with."""
    tx = document.get("transaction")
    named = tx.lower() if isinstance(tx, str) and _TX.fullmatch(tx) else ""
    if document["success"]:
        network = document.get("network") in (NETWORK, NETWORK_V1)
        return Settled(named) if named and network and not _other_payer(document, payment) else Doubtful(named)
    code = _code(document.get("errorReason"))
    if code in SPENT:
        return Doubtful()  # used by this attempt, an earlier one, or the payer himself: only the chain can tell
    if code == _PENDING or tx:
        return Doubtful(named, pending=code == _PENDING)
    return Unreachable(reached=True) if code in TROUBLE else Refused(code)


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
