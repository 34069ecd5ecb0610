"""The payments ledger against the chain, hourly.

A transfer without an answer or a credit, or an answer without money, warns.

The work is handed in by `orchestration`, which knows the accounts database. No `from __future__ import annotations`:
Dagster reads the annotations.
"""

from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from assets.feeds import OWNER

Reconcile = Callable[[], Mapping[str, int] | None]
"""Compares every transfer with the ledger; None where no payments are taken."""
KEY = dg.AssetKey(["accounts", "payments"])
CHECK = "accounted_for"


def payments_asset() -> dg.AssetsDefinition:
    """The reconciliation as an asset with its check."""

    @dg.asset(
        key=KEY,
        group_name="accounts",
        owners=[OWNER],
        kinds={"sqlite"},
        check_specs=[
            dg.AssetCheckSpec(
                CHECK, asset=KEY, description="Every answer was paid on the chain, and no payment stays in doubt."
            )
        ],
        description="Every transfer of USDC to the receiver has its answer or is written down as a credit.",
    )
    def payments(
        reconcile: dg.ResourceParam[Reconcile],
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        counts = reconcile()
        totals = {"taken": False} if counts is None else dict(counts)
        passed = counts is None or not (counts["unproven"] or counts["unknown"])
        yield dg.MaterializeResult(metadata=totals)
        yield dg.AssetCheckResult(passed=passed, check_name=CHECK, severity=dg.AssetCheckSeverity.WARN, metadata=totals)

    return payments
