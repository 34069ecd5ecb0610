"""The sensor that takes the red off partitions which a failed run, or the attempt before it, had finished.

No `from __future__ import annotations`: Dagster reads the annotations.
"""

import time
from datetime import UTC, datetime

import dagster as dg

from assets.planned_events import forget_done

FIRST_LOOK_S = 86_400
"""How far back the first look goes."""
AGAIN_S = 90
"""A page that was being made while plans were removed may keep what it had read: a run is looked at for so long."""


@dg.sensor(
    name="done_in_failed_runs",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Partitions that a failed run finished, without a row changed, are not shown as failed.",
)
def done_in_failed_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Looks at the runs that failed since the last look, and again at those that failed shortly before."""
    begun = time.time()
    since = float(context.cursor) - AGAIN_S if context.cursor else begun - FIRST_LOOK_S
    failed = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=datetime.fromtimestamp(since, UTC))
    removed = sum(forget_done(context.instance, run) for run in context.instance.get_runs(failed))
    context.update_cursor(repr(begun))
    return dg.SkipReason(f"{removed} plans of partitions that are done were removed")
