"""Define the sensor `alerts`, which posts to EMDS_ALERT_WEBHOOK when an outage starts and when it ends.

Messages contain no secrets. A feed has an outage while it is late or down by its own timetable. A job has an outage
from a failed run to its next successful run. No `from __future__ import annotations`: Dagster reads the annotations.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import requests

from assets.ingest.context import PipelineContext
from orchestration.jobs.recording import COMMAND_LINE
from orchestration.work.environment import PipelineSettings
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.clock import iso

POST_S = 10
ASSET_JOB = "__ASSET_JOB"
"""The job name of every run that is launched from an asset's page."""
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


@dataclass(slots=True)
class Outages:
    """The state that the webhook knows, stored as the sensor's cursor."""

    seen_until: float
    """Runs that ended after this time (Unix seconds) have not been examined."""
    began: dict[str, int]
    """Outages in progress: feed or job -> start (Unix seconds)."""


@dg.sensor(
    name="alerts",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
    description="Sends a message to EMDS_ALERT_WEBHOOK when an outage of a feed or job starts and when it ends.",
)
def alerts(context: dg.SensorEvaluationContext, warehouse: dg.ResourceParam[PipelineContext]) -> dg.SkipReason:
    """Check the feeds' health, and the runs that ended since the previous check."""
    webhook = PipelineSettings.from_environ(os.environ).alert_webhook
    if not webhook:
        return dg.SkipReason("EMDS_ALERT_WEBHOOK is not set")
    outages = Outages(**json.loads(context.cursor)) if context.cursor else Outages(time.time() - 60, {})
    try:
        outcome = f"{look(context.instance, warehouse, webhook, outages)} messages sent"
    except requests.RequestException as error:  # the URL may contain a token, which the error's text would repeat
        outcome = (
            f"EMDS_ALERT_WEBHOOK did not accept a message ({type(error).__name__}); it is sent again at the next check"
        )
    context.update_cursor(json.dumps(asdict(outages)))
    return dg.SkipReason(outcome)


def look(instance: dg.DagsterInstance, pipeline: PipelineContext, webhook: str, outages: Outages) -> int:
    """Post the outages that started or ended, update `outages`, and return the number of messages sent.

    Raises requests.RequestException if the webhook does not accept a message; messages before it stay noted.
    """
    sent = 0
    for record in _ended_runs(instance, outages.seen_until):
        sent += _report(webhook, outages, subject(record.dagster_run), _failure(instance, record.dagster_run))
        outages.seen_until = record.update_timestamp.timestamp()
    for feed, state, reason in _feeds(pipeline):
        message = {"source": feed.split(".")[0], "reason": reason or state} if state != "ok" else None
        sent += _report(webhook, outages, feed, message)
    return sent


def _report(webhook: str, outages: Outages, job: str, failure: dict[str, Any] | None) -> bool:
    """Post that an outage of a job or feed started or ended, if that is news. `failure` is None without a failure."""
    now, began = int(time.time()), outages.began.get(job)
    if (failure is None) == (began is None):
        return False
    if began is None:
        message = {"event": "outage", "since": iso(now), "job": job, **(failure or {})}
    else:
        message = {"event": "recovered", "since": iso(began), "until": iso(now), "job": job}
    requests.post(webhook, json=message, timeout=POST_S).raise_for_status()
    if began is None:
        outages.began[job] = now
    else:
        del outages.began[job]
    return True


def _feeds(pipeline: PipelineContext) -> Iterator[tuple[str, str, str]]:
    """Yield each configured feed that ever delivered a row, with its state and the reason.

    The state is `ok`, that of its worst zone, or `unknown member`.
    """
    for source in (source for source in pipeline.sources.values() if source.code in pipeline.configured):
        known = [one for one in health.load(pipeline.storage, source.code) if one.data_until]
        for feed in source.feeds:
            zones = tuple(one.zone for one in known if one.feed == feed.id)
            if zones:
                found = health.feed_state(replace(feed, zones=zones), known, clock.now())
                is_strange = found.unknown_member and found.state == "ok"
                yield feed.id, "unknown member" if is_strange else found.state, found.error


def _ended_runs(instance: dg.DagsterInstance, since: float) -> list[dg.RunRecord]:
    ended = dg.RunsFilter(statuses=_ENDED, updated_after=datetime.fromtimestamp(since, UTC))
    records = instance.get_run_records(ended, order_by="update_timestamp", ascending=True)
    return [record for record in records if record.dagster_run.job_name != COMMAND_LINE]


def _failure(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[str, Any] | None:
    """Return the fields of a failed run's message; None for a run that succeeded."""
    if run.status is not dg.DagsterRunStatus.FAILURE:
        return None
    kinds = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}
    found = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kinds)]
    reasons = [reason_of(event) for event in found if event is not None and event.is_step_failure]
    reasons = reasons or [str(event.message) for event in found if event is not None]
    partitions = ("dagster/partition", "dagster/asset_partition_range")
    return {
        "run_id": run.run_id,
        "source": run.tags.get("source", ""),
        "partitions": [value for name, value in sorted(run.tags.items()) if name.startswith(partitions)],
        "reason": "; ".join(filter(None, reasons))[:1000],
    }


def subject(run: dg.DagsterRun) -> str:
    """Return the subject of an outage: the job, or the assets of a run launched from an asset's page."""
    if run.job_name != ASSET_JOB:
        return run.job_name
    return ", ".join(sorted(key.to_user_string() for key in run.asset_selection or ()))


def reason_of(event: dg.DagsterEvent) -> str:
    """Return why a step failed: the failure's own description if there is one, else its first cause."""
    failure = event.step_failure_data
    if failure.user_failure_data is not None and failure.user_failure_data.description:
        return failure.user_failure_data.description
    error = failure.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else str(event.message)
