"""What subscribers are told, as an asset: a round of deliveries whenever something changed or a retry is due.

The work is handed in by `orchestration`, which knows the accounts database. No `from __future__ import annotations`:
Dagster reads the annotations.
"""

from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from assets.feeds import OWNER

Deliver = Callable[[], Mapping[str, int]]
"""One round of deliveries; counts by name."""
KEY = dg.AssetKey(["accounts", "webhooks"])
CHECK = "delivered"


def webhooks_asset() -> dg.AssetsDefinition:
    """The deliveries as an asset with its check."""

    @dg.asset(
        key=KEY,
        group_name="webhooks",
        owners=[OWNER],
        kinds={"sqlite"},
        pool="webhooks",
        check_specs=[dg.AssetCheckSpec(CHECK, asset=KEY, description="Every receiver took what it was sent.")],
        description="Messages to subscribers: in order, signed, tried again for a day.",
    )
    def webhooks(
        deliver: dg.ResourceParam[Deliver],
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        counts = dict(deliver())
        yield dg.MaterializeResult(metadata=counts)
        yield dg.AssetCheckResult(
            passed=not counts["failed"], check_name=CHECK, severity=dg.AssetCheckSeverity.WARN, metadata=counts
        )

    return webhooks
