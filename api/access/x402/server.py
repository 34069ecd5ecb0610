"""Grant access by payment (x402, versions 1 and 2): build the response, verify, settle, and only then send it.

The ledger records every signed authorization, so that a payment is taken once, and a paid response can be sent again.
This takes three transactions per payment: for the claim, before the settlement and after it. An error, a HEAD and a
304 are free and reach no facilitator. An empty response and overdue data are free too, but are sent only if a
facilitator confirms the payment. After a facilitator has seen the payment, the chain is read before any refusal.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from api.access.accounts_engine import AccountsUnavailable
from api.access.prices import units_of
from api.access.values import Call, Grant, Headers, WholeAnswer
from api.access.x402 import offers
from api.access.x402.chain import Chain, Refused, Settled
from api.access.x402.facilitators import Facilitators, Outcome, Timeouts, Unknown, Unreachable
from api.access.x402.ledger import NONCE_USED, Ledger, LedgerEntry, PaymentTerms
from api.access.x402.payment import Payment, decode, facilitator_request, is_signed_by_payer, mismatch
from api.access.x402.reconciler import Reconciler
from api.http.problems import Problem
from api.settings import Facilitator, Settings, is_loopback

_LOG = logging.getLogger("emds.payments")
_RECONCILE_EVERY_S = 30
_PRIVATE: Headers = (("Cache-Control", "private, no-store"),)


@dataclass(frozen=True, slots=True)
class PaymentLimits:
    """The time limits of payments in seconds, and the number that a worker settles at once."""

    lease: int = 90
    """The seconds after which a call is dead: a verification, two settlements and their checks take 70."""
    replay: int = 300
    """The seconds for which a payment can fetch its response again; by then its signature is public on the chain."""
    replays: int = 3
    confirm: float = 6.0
    """The seconds by which the operator's node may lag behind the facilitator's."""
    at_once: int = 16
    """A limit below a worker's 64 threads, so that slow facilitators leave threads for other requests."""
    timeouts: Timeouts = field(default_factory=Timeouts)


