"""The assets around the service: published files, deliveries to subscribers with their sensor, payments on the chain.

Their work knows the accounts database and the API, so they live here, and load it when they run: most runs of Dagster's
need none of it. No `from __future__ import annotations`: Dagster reads the annotations.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.feeds import OWNER
from assets.published import OF_ALL_ZONES

GROUP = "service"
DELIVER = "deliver_webhooks"
"""The job of a round of deliveries."""
UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
STATIC_SIDE = dg.AssetKey(["published", "static_side"])
WEBHOOKS, PAYMENTS = dg.AssetKey(["accounts", "webhooks"]), dg.AssetKey(["accounts", "payments"])


def service_assets(publishes: bool) -> list[dg.AssetsDefinition]:
    """Return all three. `publishes`: the files follow every publication of the documents (EMDS_PUBLISH_TO is set)."""
    after = dg.AutomationCondition.any_deps_updated() & ~dg.AutomationCondition.in_progress()

    @dg.asset(
        key=STATIC_SIDE,
        deps=list(OF_ALL_ZONES),
        group_name=GROUP,
        owners=[OWNER],
        kinds={"json"},
        pool="static_side",
        automation_condition=after if publishes else None,
        description="Every free answer as an immutable, compressed file with its SHA-256; one pointer to the newest.",
    )
    def static_side() -> dg.MaterializeResult[None]:
        from orchestration.static_side.publish import counts as publish

        counts = publish()
        return dg.MaterializeResult(metadata={"target": "none"} if counts is None else dict(counts))

    @dg.asset(
        key=WEBHOOKS,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"sqlite"},
        pool="webhooks",
        check_specs=[
            dg.AssetCheckSpec("delivered", asset=WEBHOOKS, description="Every receiver took what it was sent.")
        ],
        description="Messages to subscribers: in order, signed, tried again for a day.",
    )
    def deliveries() -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        from orchestration.webhooks import delivery

        counts = delivery.run_now()
        yield dg.MaterializeResult(metadata=counts)
        yield _check("delivered", not counts["failed"], counts)

    @dg.asset(
        key=PAYMENTS,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"sqlite"},
        check_specs=[
            dg.AssetCheckSpec(
                "accounted_for",
                asset=PAYMENTS,
                description="Every answer was paid on the chain, and no payment stays in doubt.",
            )
        ],
        description="Every transfer of USDC to the receiver has its answer or is written down as a credit.",
    )
    def payments() -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        from orchestration.work import reconcile

        counts = reconcile.counts()
        totals = {"taken": False} if counts is None else dict(counts)
        yield dg.MaterializeResult(metadata=totals)
        yield _check("accounted_for", counts is None or not (counts["unproven"] or counts["unknown"]), totals)

    return [static_side, deliveries, payments]


def _check(name: str, passed: bool, counts: dict[str, int] | dict[str, bool]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=passed, check_name=name, severity=dg.AssetCheckSeverity.WARN, metadata=dict(counts)
    )


def webhook_sensor(job: Any) -> dg.SensorDefinition:
    """Look every half minute for changes, publications and due retries; one round at a time."""

    @dg.sensor(
        name="webhooks_due",
        job=job,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts a round of deliveries where something changed or a retry is due.",
    )
    def webhooks_due(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from orchestration.webhooks import delivery  # here: it loads the API, and most runs need none of it

        subscribed, due = delivery.due()
        if not subscribed:
            return dg.SkipReason("nobody subscribed")
        position = delivery.position()
        if position == context.cursor and not due:
            return dg.SkipReason("nothing changed, and no retry is due")
        if context.instance.get_runs(dg.RunsFilter(job_name=DELIVER, statuses=UNDER_WAY), limit=1):
            return dg.SkipReason("a round is under way")
        return dg.SensorResult(run_requests=[dg.RunRequest()], cursor=position)

    return webhooks_due
