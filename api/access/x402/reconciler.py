"""Reconcile the ledger with the chain: confirm and decide outcomes, and match transfers to responses or credits.

A worker decides unknown outcomes beside its calls; `emds reconcile` and its asset also read all transfers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from api.access.x402.chain import AuthorizationState, Chain, ChainUnavailable, Refused, Settled, Undecided, Unspent
from api.access.x402.facilitators import SPENT, Outcome, Unknown, Unreachable
from api.access.x402.ledger import NONCE_USED, Ledger, LedgerEntry, Transfer
from api.access.x402.offers import NETWORK

_EXPIRED = "invalid_exact_evm_payload_authorization_valid_before"
_AGAIN_BLOCKS = 150
"""The blocks to read again each time, five minutes of Base: a block may be replaced, or a row be written late."""
_BLOCK_S = 2
_CLOCKS_DIFFER_S = 5
_POLL_S = 0.25


class Reconciler:
    """The ledger's rows compared with the chain, which may be absent. Raises AccountsUnavailable."""

    def __init__(self, ledger: Ledger, chain: Chain | None, clock: Callable[[], float]) -> None:
        self._ledger, self._chain, self._clock = ledger, chain, clock
        self._last = 0
        """The row that was examined last."""

    def confirm(self, entry: LedgerEntry, outcome: Outcome, wait_s: float) -> Outcome:
        """Return a facilitator's outcome as the chain shows it, or unchanged if no facilitator saw the payment.

        The operator's node may lag behind the facilitator's. A success, an unknown outcome and a spent authorization
        are therefore awaited for up to `wait_s` seconds. Any other refusal is looked up once.
        """
        if self._chain is None or (isinstance(outcome, Unreachable) and not outcome.reached):
            return outcome
        waits = isinstance(outcome, Settled | Unknown) or (isinstance(outcome, Refused) and outcome.code in SPENT)
        until = time.monotonic() + (wait_s if waits else 0)
        while True:
            state = self._state(entry, outcome.tx if isinstance(outcome, Unknown) else "")
            if state is None:
                return Unknown() if isinstance(outcome, Unreachable) else outcome
            if isinstance(state, Settled | Refused):
                return state
            if time.monotonic() > until:
                if isinstance(state, Undecided) or isinstance(outcome, Settled):
                    return Unknown(outcome.tx if isinstance(outcome, Settled | Unknown) else "")
                return outcome
            time.sleep(_POLL_S)

    def decide_undecided(self) -> None:
        """Look up rows with an unknown outcome on the chain, in rounds; a paid response then waits for its payer."""
        for entry in self._ledger.undecided(self._last) if self._chain else []:
            self._last = entry.id
            self.decide(entry)

    def decide(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Return a row as the chain shows it, unchanged if the chain cannot decide; None if the row has changed."""
        state = self._state(entry, entry.tx)
        if isinstance(state, Settled):
            return self._ledger.settled(entry, self._now, state.tx, state.log_index, answered=False)
        if isinstance(state, Refused):
            return self._ledger.failed(entry, self._now, state.code)
        if isinstance(state, Unspent) and state.block_time > entry.terms.valid_before:
            return self._ledger.failed(entry, self._now, _EXPIRED)
        return entry

    def read_transfers(self, pay_to: str) -> dict[str, int]:
        """Compare every transfer since the last time with the ledger. Raises ChainUnavailable, without progress.

        Return the number of `transfers`, their sum in `units`, the last block (`until_block`), and counts by use. A
        transfer paid for an `answer`, for an undelivered response (`owed`) that waits a day for its payer, or for
        nothing (`credit`). A transfer that a call is settling counts as `waiting` and is read again. `unproven` counts
        settled payments without a transfer on the chain, which are unpaid responses unless the node is behind.
        """
        if self._chain is None:
            raise ChainUnavailable("no node: set EMDS_RPC_URL")
        self.decide_undecided()
        newest, block_time = self._chain.newest()
        since, scanned = self._ledger.first_payment(), self._ledger.scanned(NETWORK, pay_to)
        if scanned is None:
            scanned = newest - (0 if since is None else max(0, block_time - since)) // _BLOCK_S
        transfers = list(self._chain.transfers(pay_to, max(0, scanned - _AGAIN_BLOCKS), newest))
        kinds = [self._account_for(transfer, self._chain) for transfer in transfers]
        waiting = [transfer.block for transfer, kind in zip(transfers, kinds, strict=True) if kind == "waiting"]
        until = min(waiting, default=newest + 1) - 1
        self._ledger.mark_scanned(NETWORK, pay_to, until)
        units = sum(transfer.amount for transfer in transfers)
        counts = {name: kinds.count(name) for name in ("answer", "owed", "credit", "waiting")}
        counts |= {"unproven": self._ledger.unproven(NETWORK), "until_block": until}
        return {"transfers": len(kinds), "units": units, **counts}

    def _account_for(self, transfer: Transfer, chain: Chain) -> str:
        """Return what a transfer paid for: `answer`, `owed`, `credit`, or `waiting` if a call is deciding it."""
        if self._ledger.find_transfer(NETWORK, transfer.tx, transfer.log_index):
            self._ledger.drop_credit(NETWORK, transfer.tx, transfer.log_index)
            return "answer"
        names = chain.authorization(transfer.tx, transfer.log_index)
        entry = self._ledger.find_authorization(NETWORK, *names) if names else None
        if entry is not None and entry.state in ("claimed", "settling"):
            return "waiting"
        is_other = entry is None or entry.terms.amount != transfer.amount
        if entry is None or is_other or _is_before(chain.block_time(transfer.block), entry):
            self._ledger.record_credit(NETWORK, transfer, self._now)
            return "credit"
        if entry.state == "settled":  # settled on a facilitator's word, and now proven
            self._ledger.proven(entry, transfer.tx, transfer.log_index)
            return "answer"
        self._ledger.settled(entry, self._now, transfer.tx, transfer.log_index, answered=False)
        return "owed"

    def _state(self, entry: LedgerEntry, tx: str) -> AuthorizationState | None:
        """Return the chain's state of an authorization and of `tx`; None if the node is unavailable."""
        try:
            state = self._chain.authorization_state(entry.terms, entry.created, tx) if self._chain else None
        except ChainUnavailable:
            return None
        if isinstance(state, Settled) and state.block_time is not None and _is_before(state.block_time, entry):
            return Refused(NONCE_USED)
        return state

    @property
    def _now(self) -> int:
        return int(self._clock())


def _is_before(block_time: int, entry: LedgerEntry) -> bool:
    """Return whether a transfer is older than the first claim of its payment, so that it paid another service."""
    return block_time < entry.created - _CLOCKS_DIFFER_S
