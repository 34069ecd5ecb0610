"""A facilitator's word held against the chain: what an attempt to settle really came to."""

from __future__ import annotations

import time
from contextlib import suppress

from api.access.accounts.ledger import LedgerEntry
from api.access.x402.chain import Chain, ChainUnavailable, Paid, SpentElsewhere, Undecided, Unspent
from api.access.x402.facilitators import SPENT, Doubtful, Outcome, Refused, Settled, Unreachable
from api.access.x402.requirements import NONCE_USED

_EVERY_S = 0.25


def confirmed(chain: Chain | None, entry: LedgerEntry, outcome: Outcome, wait_s: float) -> Outcome:
    """The outcome as the chain shows it. Without a node, or where nobody saw the payment, the outcome as it is.

    A claim of success, a doubt, and a word that the authorization is used up are waited for, `wait_s` seconds at most:
    the owner's node may lag behind the facilitator's. A refusal is looked up once.
    """
    if chain is None or (isinstance(outcome, Unreachable) and not outcome.reached):
        return outcome
    waits = isinstance(outcome, Settled | Doubtful) or (isinstance(outcome, Refused) and outcome.code in SPENT)
    until = time.monotonic() + (wait_s if waits else 0)
    while True:
        try:
            seen = chain.look(entry.terms, entry.created)
        except ChainUnavailable:
            return Doubtful() if isinstance(outcome, Unreachable) else outcome
        if isinstance(seen, Paid):
            return Settled(seen.tx, seen.log_index, seen.at)
        if isinstance(seen, SpentElsewhere):
            return Refused(NONCE_USED)
        if isinstance(seen, Unspent) and isinstance(outcome, Doubtful) and _reverted(chain, outcome.tx):
            return Refused("transaction_failed")
        if time.monotonic() > until:
            if isinstance(seen, Undecided) or isinstance(outcome, Settled):
                return Doubtful(outcome.tx if isinstance(outcome, Settled | Doubtful) else "")
            return outcome
        time.sleep(_EVERY_S)


def _reverted(chain: Chain, tx: str) -> bool:
    """Whether the transaction that a facilitator named is in a block and did nothing."""
    with suppress(ChainUnavailable):  # in no block yet
        return bool(tx) and chain.reverted(tx)
    return False
