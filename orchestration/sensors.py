"""Alerts: posts failed runs to a webhook (EMDS_ALERT_WEBHOOK): feed, days, reason. Reasons never hold a secret."""

import json
import os
import urllib.request

import dagster as dg


@dg.run_failure_sensor(name="tell_failures", default_status=dg.DefaultSensorStatus.RUNNING)
def failure_sensor(context: dg.RunFailureSensorContext) -> None:
    """Posts {job, run_id, source, partitions, reason} as JSON; without a webhook the UI alone shows it."""
    address = os.environ.get("EMDS_ALERT_WEBHOOK")
    if not address:
        return
    run = context.dagster_run
    reasons = [reason_of(event) for event in context.get_step_failure_events()] or [str(context.failure_event.message)]
    body = json.dumps(
        {
            "job": run.job_name,
            "run_id": run.run_id,
            "source": run.tags.get("source", ""),
            "partitions": [
                v
                for k, v in sorted(run.tags.items())
                if k.startswith(("dagster/partition", "dagster/asset_partition_range"))
            ],
            "reason": "; ".join(filter(None, reasons))[:1000],
        }
    ).encode()
    # The owner's own address.
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310
        context.log.info("sent to the webhook")


def reason_of(event: dg.DagsterEvent) -> str:
    """Why a step failed: the failure's own description where there is one, else the message of its first cause."""
    failure = event.step_failure_data
    if failure.user_failure_data is not None and failure.user_failure_data.description:
        return failure.user_failure_data.description
    error = failure.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else str(event.message)
