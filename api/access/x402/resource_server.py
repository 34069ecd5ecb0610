"""Access by payment (x402, versions 1 and 2): make the answer, verify, settle, and only then send it.

What became of every signed authorization stands in the ledger, so that a payment is taken once, and an answer that was
paid for is given out again. An error, a HEAD, a 304, an empty answer and overdue figures cost nothing and reach no
facilitator. Before any answer that is not a success after a facilitator saw the payment, the chain is asked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.ledger import Ledger, LedgerEntry, PaymentTerms
from api.access.prices import price_of
from api.access.values import Answer, Call, Grant, Headers, Receipt, Refusal
from api.access.x402 import requirements
from api.access.x402.chain import Chain, ChainUnavailable, Paid
from api.access.x402.confirmation import confirmed
from api.access.x402.facilitators import (
    Doubtful,
    Facilitators,
    Outcome,
    Patience,
    Refused,
    Settled,
    Unreachable,
)
from api.access.x402.payload import MalformedPayment, Payment, decode, mismatch
from api.access.x402.payment_log import note
from api.access.x402.reconciler import Reconciler
from api.access.x402.signature import is_by_undeployed_wallet, is_plain, is_signed_by_payer
from api.settings import Facilitator, Settings

_LOG = logging.getLogger("emds.payments")
_TEND_EVERY_S = 30
_CLOCKS_DIFFER_S = 5
_PRIVATE: Headers = (("Cache-Control", "private, no-store"),)


@dataclass(frozen=True, slots=True)
class Spans:
    """How long this service keeps its word, in seconds, and how many payments a worker settles at once."""

    lease: int = 90
    """A call that holds a payment longer is dead: a verification, two settlements and their checks take 70."""
    replay: int = 300
    """So long a settled answer is given again to its own payment: then the signature is public on the chain."""
    replays: int = 3
    confirm: float = 6.0
    """So long the owner's node may lag behind the facilitator's."""
    unproven: int = 20
    """So many answers in all go out on a facilitator's word alone while the owner's node does not answer."""
    at_once: int = 16
    """Of a worker's 64 threads: however slow the facilitators, the others serve."""
    patience: Patience = field(default_factory=Patience)


