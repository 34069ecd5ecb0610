"""Access by payment (x402, versions 1 and 2): make the answer, verify, settle, and only then send it.

What became of every signed authorization stands in the ledger, so that a payment is taken once, and an answer that was
paid for is given out again: three transactions a payment, to claim it, before it is settled, and after. An error, a
HEAD and a 304 cost nothing and reach no facilitator. An empty answer and overdue figures cost nothing either, but are
sent only if a facilitator confirms the payment. Before any answer that is not a success after a facilitator saw the
payment, the chain is asked.
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
    """How long this service keeps its word, in seconds, and how many payments a worker settles at once."""

    lease: int = 90
    """A call that holds a payment longer is dead: a verification, two settlements and their checks take 70."""
    replay: int = 300
    """So long a settled answer is given again to its own payment: then the signature is public on the chain."""
    replays: int = 3
    confirm: float = 6.0
    """So long the owner's node may lag behind the facilitator's."""
    at_once: int = 16
    """Of a worker's 64 threads: however slow the facilitators, the others serve."""
    timeouts: Timeouts = field(default_factory=Timeouts)


class X402ResourceServer:
    """Takes payments for one worker."""

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
        """Whether payments are taken: a receiver, a facilitator (for simulated figures one on loopback), and for real
        money a node of the chain."""
        self._facilitators = Facilitators(listed, self._limits.timeouts)
        self._reconciler = Reconciler(ledger, Chain(settings.rpc_url) if settings.rpc_url else None, clock)
        self._places = threading.BoundedSemaphore(self._limits.at_once)
        self._reconciled = 0.0

    def offer(self, call: Call, error: str = offers.UNPAID) -> Problem:
        """Return the 402 of a call; where payments are not taken it names the other ways in."""
        if self.open:
            self._reconcile_in_background()
        pay_to, error = (self._settings.pay_to, error) if self.open else ("", offers.CLOSED)
        return offers.offer(self._settings.base_url, pay_to, call.price, call.path, error)

    def offer_beside(self, refusal: Problem, call: Call) -> Problem:
        """Return another refusal that also carries the offer for version 2, where payments are taken."""
        if not self.open:
            return refusal
        offered = [header for header in self.offer(call).headers if header[0] == "PAYMENT-REQUIRED"]
        detail = f"{refusal.detail} You can pay for this request now (x402)."
        return Problem(refusal.kind, detail, members=refusal.members, headers=(*refusal.headers, *offered))

    def admit(self, call: Call) -> Grant | WholeAnswer | Problem:
        """Return a grant for a payment that fits the offer and is signed by its payer, or what became of it before."""
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
        return refusal if entry is None or entry.state == "released" else self._again(entry, payment, terms, call)

    def reconcile(self) -> None:
        """Free what dead workers held and ask the chain about payments in doubt."""
        try:
            self._ledger.expire(self._now, self._limits.lease, self._limits.replay)
            self._reconciler.decide_undecided()
        except AccountsUnavailable as fault:
            _LOG.warning("reconciling failed: %s", fault)

    # A payment's first time

    def _claim(self, terms: PaymentTerms) -> tuple[LedgerEntry | None, Problem]:
        """Claim a payment with one of the places for payments under way; else return why not."""
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
        """Return a grant that holds its place until the answer is settled or given up."""

        def settle(answer: WholeAnswer) -> Headers | Problem:
            costs, refusal = answer.status == 200 and answer.rows > 0, None
            try:
                if costs:
                    return self._settle(entry, payment, call, answer)
                if answer.status == 200 and answer.body:
                    refusal = self._refuse_unfunded(payment, call)
                self._ledger.released(entry, self._now)
            except AccountsUnavailable as fault:  # a row in settling is in doubt when its lease is over, another free
                _LOG.error("the ledger does not answer during a settlement: %s", fault)
                refusal = offers.UNKNOWN if costs else refusal
            finally:
                self._places.release()
            return refusal or _PRIVATE

        return Grant("payment", settle)

    def _refuse_unfunded(self, payment: Payment, call: Call) -> Problem | None:
        """Return why a response that costs nothing is not sent; None if a facilitator confirms the payment.

        Otherwise a signature without money would buy every overdue document.
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
        """Answer where no facilitator would settle; one may have done so nevertheless, now or when it came before."""
        state = self._confirmed(entry, verdict)
        if isinstance(state, Settled):
            claimed = self._ledger.settling(entry, self._now, "", answer)
            return self._conclude(claimed, state, payment, call) if claimed else offers.BUSY
        self._ledger.released(entry, self._now)
        return self.offer(call, verdict.code) if isinstance(verdict, Refused) else offers.UNREACHABLE

    def _conclude(
        self, claimed: LedgerEntry, outcome: Outcome, payment: Payment, call: Call, owed: bool = False
    ) -> Headers | Problem:
        """Record how a settlement ended, and answer so. `owed`: an earlier call made the answer."""
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

    # The same authorization again

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
        """Answer a payment in doubt: as the chain knows it, else settled once more, which moves no money twice."""
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
        """Return the stored answer of a settled payment; where none is stored and none went out, it is made again."""
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
        """Give out an owed answer, which was paid for already."""
        if answer.status != 200 or not answer.rows:
            return _PRIVATE
        delivered = self._ledger.delivered(entry, self._now, answer)
        return (*receipt, *_PRIVATE) if delivered else offers.BUSY

    # Time and the chain

    def _settled_by_facilitators(self, entry: LedgerEntry, payment: Payment, question: dict[str, Any]) -> Outcome:
        """Have the money moved, first by the facilitator that verified. Return the outcome as the chain shows it."""
        return self._confirmed(entry, self._facilitators.settle(payment, question, entry.facilitator))

    def _confirmed(self, entry: LedgerEntry, outcome: Outcome) -> Outcome:
        """Return the outcome as the chain shows it. The circuit opens for the payer if the chain denies a success."""
        confirmed = self._reconciler.confirm(entry, outcome, self._limits.confirm)
        if isinstance(outcome, Settled) and not isinstance(confirmed, Settled):
            self._facilitators.circuits.open(entry.facilitator, "settle", entry.terms.payer)
        return confirmed

    def _reconcile_in_background(self) -> None:
        """Reconcile now and then, beside the call that happens to come."""
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
