"""What becomes of payments, one line of JSON a change of state.

Neither signature nor header stands in it: until a payment is settled they are a bearer's cheque.
"""

from __future__ import annotations

import logging

import orjson

from api.access.accounts.ledger import LedgerEntry

_LOG = logging.getLogger("emds.payments")


def note(entry: LedgerEntry | None) -> LedgerEntry | None:
    """Writes a row's line, if there is a row, and returns it."""
    if entry is not None:
        terms = entry.terms
        line = {
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
        _LOG.info("%s", orjson.dumps(line).decode())
    return entry
