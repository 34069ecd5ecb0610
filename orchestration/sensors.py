"""Sensors on runs: they alert a webhook (EMDS_ALERT_WEBHOOK) when an outage begins and when it ends. See `alerts`.

No `from __future__ import annotations`: Dagster reads the annotations.
"""

import os
import time

import dagster as dg

from orchestration import alerts
from orchestration.history import HISTORY_JOB
from orchestration.settings import PipelineSettings

ASSET_JOB = "__ASSET_JOB"
"""The job of every run that is launched from an asset's page."""


@dg.run_failure_sensor(name="outage_begins", default_status=dg.DefaultSensorStatus.RUNNING, minimum_interval_seconds=30)
def outage_begins(context: dg.RunFailureSensorContext) -> None:
    """Posts {event, since, job, run_id, source, partitions, reason}; without a webhook the UI alone shows it."""
    settings = PipelineSettings.from_environ(os.environ)
    if not settings.alert_webhook:
        return
    run = context.dagster_run
    if run.job_name == HISTORY_JOB:  # a person asked for old days; what its own runs meet is told of them
        return
    reasons = [reason_of(event) for event in context.get_step_failure_events()] or [str(context.failure_event.message)]
    partitions = ("dagster/partition", "dagster/asset_partition_range")
    message = {
        "run_id": run.run_id,
        "source": run.tags.get("source", ""),
        "partitions": [value for name, value in sorted(run.tags.items()) if name.startswith(partitions)],
        "reason": "; ".join(filter(None, reasons))[:1000],
    }
    sent = alerts.begin(settings.home.open(), settings.alert_webhook, subject(run), int(time.time()), message)
    context.log.info("sent to the webhook" if sent else "the outage is known")


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    name="outage_ends",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
)
def outage_ends(context: dg.RunStatusSensorContext) -> None:
    """Posts {event, since, until, job} for a job that failed before."""
    settings = PipelineSettings.from_environ(os.environ)
    if settings.alert_webhook:
        alerts.end(settings.home.open(), settings.alert_webhook, subject(context.dagster_run), int(time.time()))


def subject(run: dg.DagsterRun) -> str:
    """What an outage is of: the job; of a run from an asset's page, its assets."""
    if run.job_name != ASSET_JOB:
        return run.job_name
    return ", ".join(sorted(key.to_user_string() for key in run.asset_selection or ()))


def reason_of(event: dg.DagsterEvent) -> str:
    """Why a step failed: the failure's own description where there is one, else the message of its first cause."""
    failure = event.step_failure_data
    if failure.user_failure_data is not None and failure.user_failure_data.description:
        return failure.user_failure_data.description
    error = failure.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else str(event.message)
