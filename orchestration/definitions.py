"""What Dagster loads: every feed of every source as an asset, the documents made of them, jobs, schedules and sensors.

Assembly only: an asset's work is in `assets`, a rule's in `warehouse`. Importing this module does nothing; loading `defs`
reads the environment and the warehouse, and writes nothing. No `from __future__ import annotations`: Dagster reads the
annotations.
"""

import os
import warnings

import dagster as dg

from assets.analyst import analyst_asset
from assets.feeds import series_asset
from assets.geo import geo_assets
from assets.ingest.context import PipelineContext
from assets.published import document_assets
from assets.publishers import publishers_asset
from assets.sources import sources
from orchestration.gap_sensor import gap_sensor
from orchestration.resources import kept_mode, open_context
from orchestration.retention import retention
from orchestration.schedules import schedules_and_jobs
from orchestration.sensors import failure_sensor
from orchestration.settings import PipelineSettings
from warehouse.storage import Folder


def build() -> dg.Definitions:
    """The definitions of this process's environment. Writes nothing: an empty warehouse takes its mode at its first run."""
    settings = PipelineSettings.from_environ(os.environ)
    mode = kept_mode(Folder(settings.home)) or settings.feeds or "simulated"
    known = sources()
    with warnings.catch_warnings():
        # Single-run backfills are marked beta; one run a month, not one a day, is what they are for.
        warnings.simplefilter("ignore", dg.BetaWarning)
        series = [series_asset(source, feed) for source in known.values() for feed in source.feeds]
    jobs, schedules = schedules_and_jobs(known, mode)
    return dg.Definitions(
        assets=[*series, *document_assets(known), *geo_assets(), analyst_asset(known), publishers_asset(known)],
        jobs=[*jobs, retention],
        schedules=schedules,
        sensors=[failure_sensor, gap_sensor(known, jobs, mode)],
        resources={
            "pipeline": dg.ResourceDefinition(_pipeline, description="The warehouse, its mode and its transport.")
        },
        executor=dg.in_process_executor,
    )


def _pipeline(_: dg.InitResourceContext) -> PipelineContext:
    """Opened when a run or a sensor needs it."""
    return open_context()


@dg.definitions
def defs() -> dg.Definitions:
    """What the code server serves."""
    return build()
