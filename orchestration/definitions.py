"""What Dagster loads: every feed of every source as an asset, the documents made of them, jobs, schedules and sensors.

Assembly only: an asset's work is in `assets`, a rule's in `warehouse`.
"""

import warnings

import dagster as dg

warnings.filterwarnings(
    "ignore", category=dg.BetaWarning
)  # single-run backfills, measured and wanted (DESIGN.md section 7)

from assets.analyst import analyst_asset  # noqa: E402
from assets.feeds import series_asset  # noqa: E402
from assets.geo import geo_assets  # noqa: E402
from assets.published import document_assets  # noqa: E402
from assets.sources import sources  # noqa: E402
from orchestration.gap_sensor import mending  # noqa: E402
from orchestration.resources import open_context  # noqa: E402
from orchestration.retention import upkeep  # noqa: E402
from orchestration.schedules import schedules_and_jobs  # noqa: E402
from orchestration.sensors import failure_sensor  # noqa: E402


def build() -> dg.Definitions:
    """The definitions, over the house of this process's environment."""
    known, pipeline = sources(), open_context()
    series = [series_asset(source, feed) for source in known.values() for feed in source.feeds]
    jobs, schedules = schedules_and_jobs(known, pipeline.mode)
    return dg.Definitions(
        assets=[*series, *document_assets(known), *geo_assets(), analyst_asset(known)],
        jobs=[*jobs, upkeep],
        schedules=schedules,
        sensors=[failure_sensor, mending(known, jobs, pipeline.mode)],
        resources={"pipeline": pipeline},
        executor=dg.in_process_executor,
    )


defs = build()
