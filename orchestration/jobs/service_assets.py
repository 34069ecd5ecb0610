"""Define the service's assets: published files, deliveries to subscribers with their sensor, payments on the chain.

They use the accounts database and the API. They load these only when they run, since most runs of Dagster do not need
them. No `from __future__ import annotations`: Dagster reads the annotations.
"""

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.document_assets import OF_ALL_ZONES
from assets.series_assets import OWNER
from warehouse import settings

GROUP = "service"
DELIVER = "deliver_webhooks"
"""The job of a delivery round."""
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
    """Return all three assets. If `publishes`, files follow every publication of documents (EMDS_PUBLISH_TO is set)."""
    after = dg.AutomationCondition.any_deps_updated() & ~dg.AutomationCondition.in_progress()

    @dg.asset(
        key=STATIC_SIDE,
        deps=list(OF_ALL_ZONES),
        group_name=GROUP,
        owners=[OWNER],
        kinds={"json"},
        pool="static_side",
        automation_condition=after if publishes else None,
        description="Every free response as an immutable, compressed file named by its SHA-256, with a pointer to the"
        " newest set.",
    )
    def static_side() -> dg.MaterializeResult[None]:
        from orchestration.static_side.publish import publish_now

        address = settings.text(os.environ, "EMDS_PUBLISH_TO")
        return dg.MaterializeResult(metadata=dict(publish_now(address)) if address else {"target": "none"})

    @dg.asset(
        key=WEBHOOKS,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"sqlite"},
        pool="webhooks",
        check_specs=[
            dg.AssetCheckSpec("delivered", asset=WEBHOOKS, description="Every receiver accepted its messages.")
        ],
        description="Delivers signed messages to subscribers in order and retries for 24 hours.",
    )
    def deliveries() -> dg.MaterializeResult:  # type: ignore[type-arg]  # Dagster takes the bare class beside checks
        from orchestration.webhooks import delivery

        counts = delivery.run_now()
        return _result("delivered", not counts["failed"], counts)

    @dg.asset(
        key=PAYMENTS,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"sqlite"},
        check_specs=[
            dg.AssetCheckSpec(
                "accounted_for",
                asset=PAYMENTS,
                description="Every paid response has a transfer on the chain, and no payment outcome is unknown.",
            )
        ],
        description="Every USDC transfer to the receiver is matched with a response or recorded as a credit.",
    )
    def payments() -> dg.MaterializeResult:  # type: ignore[type-arg]
        from orchestration.work import reconcile

        counts = reconcile.counts()
        is_sound = counts is None or not (counts["unproven"] or counts["unknown"])
        return _result("accounted_for", is_sound, {"taken": False} if counts is None else counts)

    return [static_side, deliveries, payments]


def _result(check: str, passed: bool, counts: Mapping[str, int]) -> dg.MaterializeResult[None]:
    metadata = dict(counts)
    judged = dg.AssetCheckResult(
        passed=passed, check_name=check, severity=dg.AssetCheckSeverity.WARN, metadata=metadata
    )
    return dg.MaterializeResult(metadata=metadata, check_results=[judged])


def webhook_sensor(job: Any) -> dg.SensorDefinition:
    """Return the sensor that checks every 30 seconds for changes, publications and due retries; one round at a time."""

    @dg.sensor(
        name="webhooks_due",
        job=job,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts deliveries when data changed or a retry is due.",
    )
    def webhooks_due(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from orchestration.webhooks import delivery  # here, since it loads the API, which most runs do not need

        subscribed, due = delivery.due()
        if not subscribed:
            return dg.SkipReason("There are no subscriptions.")
        position = delivery.position()
        if position == context.cursor and not due:
            return dg.SkipReason("nothing changed, and no retry is due")
        if context.instance.get_runs(dg.RunsFilter(job_name=DELIVER, statuses=UNDER_WAY), limit=1):
            return dg.SkipReason("A round is in progress.")
        return dg.SensorResult(run_requests=[dg.RunRequest()], cursor=position)

    return webhooks_due
