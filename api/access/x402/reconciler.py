"""The ledger held against the chain: outcomes are confirmed, doubts decided, every transfer gets an answer or a credit.

A worker decides doubts beside its calls; `emds reconcile` and its asset also read all transfers to the receiver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from api.access.accounts.ledger import NONCE_USED, Ledger, LedgerEntry, TransferTaken
from api.access.accounts.transfers import Transfer, TransferBook
from api.access.x402.chain import Chain, ChainUnavailable, Paid, SpentElsewhere, Undecided, Unspent
from api.access.x402.facilitators import SPENT, Fate, Outcome, Refused, Settled, Unknown, Unreachable
from api.access.x402.offers import NETWORK

REVERTED = "transaction_failed"
_AGAIN_BLOCKS = 150
"""Read again each time, five minutes of Base: a block may have been replaced, or a row not yet written."""
_BLOCK_S = 2
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Report:
    """What came of reading the chain. Amounts in smallest units of USDC."""

    transfers: int
    units: int
    answer: int
    """Transfers that paid for a settled payment."""
    owed: int
    """Found paid just now: the answer waits for its payer for a day."""
    credit: int
    """Transfers that bought no answer, written down as credits."""
    waiting: int
    """Transfers of payments that a call is settling right now: looked at again next time."""
    unproven: int
    """Settled payments without a transfer on the chain: answered without money, unless the node is behind."""
    until_block: int


class Reconciler:
    """Compare rows of the ledger with the chain; without a chain nothing is known. Raises AccountsUnavailable."""

    def __init__(self, ledger: Ledger, chain: Chain | None, clock: Callable[[], float]) -> None:
        self._ledger, self._chain, self._clock = ledger, chain, clock
        self._last = 0
        """The row that was looked at last."""

    def confirm(self, entry: LedgerEntry, outcome: Outcome, wait_s: float) -> Outcome:
        """Return a facilitator's outcome as the chain shows it; as it is where nobody saw the payment.

        A claim of success, a doubt, and a word that the authorization is spent are waited for, `wait_s` seconds at
        most: the owner's node may lag behind the facilitator's. A refusal is looked up once.
        """
        if self._chain is None or (isinstance(outcome, Unreachable) and not outcome.reached):
            return outcome
        waits = isinstance(outcome, Settled | Unknown) or (isinstance(outcome, Refused) and outcome.code in SPENT)
        until = time.monotonic() + (wait_s if waits else 0)
        while True:
            try:
                state = self._chain.authorization_state(entry.terms, entry.created)
            except ChainUnavailable:
                return Unknown() if isinstance(outcome, Unreachable) else outcome
            if isinstance(state, Paid):
                return Settled(state.tx, state.log_index, state.at)
            if isinstance(state, SpentElsewhere):
                return Refused(NONCE_USED)
            if isinstance(state, Unspent) and isinstance(outcome, Unknown) and self._is_reverted(outcome.tx):
                return Refused(REVERTED)
            if time.monotonic() > until:
                if isinstance(state, Undecided) or isinstance(outcome, Settled):
                    return Unknown(outcome.tx if isinstance(outcome, Settled | Unknown) else "")
                return outcome
            time.sleep(_POLL_S)

    def fate(self, entry: LedgerEntry, tx: str) -> Fate:
        """Return what the chain shows right now of a settlement in doubt, by the transaction `tx` or unnamed."""
        with suppress(ChainUnavailable):
            if self._chain and isinstance(self._chain.authorization_state(entry.terms, entry.created), Paid):
                return "moved"
            if self._is_reverted(tx):
                return "reverted"
        return "open"

    def decide_undecided(self) -> None:
        """Ask the chain about rows in doubt, round by round; a paid answer then waits for its payer."""
        for entry in self._ledger.undecided(self._last, self._now) if self._chain else []:
            self._last = entry.id
            self.decide(entry)

    def decide(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Return a row as the chain shows it; None where it moved on, unchanged where the chain cannot tell."""
        if self._chain is None:
            return entry
        try:
            state = self._chain.authorization_state(entry.terms, entry.created)
        except ChainUnavailable:
            return entry
        if isinstance(state, Paid):
            return self.record_settled(entry, Settled(state.tx, state.log_index), answered=False)
        if isinstance(state, SpentElsewhere):
            return self._ledger.failed(entry, self._now, NONCE_USED)
        if entry.state == "failed" or not isinstance(state, Unspent):
            return entry
        if state.at > entry.terms.valid_before:
            error = entry.error or "invalid_exact_evm_payload_authorization_valid_before"
            return self._ledger.failed(entry, self._now, error)
        return self._ledger.failed(entry, self._now, REVERTED) if self._is_reverted(entry.tx) else entry

    def record_settled(self, entry: LedgerEntry, outcome: Settled, answered: bool) -> LedgerEntry | None:
        """Return the row as settled; as failed where its transfer paid for another row."""
        try:
            return self._ledger.settled(entry, self._now, outcome.tx, outcome.log_index, answered)
        except TransferTaken:
            return self._ledger.failed(entry, self._now, NONCE_USED)

    def read_transfers(self, book: TransferBook, pay_to: str) -> Report:
        """Compare every transfer since the last time with the ledger.

        Raises ChainUnavailable, having moved nothing on.
        """
        if self._chain is None:
            raise ChainUnavailable("no node: set EMDS_RPC_URL")
        self.decide_undecided()
        newest, at = self._chain.newest()
        done = book.scanned(NETWORK, pay_to)
        first = self._first_block(book, newest, at) if done is None else max(0, done - _AGAIN_BLOCKS)
        transfers = list(self._chain.transfers(pay_to, first, newest))
        kinds = [self._account_for(transfer, book, self._chain) for transfer in transfers]
        waiting = [transfer.block for transfer, kind in zip(transfers, kinds, strict=True) if kind == "waiting"]
        until = min(waiting, default=newest + 1) - 1
        book.mark_scanned(NETWORK, pay_to, until)
        units = sum(transfer.amount for transfer in transfers)
        unproven = self._ledger.unproven(NETWORK)
        counts = {name: kinds.count(name) for name in ("answer", "owed", "credit", "waiting")}
        return Report(len(kinds), units, **counts, unproven=unproven, until_block=until)

    def _account_for(self, transfer: Transfer, book: TransferBook, chain: Chain) -> str:
        """Return what a transfer paid for: `answer`, `owed`, `credit`, or `waiting` where that is being decided."""
        if self._ledger.find_transfer(NETWORK, transfer.tx, transfer.log_index):
            book.drop_credit(NETWORK, transfer.tx, transfer.log_index)
            return "answer"
        names = chain.authorization(transfer.tx, transfer.log_index)
        entry = self._ledger.find_authorization(NETWORK, *names) if names else None
        if entry is not None and entry.state in ("claimed", "settling"):
            return "waiting"
        if entry is None or entry.terms.amount != transfer.amount:
            book.record_credit(NETWORK, transfer, self._now)
            return "credit"
        if entry.state == "settled":  # on a facilitator's word: now it has its transfer
            self._ledger.proven(entry, transfer.tx, transfer.log_index)
            return "answer"
        self.record_settled(entry, Settled(transfer.tx, transfer.log_index), answered=False)
        return "owed"

    def _first_block(self, book: TransferBook, newest: int, at: int) -> int:
        """Return the block of the first payment that the ledger knows; the newest block for an empty ledger."""
        oldest = book.oldest_payment()
        return max(0, newest - (0 if oldest is None else max(0, at - oldest)) // _BLOCK_S - _AGAIN_BLOCKS)

    def _is_reverted(self, tx: str) -> bool:
        """Return whether a transaction is in a block and did nothing."""
        with suppress(ChainUnavailable):  # in no block yet
            return self._chain is not None and tx != "" and self._chain.reverted(tx)
        return False

    @property
    def _now(self) -> int:
        return int(self._clock())
