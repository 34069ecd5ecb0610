"""The ledger held against the chain: payments in doubt are decided, and every transfer gets an answer or a credit.

A worker decides doubts beside its calls; `emds reconcile` and its asset also read all transfers to the receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from api.access.accounts.ledger import Ledger, LedgerEntry, TransferTaken
from api.access.accounts.transfers import Credit, TransferBook
from api.access.x402.chain import Chain, ChainUnavailable, Paid, SpentElsewhere, Transfer, Unspent
from api.access.x402.facilitators import Settled
from api.access.x402.payment_log import note
from api.access.x402.requirements import NETWORK, NONCE_USED

_AGAIN_BLOCKS = 150
"""Read again each time, five minutes of Base: a block may have been replaced, or a row not yet written."""
_BLOCK_S = 2


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
    """Decides rows of the ledger by the chain. Raises AccountsUnavailable."""

    def __init__(self, ledger: Ledger, chain: Chain | None, clock: Callable[[], float]) -> None:
        self._ledger, self._chain, self._clock = ledger, chain, clock

    def decide_open(self) -> None:
        """Asks the chain about every row in doubt; a paid answer then waits for its payer."""
        for entry in self._ledger.open_questions() if self._chain else []:
            self.decide(entry)

    def decide(self, entry: LedgerEntry) -> LedgerEntry | None:
        """A row as the chain shows it; None where it moved on meanwhile, unchanged where the chain cannot tell."""
        if self._chain is None:
            return entry
        try:
            seen = self._chain.look(entry.terms, entry.created)
        except ChainUnavailable:
            return entry
        if isinstance(seen, Paid):
            return self.write_settled(entry, Settled(seen.tx, seen.log_index), answered=False)
        if isinstance(seen, SpentElsewhere):
            return note(self._ledger.failed(entry, self._now, NONCE_USED))
        if isinstance(seen, Unspent) and seen.at > entry.terms.valid_before:
            error = entry.error or "invalid_exact_evm_payload_authorization_valid_before"
            return note(self._ledger.failed(entry, self._now, error))
        return entry

    def write_settled(self, entry: LedgerEntry, outcome: Settled, answered: bool) -> LedgerEntry | None:
        """The row as settled; as failed where its transfer paid for another row."""
        try:
            return note(self._ledger.settled(entry, self._now, outcome.tx, outcome.log_index, answered))
        except TransferTaken:
            return note(self._ledger.failed(entry, self._now, NONCE_USED))

    def read_transfers(self, book: TransferBook, pay_to: str) -> Report:
        """Compares every transfer since the last time with the ledger.

        Raises ChainUnavailable, having moved nothing on.
        """
        if self._chain is None:
            raise ChainUnavailable("no node: set EMDS_RPC_URL")
        self.decide_open()
        newest, at = self._chain.newest()
        done = book.scanned(NETWORK, pay_to)
        first = self._first_block(book, newest, at) if done is None else max(0, done - _AGAIN_BLOCKS)
        transfers = list(self._chain.transfers(pay_to, first, newest))
        kinds = [self._account_for(transfer, book) for transfer in transfers]
        waiting = [transfer.block for transfer, kind in zip(transfers, kinds, strict=True) if kind == "waiting"]
        until = min(waiting, default=newest + 1) - 1
        book.mark_scanned(NETWORK, pay_to, until)
        units = sum(transfer.amount for transfer in transfers)
        unproven = self._ledger.unproven(NETWORK)
        counts = {name: kinds.count(name) for name in ("answer", "owed", "credit", "waiting")}
        return Report(len(kinds), units, **counts, unproven=unproven, until_block=until)

    def _account_for(self, transfer: Transfer, book: TransferBook) -> str:
        """What a transfer paid for: `answer`, `owed`, `credit`, or `waiting` where that is being decided."""
        assert self._chain is not None
        if self._ledger.find_transfer(NETWORK, transfer.tx, transfer.log_index):
            book.drop_credit(NETWORK, transfer.tx, transfer.log_index)
            return "answer"
        names = self._chain.authorization(transfer.tx, transfer.log_index)
        entry = self._ledger.find_authorization(NETWORK, *names) if names else None
        if entry is not None and entry.state in ("claimed", "settling"):
            return "waiting"
        if entry is None or entry.terms.amount != transfer.amount:
            credit = Credit(NETWORK, transfer.tx, transfer.log_index, transfer.payer, transfer.amount, transfer.block)
            book.note_credit(credit, self._now)
            return "credit"
        outcome = Settled(transfer.tx, transfer.log_index)
        if entry.state == "settled":  # settled on a facilitator's word: now it has its transfer
            self._ledger.proven(entry, transfer.tx, transfer.log_index)
            return "answer"
        self.write_settled(entry, outcome, answered=False)
        return "owed"

    def _first_block(self, book: TransferBook, newest: int, at: int) -> int:
        """The block of the first payment that the ledger knows; the newest block for an empty ledger."""
        oldest = book.oldest_payment()
        return max(0, newest - (0 if oldest is None else max(0, at - oldest)) // _BLOCK_S - _AGAIN_BLOCKS)

    @property
    def _now(self) -> int:
        return int(self._clock())
