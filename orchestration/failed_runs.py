"""The sensor that takes the red off partitions which a failed run, or the attempt before it, had finished.

No `from __future__ import annotations`: Dagster reads the annotations.
"""

import dagster as dg

from assets.planned_events import forget_done


@dg.run_failure_sensor(
    name="done_in_failed_runs",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Partitions that a failed run finished, without a row changed, are not shown as failed.",
)
def done_in_failed_runs(context: dg.RunFailureSensorContext) -> None:
    """Runs once for each failed run."""
    removed = forget_done(context.instance, context.dagster_run)
    context.log.info(f"{removed} plans of partitions that are done were removed")
