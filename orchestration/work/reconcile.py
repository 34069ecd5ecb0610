"""Compare every transfer to the receiver with the ledger, for `emds reconcile` and the asset `accounts/payments`."""

from __future__ import annotations

import os
import time
from contextlib import closing

from api.access.database import Database
from api.access.prices import USDC_DECIMALS
from api.access.x402.chain import Chain, ChainUnavailable
from api.access.x402.ledger import Ledger
from api.access.x402.reconciler import Reconciler
from api.settings import Settings
from warehouse.errors import MarketError


class NotReconciled(MarketError):
    """The node did not respond. Nothing is lost: the next run reads the same blocks."""


def counts() -> dict[str, int] | None:
    """Return the counts from reading the chain, by name; None if payments are disabled.

    Raises NotReconciled, AccountsUnavailable.
    """
    settings = Settings.from_environ(os.environ)
    if not settings.pay_to or not settings.rpc_url:
        return None
    with closing(Database(settings.database_url)) as database:
        ledger = Ledger(database)
        reconciler = Reconciler(ledger, Chain(settings.rpc_url, timeout_s=20.0), time.time)
        try:
            report = reconciler.read_transfers(settings.pay_to.lower())
        except ChainUnavailable as fault:
            raise NotReconciled(f"the node is not responding: {fault}") from None
        credits, units = ledger.credits()
        return {**report, "credits": credits, "credit_units": units, "unknown": ledger.counts().get("unknown", 0)}


def reconcile() -> int:
    """Print the report. Return 1 if the outcome of a payment is unknown or a response is unpaid on the chain."""
    totals = counts()
    if totals is None:
        print("Payments are disabled or cannot be looked up. Set EMDS_PAY_TO and EMDS_RPC_URL.")
        return 0
    usd = 10**USDC_DECIMALS
    print(
        f"Read up to block {totals['until_block']}: {totals['transfers']} transfers, {totals['units'] / usd:.3f} USDC"
    )
    print(f"  paid for a response    {totals['answer']}")
    print(f"  undelivered responses  {totals['owed']}")
    print(f"  being settled          {totals['waiting']}")
    print(f"  credits in total       {totals['credits']}, {totals['credit_units'] / usd:.3f} USDC")
    print(f"  unpaid responses       {totals['unproven']}")
    print(f"  payments, unknown      {totals['unknown']}")
    return 1 if totals["unproven"] or totals["unknown"] else 0
