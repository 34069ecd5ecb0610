"""The sensor that starts a round of deliveries: after changes and publications, and when a retry is due.

Where nobody subscribed it starts nothing. No `from __future__ import annotations`: Dagster reads the annotations.
"""

from typing import Any

import dagster as dg

from orchestration.jobs.schedules import UNDER_WAY

JOB = "deliver_webhooks"


def webhook_sensor(job: Any) -> dg.SensorDefinition:
    """Looks every half minute; one round at a time."""

    @dg.sensor(
        name="webhooks_due",
        job=job,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts a round of deliveries where something changed or a retry is due.",
    )
    def webhooks_due(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from orchestration.webhooks import rounds  # here: it loads the API, and most runs need none of it

        subscribed, due = rounds.due()
        if not subscribed:
            return dg.SkipReason("nobody subscribed")
        place = rounds.place()
        if place == context.cursor and not due:
            return dg.SkipReason("nothing changed, and no retry is due")
        if context.instance.get_runs(dg.RunsFilter(job_name=JOB, statuses=UNDER_WAY), limit=1):
            return dg.SkipReason("a round is under way")
        return dg.SensorResult(run_requests=[dg.RunRequest()], cursor=place)

    return webhooks_due
