"""The door for who pays by the call (x402, versions 1 and 2): verify, make the answer, settle, and only then let it go.

What became of every signed authorization stands in the ledger, so that a payment is taken once and an answer that was
paid for is given out again. Nothing is charged for an error, a 304 or an empty answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from api.access.accounts.ledger import Ledger, LedgerEntry, PaymentTerms
from api.access.accounts.tables import AccountsUnavailable
from api.access.prices import PRICES
from api.access.values import Answer, Call, Grant, Receipt, Refusal
from api.access.x402 import requirements as say
from api.access.x402.chain import Cancelled, Chain, ChainUnavailable, Paid, Unspent
from api.access.x402.facilitators import Doubtful, Facilitators, Patience, Refused, Settled, Unreachable
from api.access.x402.payload import MalformedPayment, Payment, decode, mismatch
from api.settings import Facilitator, Settings

_LOG = logging.getLogger("emds.payments")
_TEND_EVERY_S = 30

Outcome = Settled | Refused | Unreachable | Doubtful


@dataclass(frozen=True, slots=True)
class Spans:
    """How long this service keeps its word, in seconds."""

    lease: int = 60
    """A call that holds a payment longer is dead: two settlements and their checks take 50."""
    replay: int = 300
    """So long a settled answer is given again to its own payment: then the signature is public on the chain."""
    replays: int = 3
    confirm: float = 6.0
    """So long the owner's node may lag behind the facilitator's."""
    patience: Patience = field(default_factory=Patience)


class X402ResourceServer:
    """Takes payments for one worker."""

    def __init__(
        self, settings: Settings, ledger: Ledger, live: bool, clock: Callable[[], float], spans: Spans | None = None
    ) -> None:
        self._settings, self._ledger, self._clock = settings, ledger, clock
        self._spans = spans or Spans()
        listed: Sequence[Facilitator] = [each for each in settings.facilitators if live or each.loopback]
        self.open = bool(settings.pay_to and listed)
        """Whether payments are taken: a receiver and a facilitator are set, and on simulated figures one on loopback."""
        self._facilitators = Facilitators(listed, self._spans.patience)
        self._chain = Chain(settings.rpc_url) if settings.rpc_url else None
        self._tended = 0.0

    def offer(self, call: Call, error: str = "") -> Refusal:
        """The 402 of a call; where payments are not taken it names the other ways in."""
        if not self.open:
            return say.offer(self._settings.base_url, "", call.price, call.path, say.CLOSED)
        self._tend()
        return say.offer(self._settings.base_url, self._settings.pay_to, call.price, call.path, error or say.UNPAID)

    def offer_beside(self, refusal: Refusal, call: Call) -> Refusal:
        """Another refusal that also carries the offer for version 2, where payments are taken."""
        if not self.open:
            return refusal
        offered = [header for header in self.offer(call).headers if header[0] == "PAYMENT-REQUIRED"]
        detail = f"{refusal.detail} A payment (x402) is taken now."
        return replace(refusal, detail=detail, headers=(*refusal.headers, *offered))

    def admit(self, call: Call) -> Grant | Answer | Refusal:
        """A pass for a payment that a facilitator found good, or what became of it when it came before."""
        self._tend()
        try:
            payment = decode(call.payment)
        except MalformedPayment as fault:
            return say.malformed(fault.code, str(fault))
        asked = self._asked(payment, call)
        held = self._ledger.find(asked)
        if held and self._lapsed(held):
            self._ledger.expire(self._now, self._spans.lease, self._spans.replay)
            held = self._ledger.find(asked)
        if held and held.state != "released":
            return self._again(held, payment, asked, call)
        return self._fresh(payment, asked, call)

    def reconcile(self) -> None:
        """Frees what dead workers held and asks the chain about payments in doubt; an answer then waits for its payer."""
        self._ledger.expire(self._now, self._spans.lease, self._spans.replay)
        for held in self._ledger.in_doubt() if self._chain else []:
            self._resolve(held)

    # A payment's first time

    def _fresh(self, payment: Payment, asked: PaymentTerms, call: Call) -> Grant | Answer | Refusal:
        if code := mismatch(payment, asked.pay_to, PRICES[call.price].units, self._now):
            return self.offer(call, code)
        verdict = self._facilitators.verify(payment, self._requirement(payment.version, call))
        if isinstance(verdict, Refused):
            return self.offer(call, verdict.code)
        if isinstance(verdict, Unreachable):
            return say.unreachable()
        entry = self._ledger.claim(asked, verdict.by, self._now)
        if entry is None:  # another call with the same payment was faster
            held = self._ledger.find(asked)
            return self._again(held, payment, asked, call) if held else say.busy()
        self._note(entry)
        return Grant("payment", lambda made: self._settle(entry, payment, call, made), lambda: self._release(entry))

    def _settle(self, entry: LedgerEntry, payment: Payment, call: Call, made: Answer) -> Receipt | Refusal:
        if made.status != 200 or not made.rows:
            self._release(entry)
            return Receipt()
        claimed = self._ledger.settling(entry, self._now, made)
        if claimed is None:
            return say.busy()
        return self._conclude(claimed, payment, call, moved=False)

    def _release(self, entry: LedgerEntry) -> None:
        self._note(self._ledger.released(entry, self._now))

    def _conclude(self, claimed: LedgerEntry, payment: Payment, call: Call, moved: bool) -> Receipt | Refusal:
        """Settles what this call holds in state settling, and writes down how that ended."""
        outcome = self._by_chain(claimed, self._outcome(claimed, payment, call, moved))
        try:
            return self._ended(claimed, outcome, payment, call, moved)
        except AccountsUnavailable as fault:  # the row stays in settling, and is in doubt when its lease is over
            _LOG.error("the ledger does not answer after a settlement: %s", fault)
            return say.doubtful()

    def _ended(
        self, claimed: LedgerEntry, outcome: Outcome, payment: Payment, call: Call, moved: bool
    ) -> Receipt | Refusal:
        if isinstance(outcome, Settled):
            self._note(self._ledger.settled(claimed, self._now, outcome.tx, answered=not moved))
            return Receipt(
                (*say.receipt(payment.version, payment.payer, outcome.tx), ("Cache-Control", "private, no-store"))
            )
        if isinstance(outcome, Refused) and not moved:
            self._note(self._ledger.failed(claimed, self._now, outcome.code))
            refusal = self.offer(call, outcome.code)
            return replace(
                refusal, headers=(*refusal.headers, *say.receipt(payment.version, payment.payer, "", outcome.code))
            )
        if isinstance(outcome, Unreachable) and not moved:
            self._release(claimed)
            return say.unreachable()
        self._note(self._ledger.unknown(claimed, self._now, outcome.tx if isinstance(outcome, Doubtful) else ""))
        return say.doubtful()

    def _outcome(self, claimed: LedgerEntry, payment: Payment, call: Call, moved: bool) -> Outcome:
        if moved and self._facilitators.spent(payment, self._requirement(2, call)):
            return Settled(claimed.tx)
        return self._facilitators.settle(payment, self._requirement(payment.version, call), claimed.facilitator, moved)

    def _by_chain(self, claimed: LedgerEntry, outcome: Outcome) -> Outcome:
        """The outcome as the chain shows it, where a node is set: neither a doubt nor a claim of success is final before it."""
        doubt = isinstance(outcome, Settled | Doubtful) or outcome == Refused(say.NONCE_USED)
        if self._chain is None or not doubt:
            return outcome
        tx = "" if isinstance(outcome, Refused | Unreachable) else outcome.tx
        until = time.monotonic() + self._spans.confirm
        while True:
            try:
                seen = self._chain.look(claimed.terms, claimed.created)
                if isinstance(outcome, Doubtful) and tx and isinstance(seen, Unspent) and self._chain.reverted(tx):
                    return Refused("transaction_failed")
            except ChainUnavailable:
                return outcome
            if isinstance(seen, Paid):
                return Settled(seen.tx or tx)
            if isinstance(seen, Cancelled):
                return Refused(say.NONCE_USED)
            if time.monotonic() > until:
                return outcome if isinstance(outcome, Refused) else Doubtful(tx)
            time.sleep(0.25)

    # The same authorization again

    def _again(self, held: LedgerEntry, payment: Payment, asked: PaymentTerms, call: Call) -> Answer | Refusal:
        if held.state in ("verified", "settling"):
            return say.busy()
        if held.state == "failed":
            return self.offer(call, held.error)
        if held.state == "unknown":
            return self._retry(held, payment, call) if held.same(asked) else say.bound()
        return self._replay(held, payment, call) if held.same(asked) else self.offer(call, say.NONCE_USED)

    def _retry(self, held: LedgerEntry, payment: Payment, call: Call) -> Answer | Refusal:
        """A payment in doubt: as the chain knows it, else settled once more, which moves nothing that moved before."""
        seen = self._resolve(held) or self._ledger.find(held.terms) or held  # another worker may have been faster
        if seen.state != "unknown":
            return self._again(seen, payment, seen.terms, call)
        claimed = self._ledger.settling(seen, self._now)
        if claimed is None:
            return say.busy()
        outcome = self._conclude(claimed, payment, call, moved=True)
        settled = self._ledger.find(claimed.terms)
        if isinstance(outcome, Refusal) or settled is None:
            return outcome if isinstance(outcome, Refusal) else say.busy()
        return self._replay(settled, payment, call)

    def _replay(self, held: LedgerEntry, payment: Payment, call: Call) -> Answer | Refusal:
        answer = self._ledger.replay(held, self._now, self._spans.replay, self._spans.replays)
        if answer is None:
            return self.offer(call, say.NONCE_USED)
        replaced = {"cache-control", "content-length", "date"}
        kept = tuple(header for header in answer.headers if header[0].lower() not in replaced)
        receipt = say.receipt(payment.version, payment.payer, held.tx)
        again = (("X-Idempotent-Replay", "true"), ("Cache-Control", "private, no-store"))
        return replace(answer, headers=(*kept, *receipt, *again))

    # Time and the chain

    def _resolve(self, held: LedgerEntry) -> LedgerEntry | None:
        """A row in doubt as the chain shows it; None where it moved on meanwhile, unchanged where the chain cannot tell."""
        if self._chain is None:
            return held
        try:
            seen = self._chain.look(held.terms, held.created)
        except ChainUnavailable:
            return held
        if isinstance(seen, Paid):
            return self._note(self._ledger.settled(held, self._now, seen.tx or held.tx, answered=False))
        if isinstance(seen, Cancelled):
            return self._note(self._ledger.failed(held, self._now, say.NONCE_USED))
        if isinstance(seen, Unspent) and seen.at > held.terms.valid_before:
            return self._note(
                self._ledger.failed(held, self._now, "invalid_exact_evm_payload_authorization_valid_before")
            )
        return held

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

    def _lapsed(self, held: LedgerEntry) -> bool:
        return held.state in ("verified", "settling") and held.updated <= self._now - self._spans.lease

    @property
    def _now(self) -> int:
        return int(self._clock())

    def _requirement(self, version: int, call: Call) -> dict[str, Any]:
        return say.requirement(version, self._settings.base_url, self._settings.pay_to, call.price, call.path)

    def _asked(self, payment: Payment, call: Call) -> PaymentTerms:
        return PaymentTerms(
            say.NETWORK,
            payment.payer,
            payment.nonce,
            payment.version,
            say.USDC,
            self._settings.pay_to.lower(),
            payment.value,
            payment.valid_before,
            call.path,
            call.fingerprint,
            payment.hash,
        )

    @staticmethod
    def _note(entry: LedgerEntry | None) -> LedgerEntry | None:
        """One line a change of state; neither signature nor header, which are a bearer's cheque until settled."""
        if entry is not None:
            terms = entry.terms
            _LOG.info(
                "%s",
                orjson.dumps(
                    {
                        "payment": entry.state,
                        "payer": terms.payer,
                        "nonce": terms.nonce,
                        "path": terms.path,
                        "amount": terms.amount,
                        "version": terms.version,
                        "facilitator": entry.facilitator,
                        "tx": entry.tx,
                        "error": entry.error,
                    }
                ).decode(),
            )
        return entry