class X402ResourceServer:
    """Takes payments for one worker."""

    def __init__(
        self, settings: Settings, ledger: Ledger, live: bool, clock: Callable[[], float], spans: Spans | None = None
    ) -> None:
        self._settings, self._ledger, self._clock = settings, ledger, clock
        self._spans = spans or Spans()
        listed: Sequence[Facilitator] = [each for each in settings.facilitators if live or each.loopback]
        self.open = bool(settings.pay_to and listed) and not settings.lacks_node(listed)
        """Whether payments are taken: a receiver, a facilitator (for simulated figures one on loopback), and for real
        money a node of the chain."""
        self._facilitators = Facilitators(listed, self._spans.patience)
        self._chain = Chain(settings.rpc_url) if settings.rpc_url else None
        self._reconciler = Reconciler(ledger, self._chain, clock)
        self._waits = threading.BoundedSemaphore(self._spans.at_once)
        self._tended = 0.0

    def offer(self, call: Call, error: str = "") -> Refusal:
        """The 402 of a call; where payments are not taken it names the other ways in."""
        if not self.open:
            return requirements.offer(self._settings.base_url, "", call.price, call.path, requirements.CLOSED)
        self._tend()
        error = error or requirements.UNPAID
        return requirements.offer(self._settings.base_url, self._settings.pay_to, call.price, call.path, error)

    def offer_beside(self, refusal: Refusal, call: Call) -> Refusal:
        """Another refusal that also carries the offer for version 2, where payments are taken."""
        if not self.open:
            return refusal
        offered = [header for header in self.offer(call).headers if header[0] == "PAYMENT-REQUIRED"]
        detail = f"{refusal.detail} A payment (x402) is taken now."
        return replace(refusal, detail=detail, headers=(*refusal.headers, *offered))

    def admit(self, call: Call) -> Grant | Answer | Refusal:
        """A grant for a payment that fits the offer and is signed by its payer, or what became of it before."""
        self._tend()
        try:
            payment = decode(call.payment)
        except MalformedPayment as fault:
            return requirements.malformed(fault.code, str(fault))
        terms = self._terms(payment, call)
        entry = self._ledger.find(terms)
        if entry and self._lapsed(entry):
            self._ledger.expire(self._now, self._spans.lease, self._spans.replay)
            entry = self._ledger.find(terms)
        if entry and entry.state != "released":
            return self._again(entry, payment, terms, call)
        return self._first(payment, terms, call, fresh=entry is None)

    def reconcile(self) -> None:
        """Frees what dead workers held and asks the chain about payments in doubt."""
        self._ledger.expire(self._now, self._spans.lease, self._spans.replay)
        self._reconciler.decide_open()

    # A payment's first time

    def _first(self, payment: Payment, terms: PaymentTerms, call: Call, fresh: bool) -> Grant | Answer | Refusal:
        """Lets a payment in. `fresh`: the ledger never saw it, so that nothing can have moved for it here."""
        if code := mismatch(payment, terms.pay_to, price_of(call.price).units, self._now):
            return self.offer(call, code)
        if not is_signed_by_payer(payment) and not self._may_be_by_wallet(payment):
            return self.offer(call, requirements.BAD_SIGNATURE)
        if fresh and self._facilitators.all_rest():
            return requirements.unreachable()
        if not self._waits.acquire(blocking=False):
            return requirements.crowded()
        entry = None
        try:
            entry = self._ledger.claim(terms, self._now)
        finally:
            if entry is None:
                self._waits.release()
        if entry is None:  # another call with the same payment was faster
            earlier = self._ledger.find(terms)
            return self._again(earlier, payment, terms, call) if earlier else requirements.busy()
        note(entry)
        return self._grant(entry, payment, call)

    def _grant(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant:
        """A grant that holds one of the places for payments under way until the answer is settled or given up."""

        def settle(made: Answer) -> Receipt | Refusal:
            try:
                return self._charge(entry, payment, call, made)
            finally:
                self._waits.release()

        def release() -> None:
            try:
                self._release(entry)
            finally:
                self._waits.release()

        return Grant("payment", settle, release)

    def _charge(self, entry: LedgerEntry, payment: Payment, call: Call, made: Answer) -> Receipt | Refusal:
        if made.status != 200 or not made.rows:
            self._release(entry)
            return Receipt(_PRIVATE)
        try:
            return self._settle(entry, payment, call, made)
        except AccountsUnavailable as fault:  # a row in settling is in doubt when its lease is over
            _LOG.error("the ledger does not answer during a settlement: %s", fault)
            return requirements.doubtful()

    def _settle(self, entry: LedgerEntry, payment: Payment, call: Call, made: Answer) -> Receipt | Refusal:
        requirement = self._requirement(payment.version, call)
        verdict = self._facilitators.verify(payment, requirement)
        if isinstance(verdict, Refused | Unreachable):
            return self._not_verified(entry, verdict, payment, call, made)
        claimed = self._ledger.settling(entry, self._now, verdict.by, made)
        if claimed is None:
            return requirements.busy()
        outcome = self._facilitators.settle(payment, requirement, verdict.by, partial(self._has_moved, claimed))
        return self._conclude(claimed, self._confirmed(claimed, outcome), payment, call)

    def _not_verified(
        self, entry: LedgerEntry, verdict: Refused | Unreachable, payment: Payment, call: Call, made: Answer
    ) -> Receipt | Refusal:
        """No facilitator would settle it; one may have done so nevertheless, now or when the payment came before."""
        seen = self._confirmed(entry, verdict)
        if isinstance(seen, Settled) and self._is_own(entry, seen):
            claimed = self._ledger.settling(entry, self._now, "", made)
            return self._conclude(claimed, seen, payment, call) if claimed else requirements.busy()
        self._release(entry)
        return self.offer(call, verdict.code) if isinstance(verdict, Refused) else requirements.unreachable()

    def _conclude(
        self, claimed: LedgerEntry, outcome: Outcome, payment: Payment, call: Call, owed: bool = False
    ) -> Receipt | Refusal:
        """Writes down how a settlement ended, and answers so. `owed`: an earlier call made the answer."""
        if isinstance(outcome, Settled):
            return self._taken(claimed, outcome, payment, call, owed)
        if isinstance(outcome, Refused) and not owed:
            note(self._ledger.failed(claimed, self._now, outcome.code, final=self._chain is None))
            refusal = self.offer(call, outcome.code)
            receipt = requirements.receipt(payment.version, payment.payer, "", outcome.code)
            return replace(refusal, headers=(*refusal.headers, *receipt))
        if isinstance(outcome, Unreachable) and not owed:
            self._release(claimed)
            return requirements.unreachable()
        note(self._ledger.unknown(claimed, self._now, outcome.tx if isinstance(outcome, Doubtful) else ""))
        return requirements.doubtful()

    def _taken(
        self, claimed: LedgerEntry, outcome: Settled, payment: Payment, call: Call, owed: bool
    ) -> Receipt | Refusal:
        settled = self._reconciler.write_settled(claimed, outcome, answered=not owed)
        if settled is None or settled.state != "settled":
            return requirements.busy() if settled is None else self.offer(call, settled.error)
        return Receipt((*requirements.receipt(payment.version, payment.payer, outcome.tx), *_PRIVATE))

    def _release(self, entry: LedgerEntry) -> None:
        note(self._ledger.released(entry, self._now))

    # The same authorization again

    def _again(self, entry: LedgerEntry, payment: Payment, terms: PaymentTerms, call: Call) -> Grant | Answer | Refusal:
        if entry.state in ("claimed", "settling"):
            return requirements.busy()
        if entry.state == "failed" and entry.has_answer and entry.same(terms):
            entry = self._reconciler.decide(entry) or entry  # the money may have moved after the refusal
        if entry.state == "failed":
            return self.offer(call, entry.error)
        if not entry.same(terms):
            return requirements.bound() if entry.state == "unknown" else self.offer(call, requirements.NONCE_USED)
        return self._retry(entry, payment, call) if entry.state == "unknown" else self._replay(entry, payment, call)

    def _retry(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant | Answer | Refusal:
        """A payment in doubt: as the chain knows it, else settled once more, which moves nothing that moved before."""
        if not self._waits.acquire(blocking=False):
            return requirements.doubtful()
        try:
            seen = (
                self._reconciler.decide(entry) or self._ledger.find(entry.terms) or entry
            )  # another worker may be faster
            if seen.state != "unknown":
                return self._again(seen, payment, seen.terms, call)
            claimed = self._ledger.settling(seen, self._now)
            if claimed is None:
                return requirements.busy()
            requirement = self._requirement(payment.version, call)
            moved = partial(self._has_moved, claimed)
            outcome = self._facilitators.settle(payment, requirement, claimed.facilitator, moved)
            result = self._conclude(claimed, self._confirmed(claimed, outcome), payment, call, owed=True)
        finally:
            self._waits.release()
        settled = self._ledger.find(claimed.terms)
        if isinstance(result, Refusal) or settled is None:
            return result if isinstance(result, Refusal) else requirements.busy()
        return self._replay(settled, payment, call)

    def _replay(self, entry: LedgerEntry, payment: Payment, call: Call) -> Grant | Answer | Refusal:
        """The kept answer of a settled payment; where none was kept and none went out, it is made again."""
        answer = self._ledger.replay(entry, self._now, self._spans.replay, self._spans.replays)
        receipt = requirements.receipt(payment.version, payment.payer, entry.tx)
        if answer is None and entry.owed(self._now):
            return Grant("payment", lambda made: self._deliver(entry, receipt, made), _nothing_to_release)
        if answer is None:
            return self.offer(call, requirements.NONCE_USED)
        replaced = {"cache-control", "content-length", "date"}
        kept = tuple(header for header in answer.headers if header[0].lower() not in replaced)
        return replace(answer, headers=(*kept, *receipt, ("X-Idempotent-Replay", "true"), *_PRIVATE))

    def _deliver(self, entry: LedgerEntry, receipt: Headers, made: Answer) -> Receipt | Refusal:
        """An owed answer goes out: it was paid for already."""
        if made.status != 200 or not made.rows:
            return Receipt(_PRIVATE)
        delivered = note(self._ledger.delivered(entry, self._now, made))
        return Receipt((*receipt, *_PRIVATE)) if delivered else requirements.busy()

    # Time and the chain

    def _confirmed(self, entry: LedgerEntry, outcome: Outcome) -> Outcome:
        """The outcome as the chain shows it, where a node is set. A facilitator whose claim it denies is left alone."""
        seen = confirmed(self._chain, entry, outcome, self._spans.confirm)
        if isinstance(outcome, Settled) and not isinstance(seen, Settled):
            self._facilitators.rest(entry.facilitator)
        if self._chain and isinstance(seen, Settled) and seen.log_index is None:  # the node does not answer
            trusted = self._ledger.unproven(requirements.NETWORK) < self._spans.unproven
            return seen if trusted else Doubtful(seen.tx)
        return seen

    def _has_moved(self, entry: LedgerEntry) -> bool:
        """Whether the chain shows the transfer right now."""
        with suppress(ChainUnavailable):
            return self._chain is not None and isinstance(self._chain.look(entry.terms, entry.created), Paid)
        return False

    def _is_own(self, entry: LedgerEntry, seen: Settled) -> bool:
        """Whether a transfer was made for this service: after it first saw the payment, not for another one before."""
        return entry.attempt > 1 or seen.at is None or seen.at >= entry.created - _CLOCKS_DIFFER_S

    def _may_be_by_wallet(self, payment: Payment) -> bool:
        """Whether a contract wallet may have signed, which only facilitators and the chain can judge."""
        if self._chain is None or is_by_undeployed_wallet(payment):
            return not is_plain(payment)
        if not self._waits.acquire(blocking=False):
            return False
        try:
            return self._chain.is_contract(payment.payer)
        except ChainUnavailable:
            return False
        finally:
            self._waits.release()

    def _tend(self) -> None:
        """Reconciles now and then, beside the call that happens to come."""
        now = time.monotonic()
        if now - self._tended > _TEND_EVERY_S:
            self._tended = now
            threading.Thread(target=self._tend_once, name="emds-reconcile", daemon=True).start()

    def _tend_once(self) -> None:
        try:
            self.reconcile()
        except AccountsUnavailable as fault:
            _LOG.warning("reconciling failed: %s", fault)

    def _lapsed(self, entry: LedgerEntry) -> bool:
        return entry.state in ("claimed", "settling") and entry.updated <= self._now - self._spans.lease

    @property
    def _now(self) -> int:
        return int(self._clock())

    def _requirement(self, version: int, call: Call) -> dict[str, Any]:
        settings = self._settings
        return requirements.requirement(version, settings.base_url, settings.pay_to, call.price, call.path)

    def _terms(self, payment: Payment, call: Call) -> PaymentTerms:
        return PaymentTerms(
            requirements.NETWORK,
            payment.payer,
            payment.nonce,
            payment.version,
            requirements.USDC,
            self._settings.pay_to.lower(),
            payment.value,
            payment.valid_before,
            call.path,
            call.fingerprint,
            payment.hash,
        )


def _nothing_to_release() -> None:
    """Nothing was reserved."""
