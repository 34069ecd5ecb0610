"""The sensor of outages: one message to EMDS_ALERT_WEBHOOK when one begins, one when it ends.

A feed's outage is judged by its data: late or down by its own timetable. A job's lasts from a failed run to its next
successful one. No `from __future__ import annotations`: Dagster reads the annotations.
"""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets.ingest.context import PipelineContext
from orchestration import alerts
from orchestration.recording import COMMAND_LINE
from orchestration.settings import PipelineSettings
from warehouse import clock, health
from warehouse.storage import Storage

ASSET_JOB = "__ASSET_JOB"
"""The job of every run that is launched from an asset's page."""
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]


@dg.sensor(
    name="outages",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
    description="Tells EMDS_ALERT_WEBHOOK when an outage of a feed or a job begins, and when it ends.",
)
def outages(context: dg.SensorEvaluationContext, warehouse: dg.ResourceParam[PipelineContext]) -> dg.SkipReason:
    """Looks at the feeds' health, and at the runs that ended since it last looked."""
    webhook = PipelineSettings.from_environ(os.environ).alert_webhook
    if not webhook:
        return dg.SkipReason("EMDS_ALERT_WEBHOOK is not set")
    begun = time.time()
    since = float(context.cursor) if context.cursor else begun - 60
    told = look(context.instance, warehouse, webhook, since)
    context.update_cursor(repr(begun))
    return dg.SkipReason(f"{told} messages sent")


def look(instance: dg.DagsterInstance, pipeline: PipelineContext, webhook: str, since: float) -> int:
    """Sends what began and ended; returns how many messages. Raises OSError where the webhook is not reached."""
    sent, now = 0, int(time.time())
    for record in _runs(instance, since):
        sent += _tell(pipeline.storage, webhook, subject(record.dagster_run), now, _of_run(instance, record))
    for feed, state, reason in _feeds(pipeline):
        down = {"source": feed.split(".")[0], "reason": reason or state} if state != "ok" else None
        sent += _tell(pipeline.storage, webhook, feed, now, down)
    return sent


def _tell(storage: Storage, webhook: str, of: str, now: int, outage: dict[str, Any] | None) -> bool:
    if outage is None:
        return alerts.end(storage, webhook, of, now)
    return alerts.begin(storage, webhook, of, now, outage)


def _feeds(pipeline: PipelineContext) -> Iterator[tuple[str, str, str]]:
    """Each configured feed that ever gave a row: `ok`, or its state in its worst zone or `unknown member`, and why."""
    now = clock.now()
    for source in (source for source in pipeline.sources.values() if source.code in pipeline.configured):
        known = health.known(pipeline.storage, source.code)
        for feed in source.feeds:
            zones = [zone for zone in known if zone.feed == feed.id and zone.data_until]
            states = [health.state(zone, feed.publication, feed.tz, feed.resolution, now) for zone in zones]
            if zones:
                worst = health.worst(states)
                strange = any(zone.unknown_member for zone in zones)
                bad = [z for z, state in zip(zones, states, strict=True) if z.unknown_member or state == worst != "ok"]
                reason = next(filter(None, (zone.last_error for zone in bad)), "")
                yield feed.id, "unknown member" if strange and worst == "ok" else worst, reason


def _runs(instance: dg.DagsterInstance, since: float) -> list[dg.RunRecord]:
    ended = dg.RunsFilter(statuses=_ENDED, updated_after=datetime.fromtimestamp(since, UTC))
    records = instance.get_run_records(ended, order_by="update_timestamp", ascending=True)
    return [record for record in records if record.dagster_run.job_name != COMMAND_LINE]


def _of_run(instance: dg.DagsterInstance, record: dg.RunRecord) -> dict[str, Any] | None:
    """What a failed run's message says; None for one that succeeded."""
    run = record.dagster_run
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