class X402ResourceServer:
    """Payment processing for a worker."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        live: bool,
        clock: Callable[[], float],
        limits: PaymentLimits | None = None,
    ) -> None:
        self._settings, self._ledger, self._clock = settings, ledger, clock
        self._limits = limits or PaymentLimits()
        listed: Sequence[Facilitator] = [each for each in settings.facilitators if live or is_loopback(each.url)]
        self.open = bool(settings.pay_to and listed) and not settings.lacks_node(listed)
        """Whether payments are taken. They need a receiver, a facilitator (on loopback for simulated data), and a node
        of the chain for real money."""
        self._facilitators = Facilitators(listed, self._limits.timeouts)
        self._reconciler = Reconciler(ledger, Chain(settings.rpc_url) if settings.rpc_url else None, clock)
        self._places = threading.BoundedSemaphore(self._limits.at_once)
        self._reconciled = 0.0

    def offer(self, call: Call, error: str = offers.UNPAID) -> Problem:
        """Return the 402 of a call; if payments are not taken, it names the other ways to get access."""
        if self.open:
            self._reconcile_in_background()
        pay_to, error = (self._settings.pay_to, error) if self.open else ("", offers.CLOSED)
        return offers.offer(self._settings.base_url, pay_to, call.price, call.path, error)

    def offer_beside(self, refusal: Problem, call: Call) -> Problem:
        """Return another refusal with the offer for version 2, if payments are taken."""
        if not self.open:
            return refusal
        offered = [header for header in self.offer(call).headers if header[0] == "PAYMENT-REQUIRED"]
        detail = f"{refusal.detail} You can pay for this request now (x402)."
        return Problem(refusal.kind, detail, members=refusal.members, headers=(*refusal.headers, *offered))

    def admit(self, call: Call) -> Grant | WholeAnswer | Problem:
        """Return a grant for a payment that fits the offer and is signed by its payer, or its earlier outcome."""
        self._reconcile_in_background()
        try:
            payment = decode(call.payment)
        except Problem as malformed:
            return malformed
        terms = self._terms(payment, call)
        code = mismatch(payment, terms.pay_to, units_of(call.price), self._now)
        if code is None and is_signed_by_payer(payment) is False:
            code = offers.BAD_SIGNATURE
        claimed, refusal = (None, self.offer(call, code)) if code else self._claim(terms)
        if claimed is not None:
            return self._grant(claimed, payment, call)
        entry = self._ledger.find(terms)
        if entry and entry.state in ("claimed", "settling") and entry.updated <= self._now - self._limits.lease:
            self._ledger.expire(self._now, self._limits.lease, self._limits.replay)
            entry = self._ledger.find(terms)
        if entry is None or entry.state == "released":
            return refusal
        try:
            return self._again(entry, payment, terms, call)
        except AccountsUnavailable as fault:
            return _in_doubt(fault)

    def reconcile(self) -> None:
        """Free the rows of dead workers and look up unknown outcomes on the chain."""
        try:
            self._ledger.expire(self._now, self._limits.lease, self._limits.replay)
            self._reconciler.decide_undecided()
        except AccountsUnavailable as fault:
            _LOG.warning("reconciling failed: %s", fault)

    # The first use of a payment

    def _claim(self, terms: PaymentTerms) -> tuple[LedgerEntry | None, Problem]:
        """Claim a payment and a place among those in progress; else return the reason."""
        if not self._places.acquire(blocking=False):
            return None, offers.CROWDED
        claimed = None
        try:
            claimed = self._ledger.claim(terms, self._now, self._limits.lease)
        finally:
            if claimed is None:
                self._places.release()
        return claimed, offers.BUSY

    def _grant(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant:
        """Return a grant that keeps its place until the response is settled or given up."""

        def settle(answer: WholeAnswer) -> Headers | Problem:
            costs, refusal = answer.status == 200 and answer.rows > 0, None
            try:
                if costs:
                    return self._settle(entry, payment, call, answer)
                if answer.status == 200 and answer.body:
                    refusal = self._refuse_unfunded(payment, call)
                self._ledger.released(entry, self._now)
            except AccountsUnavailable as fault:  # a settling row becomes unknown with its lease, another free
                refusal = _in_doubt(fault) if costs else refusal
            finally:
                self._places.release()
            return refusal or _PRIVATE

        return Grant("payment", settle)

    def _refuse_unfunded(self, payment: Payment, call: Call) -> Problem | None:
        """Return why a response that costs nothing is not sent; None if a facilitator confirms the payment.

        Without this check, a signature without money would buy every overdue document.
        """
        verdict = self._facilitators.verify(payment, self._question(payment, call))
        if isinstance(verdict, Refused):
            return self.offer(call, verdict.code)
        return offers.UNREACHABLE if isinstance(verdict, Unreachable) else None

    def _settle(self, entry: LedgerEntry, payment: Payment, call: Call, answer: WholeAnswer) -> Headers | Problem:
        question = self._question(payment, call)
        verdict = self._facilitators.verify(payment, question)
        if isinstance(verdict, Refused | Unreachable):
            return self._not_verified(entry, verdict, payment, call, answer)
        claimed = self._ledger.settling(entry, self._now, verdict, answer)
        if claimed is None:
            return offers.BUSY
        return self._conclude(claimed, self._settled_by_facilitators(claimed, payment, question), payment, call)

    def _not_verified(
        self, entry: LedgerEntry, verdict: Refused | Unreachable, payment: Payment, call: Call, answer: WholeAnswer
    ) -> Headers | Problem:
        """Return the result if no facilitator would settle; the payment may still have settled, now or earlier."""
        state = self._confirmed(entry, verdict)
        if isinstance(state, Settled):
            claimed = self._ledger.settling(entry, self._now, "", answer)
            return self._conclude(claimed, state, payment, call) if claimed else offers.BUSY
        self._ledger.released(entry, self._now)
        return self.offer(call, verdict.code) if isinstance(verdict, Refused) else offers.UNREACHABLE

    def _conclude(
        self, claimed: LedgerEntry, outcome: Outcome, payment: Payment, call: Call, owed: bool = False
    ) -> Headers | Problem:
        """Record the outcome of a settlement and return the result. `owed`: an earlier call made the response."""
        if isinstance(outcome, Settled):
            settled = self._ledger.settled(claimed, self._now, outcome.tx, outcome.log_index, answered=not owed)
            if settled is None or settled.state != "settled":
                return offers.BUSY if settled is None else self.offer(call, settled.error)
            return (*offers.receipt(payment.version, payment.payer, outcome.tx), *_PRIVATE)
        if isinstance(outcome, Refused) and not owed:
            self._ledger.failed(claimed, self._now, outcome.code)
            refusal = self.offer(call, outcome.code)
            receipt = offers.receipt(payment.version, payment.payer, "", outcome.code)
            return Problem(refusal.kind, refusal.detail, headers=(*refusal.headers, *receipt), body=refusal.body)
        if isinstance(outcome, Unreachable) and not owed:
            self._ledger.released(claimed, self._now)
            return offers.UNREACHABLE
        self._ledger.unknown(claimed, self._now, outcome.tx if isinstance(outcome, Unknown) else "")
        return offers.UNKNOWN

    # Repeated use of an authorization

    def _again(
        self, entry: LedgerEntry, payment: Payment, terms: PaymentTerms, call: Call
    ) -> Grant | WholeAnswer | Problem:
        if entry.state in ("claimed", "settling", "released"):
            return offers.BUSY
        if entry.state == "failed" and entry.error != NONCE_USED and entry.terms == terms:
            entry = self._reconciler.decide(entry) or entry  # the money may have moved since
        if entry.state == "failed":
            return self.offer(call, entry.error)
        if entry.terms != terms:
            return offers.BOUND if entry.state == "unknown" else self.offer(call, NONCE_USED)
        return self._retry(entry, payment, call) if entry.state == "unknown" else self._replay(entry, payment, call)

    def _retry(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant | WholeAnswer | Problem:
        """Process a payment with an unknown outcome: as the chain shows it, or by another settlement, which is safe."""
        if not self._places.acquire(blocking=False):
            return offers.UNKNOWN
        try:
            # Another worker may be faster.
            decided = self._reconciler.decide(entry) or self._ledger.find(entry.terms) or entry
            if decided.state != "unknown":
                return self._again(decided, payment, decided.terms, call)
            claimed = self._ledger.settling(decided, self._now)
            if claimed is None:
                return offers.BUSY
            outcome = self._settled_by_facilitators(claimed, payment, self._question(payment, call))
            result = self._conclude(claimed, outcome, payment, call, owed=True)
        finally:
            self._places.release()
        if isinstance(result, Problem):
            return result
        settled = self._ledger.find(claimed.terms)
        return self._replay(settled, payment, call) if settled else offers.BUSY

    def _replay(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant | WholeAnswer | Problem:
        """Return the stored response of a settled payment; an undelivered response that is not stored is rebuilt."""
        answer = self._ledger.replay(entry, self._now, self._limits.replay, self._limits.replays)
        receipt = offers.receipt(payment.version, payment.payer, entry.tx)
        if answer is None and entry.owed(self._now):
            return Grant("payment", lambda answer: self._deliver(entry, receipt, answer))
        if answer is None:
            return self.offer(call, NONCE_USED)
        replaced = {"cache-control", "content-length", "date"}
        headers = tuple(header for header in answer.headers if header[0].lower() not in replaced)
        return replace(answer, headers=(*headers, *receipt, ("X-Idempotent-Replay", "true"), *_PRIVATE))

    def _deliver(self, entry: LedgerEntry, receipt: Headers, answer: WholeAnswer) -> Headers | Problem:
        """Deliver a response that was paid for already."""
        if answer.status != 200 or not answer.rows:
            return _PRIVATE
        try:
            delivered = self._ledger.delivered(entry, self._now, answer)
        except AccountsUnavailable as fault:
            return _in_doubt(fault)
        return (*receipt, *_PRIVATE) if delivered else offers.BUSY

    # Time and the chain

    def _settled_by_facilitators(self, entry: LedgerEntry, payment: Payment, question: dict[str, Any]) -> Outcome:
        """Move the money, first through the facilitator that verified. Return the outcome as the chain shows it."""
        return self._confirmed(entry, self._facilitators.settle(payment, question, entry.facilitator))

    def _confirmed(self, entry: LedgerEntry, outcome: Outcome) -> Outcome:
        """Return the outcome as the chain shows it. If the chain denies a success, open the circuit for the payer."""
        confirmed = self._reconciler.confirm(entry, outcome, self._limits.confirm)
        if isinstance(outcome, Settled) and not isinstance(confirmed, Settled):
            self._facilitators.circuits.open(entry.facilitator, "settle", entry.terms.payer)
        return confirmed

    def _reconcile_in_background(self) -> None:
        """Start to reconcile in the background, at most once per _RECONCILE_EVERY_S."""
        now = time.monotonic()
        if now - self._reconciled > _RECONCILE_EVERY_S:
            self._reconciled = now
            threading.Thread(target=self.reconcile, name="emds-reconcile", daemon=True).start()

    @property
    def _now(self) -> int:
        return int(self._clock())

    def _question(self, payment: Payment, call: Call) -> dict[str, Any]:
        settings = self._settings
        return facilitator_request(payment, settings.base_url, settings.pay_to, call.price, call.path)

    def _terms(self, payment: Payment, call: Call) -> PaymentTerms:
        asset, pay_to, amount = offers.USDC, self._settings.pay_to.lower(), payment.value
        signed = (offers.NETWORK, payment.payer, payment.nonce, payment.version, asset, pay_to, amount)
        return PaymentTerms(*signed, payment.valid_before, call.path, call.fingerprint, payment.hash)


def _in_doubt(fault: AccountsUnavailable) -> Problem:
    """Log that the ledger failed after a payment may have moved money, and return the 503 that reports it."""
    _LOG.error("the ledger does not respond during a payment: %s", fault)
    return offers.UNKNOWN
