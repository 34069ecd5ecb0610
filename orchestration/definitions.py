"""What Dagster loads: every feed of every source as an asset, the documents made of them, jobs, schedules and sensors.

Assembly only: an asset's work is in `assets`, a rule's in `warehouse`.
"""

import warnings

import dagster as dg

warnings.filterwarnings("ignore", category=dg.BetaWarning)  # single-run backfills: one run a month, not one a day

from assets.analyst import analyst_asset  # noqa: E402
from assets.feeds import series_asset  # noqa: E402
from assets.geo import geo_assets  # noqa: E402
from assets.published import document_assets  # noqa: E402
from assets.sources import sources  # noqa: E402
from orchestration.gap_sensor import gap_sensor  # noqa: E402
from orchestration.resources import open_context  # noqa: E402
from orchestration.retention import retention  # noqa: E402
from orchestration.schedules import schedules_and_jobs  # noqa: E402
from orchestration.sensors import failure_sensor  # noqa: E402


def build() -> dg.Definitions:
    """The definitions over the warehouse of this process's environment."""
    known, pipeline = sources(), open_context()
    series = [series_asset(source, feed) for source in known.values() for feed in source.feeds]
    jobs, schedules = schedules_and_jobs(known, pipeline.mode)
    return dg.Definitions(
        assets=[*series, *document_assets(known), *geo_assets(), analyst_asset(known)],
        jobs=[*jobs, retention],
        schedules=schedules,
        sensors=[failure_sensor, gap_sensor(known, jobs, pipeline.mode)],
        resources={"pipeline": pipeline},
        executor=dg.in_process_executor,
    )


defs = build()
