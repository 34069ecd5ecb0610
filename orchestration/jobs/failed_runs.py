"""Define the sensor `failed_runs`, which counts failed runs by job for `/metrics`.

No `from __future__ import annotations`: Dagster reads the annotations.
"""

import dagster as dg

from assets.ingest.context import PipelineContext
from warehouse.documents import failed_runs as counts


@dg.run_failure_sensor(
    name="failed_runs",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
    description="Counts failed runs by job, for the metric emds_failed_runs_total.",
)
def failed_runs(context: dg.RunFailureSensorContext, warehouse: dg.ResourceParam[PipelineContext]) -> None:
    """Count one failed run."""
    counts.note(warehouse.storage, context.dagster_run.job_name)
