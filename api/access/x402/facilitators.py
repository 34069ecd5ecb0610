"""Send payments to the facilitators in the operator's order, and interpret their responses.

Trying the next one is always safe, even after an unknown outcome: an EIP-3009 authorization moves money once.
Reasons are classified and never matched exhaustively, as hosted facilitators know two hundred codes.
"""

from __future__ import annotations

import base64
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from api.access.x402.chain import Refused, Settled
from api.access.x402.circuits import EVERYONE, Circuits
from api.access.x402.json_post import JsonReply, post
from api.access.x402.ledger import NONCE_USED
from api.access.x402.offers import NETWORK, NETWORK_V1
from api.access.x402.payment import Payment
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
"""Reasons that concern the facilitator and not the payment. Another facilitator may succeed."""
SPENT = frozenset({NONCE_USED, "duplicate_settlement"})
"""Reasons that concern an authorization that is used up."""
_PENDING = "settlement_pending"
_TOKEN_LIFE_S = 120
_CODE = re.compile(r"[a-z0-9_]{1,80}")
_TX = re.compile(r"0x[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts of a worker, in seconds. All work on a payment ends well within the ledger's lease."""

    connect: float = 2.0
    verify: float = 5.0
    settle: float = 20.0
    pending: float = 1.0
    whole: float = 45.0
    """The limit for all settlements of a payment together."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No facilitator took the payment; `reached` is true if a facilitator received it."""

    reached: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The money may have moved. `tx` is set if the facilitator named it; `pending` if it still waits for a block."""

    tx: str = ""
    pending: bool = False


Outcome = Settled | Refused | Unreachable | Unknown


@dataclass(slots=True)
class Facilitators:
    """The facilitators of a worker. `question` is the request body (`payment.facilitator_request`)."""

    listed: Sequence[Facilitator]
    timeouts: Timeouts
    clock: Callable[[], float] = time.monotonic
    circuits: Circuits = field(init=False)

    def __post_init__(self) -> None:
        self.circuits = Circuits(self.clock)

    def verify(self, payment: Payment, question: Mapping[str, Any]) -> str | Refused | Unreachable:
        """Return the URL of the facilitator that confirms that the payment would settle; else the reason."""
        last: Refused | Unreachable = Unreachable()
        for facilitator in self._available(payment, "verify"):
            reply = self._post(facilitator, "verify", question, self.timeouts.verify)
            if reply is None:
                self.circuits.open(facilitator.url, "verify", EVERYONE)
                continue
            last, document = Unreachable(reached=True), reply.document
            if document is None or not isinstance(document.get("isValid"), bool) or _other_payer(document, payment):
                self.circuits.open(facilitator.url, "verify", payment.payer, _is_own_fault(reply, payment))
                continue
            self.circuits.close(facilitator.url, "verify")
            if document["isValid"]:
                return facilitator.url
            code = _code(document.get("invalidReason"))
            if code not in TROUBLE:
                return Refused(code)
            if "simulation" in code:
                last = Refused(code)
        return last

    def settle(self, payment: Payment, question: Mapping[str, Any], first: str) -> Outcome:
        """Move the money once, through the facilitator at `first` or else those after it."""
        until, unknown, reached = self.clock() + self.timeouts.whole, None, False
        for facilitator in self._available(payment, "settle", first):
            left = until - self.clock()
            if left <= 0:
                break
            reply = self._settle_at(facilitator, question, min(self.timeouts.settle, left))
            outcome = Unreachable() if reply is None else _outcome_of(reply, payment)
            if isinstance(outcome, Settled | Refused):
                self.circuits.close(facilitator.url, "settle")
                return outcome if isinstance(outcome, Settled) else unknown or outcome
            # A sent transaction shows the payer's fault. A later facilitator may find that the money has moved.
            sent = isinstance(outcome, Unknown) and outcome.tx and not outcome.pending
            if reply is None and not reached:
                self.circuits.open(facilitator.url, "settle", EVERYONE)
            elif reply is not None and not sent and not reached:
                self.circuits.open(facilitator.url, "settle", payment.payer, _is_own_fault(reply, payment))
            reached = reached or reply is not None
            if isinstance(outcome, Unknown):
                unknown = outcome
        return unknown or Unreachable(reached)

    def _settle_at(self, facilitator: Facilitator, question: Mapping[str, Any], read_s: float) -> JsonReply | None:
        reply = self._post(facilitator, "settle", question, read_s)
        if reply and reply.document and reply.document.get("errorReason") == _PENDING:
            time.sleep(self.timeouts.pending)  # the repeated payment then returns its outcome
            reply = self._post(facilitator, "settle", question, read_s) or reply
        return reply

    def _post(
        self, facilitator: Facilitator, verb: str, question: Mapping[str, Any], read_s: float
    ) -> JsonReply | None:
        url = f"{facilitator.url}/{verb}"
        token = facilitator.secret
        if facilitator.auth == "cdp":
            token = cdp_token(token, "POST", url, int(time.time()))
        headers = {"Authorization": f"Bearer {token}"} if facilitator.auth in ("bearer", "cdp") else {}
        return post(url, question, headers, self.timeouts.connect, read_s)

    def _available(self, payment: Payment, verb: str, first: str = "") -> Iterator[Facilitator]:
        """Yield the facilitators whose endpoint may receive a payment now, starting with `first`."""
        for facilitator in sorted(self.listed, key=lambda each: each.url != first):
            if self.circuits.admit(facilitator.url, payment.payer, payment.nonce, verb):
                yield facilitator


def _is_own_fault(reply: JsonReply, payment: Payment) -> bool:
    """Return whether a failure is the facilitator's: a timeout or a 5xx on a payment that was checked whole here.

    The signature of a contract wallet cannot be checked here, and any client can make one up.
    """
    is_in_form = reply.document is not None and isinstance(reply.document.get("success"), bool)
    return payment.is_plain and not is_in_form and (reply.status == 0 or reply.status >= 500)


def _outcome_of(reply: JsonReply, payment: Payment) -> Outcome:
    """Return the outcome that the response to a settlement shows."""
    document = reply.document
    if document is None or not isinstance(document.get("success"), bool):
        # A timeout, a 5xx and a 2xx without a result are inconclusive; any other status rejects the request.
        is_inconclusive = reply.status >= 500 or reply.status < 300 or reply.status == 408
        return Unknown() if is_inconclusive else Unreachable(reached=True)
    return _settlement(document, payment)


def _settlement(document: Mapping[str, Any], payment: Payment) -> Outcome:
    """Return the outcome that the body of a settlement shows, whatever its status."""
    tx = document.get("transaction")
    named = tx.lower() if isinstance(tx, str) and _TX.fullmatch(tx) else ""
    if document["success"]:
        network = document.get("network") in (NETWORK, NETWORK_V1)
        return Settled(named) if named and network and not _other_payer(document, payment) else Unknown()
    code = _code(document.get("errorReason"))
    if code in SPENT:
        return Unknown()  # used by this attempt, an earlier attempt, or the payer: only the chain shows which
    if code == _PENDING or tx:
        return Unknown(named, pending=code == _PENDING)
    return Unreachable(reached=True) if code in TROUBLE else Refused(code)


def _other_payer(document: Mapping[str, Any], payment: Payment) -> bool:
    payer = document.get("payer")
    return isinstance(payer, str) and payer != "" and payer.lower() != payment.payer


def _code(reason: object) -> str:
    """Return the code of a reason; other texts (revert texts, stack traces) are not forwarded."""
    return reason if isinstance(reason, str) and _CODE.fullmatch(reason) else "payment_refused"


def cdp_token(credentials: str, method: str, url: str, now: int) -> str:
    """Return the bearer token of Coinbase's facilitator: a JWT for `url`, signed with the operator's Ed25519 key.

    `credentials` is KEY_ID:SECRET. The secret is 64 bytes in base64, the seed and the public key
    (docs.cdp.coinbase.com/get-started/authentication).
    """
    # imported here, because only this facilitator needs its 20 MB
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    name, _, secret = credentials.partition(":")
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret)[:32])
    parts = urlsplit(url)
    header = {"alg": "EdDSA", "typ": "JWT", "kid": name, "nonce": secrets.token_hex(16)}
    uris = [f"{method} {parts.netloc}{parts.path}"]
    claims = {"sub": name, "iss": "cdp", "nbf": now, "exp": now + _TOKEN_LIFE_S, "uris": uris}
    signed = f"{_base64url(orjson.dumps(header))}.{_base64url(orjson.dumps(claims))}"
    return f"{signed}.{_base64url(key.sign(signed.encode()))}"


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
