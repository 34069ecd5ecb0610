"""Define what Dagster loads: each feed as an asset, the documents built from feeds, jobs, schedules and sensors.

This module only assembles: an asset's work is in `assets`, a rule's in `warehouse`. Importing it does nothing; loading
`defs` reads the environment and the warehouse, and writes nothing. No `from __future__ import annotations`.
"""

import os
import time
import warnings
from datetime import date
from functools import cache

import dagster as dg

from assets.analyst import KEY as MART
from assets.analyst import analyst_asset
from assets.document_assets import GEO, LAYERS, MEASURED, OF_ALL_ZONES, document_assets, geo_assets
from assets.ingest import first_days
from assets.ingest.context import PipelineContext
from assets.mart_assets import RECORDS, first_partition, mart_assets
from assets.partitions import partitions_of
from assets.series_assets import raw_asset, series_asset
from assets.sources import sources
from assets.sql.database import resource
from orchestration.jobs.alerts import alerts
from orchestration.jobs.failed_runs import failed_runs
from orchestration.jobs.live import LIVE, live_feeds
from orchestration.jobs.schedules import PRIORITY, SCHEDULED, schedules_and_jobs
from orchestration.jobs.service_assets import DELIVER, PAYMENTS, STATIC_SIDE, WEBHOOKS, service_assets, webhook_sensor
from orchestration.work.environment import PipelineSettings, open_context
from warehouse import settings as warehouse_settings
from warehouse.market import clock
from warehouse.store import modes

_LAYERS = tuple(dg.AssetKey([GEO, layer]) for layer in LAYERS)
FOLLOWING = (*OF_ALL_ZONES, MEASURED, STATIC_SIDE, WEBHOOKS, PAYMENTS, MART, RECORDS, *_LAYERS)
"""The assets that no feed's run creates; after a first fill, none of them is "never materialized"."""


class Warehouse(dg.ConfigurableResource[PipelineContext]):
    """The warehouse and the publishers' session, opened when a run needs it; an asset gets its PipelineContext."""

    home: str
    """EMDS_HOME: a folder or a bucket's URL."""
    feeds: str
    """The mode that an empty warehouse takes: simulated, live or recorded."""

    def create_resource(self, context: dg.InitResourceContext) -> PipelineContext:
        return open_context({**os.environ, "EMDS_HOME": self.home, "EMDS_FEEDS": self.feeds})


def build() -> dg.Definitions:
    """Return the definitions of this process's environment.

    Writes nothing: an empty warehouse gets its mode at its first run.
    """
    settings = PipelineSettings.from_environ(os.environ)
    mode = modes.get(settings.home.open()) or settings.feeds or "simulated"
    known, firsts = sources(), first_partitions(settings)
    first_of_marts = first_partition(settings.home.open(), known, firsts)
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = [raw_asset(source) for source in known.values()]
    with warnings.catch_warnings():
        # Backfill policies are marked beta, checks by partition preview; Dagster is pinned below 1.14.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        assets += [
            series_asset(source, feed, partitions_of(feed, firsts[feed.id]), str(settings.home), job)
            for source in known.values()
            for feed in source.feeds
            for job in [LIVE if feed in live_feeds(source) else ""]
        ]
        assets += mart_assets(known, first_of_marts)
    assets += [*document_assets(known), *geo_assets()]
    assets.append(analyst_asset(known))
    assets += service_assets(bool(warehouse_settings.text(os.environ, "EMDS_PUBLISH_TO")))
    jobs, schedules = schedules_and_jobs(known, mode, firsts, first_of_marts, bool(os.environ.get("EMDS_PAY_TO")))
    return dg.Definitions(
        assets=assets,
        jobs=jobs,
        schedules=schedules,
        sensors=[alerts, failed_runs, webhook_sensor(next(job for job in jobs if job.name == DELIVER)), automation()],
        resources={
            "warehouse": Warehouse(home=str(settings.home), feeds=mode),
            "duckdb": resource(settings.home.local),
        },
        executor=dg.in_process_executor,
    )


def first_partitions(settings: PipelineSettings) -> dict[str, date]:
    """Return the first partition of every feed. Partition keys follow the wall clock, not EMDS_NOW."""
    days = first_days.load(settings.home.open())
    return {
        feed.id: first_days.first_day(feed, days, settings.since, clock.local_date(int(time.time()), feed.tz))
        for source in sources().values()
        for feed in source.feeds
    }


def automation() -> dg.AutomationConditionSensorDefinition:
    """Return the sensor that requests conditional runs; once per minute suffices for 15-minute publications."""
    return dg.AutomationConditionSensorDefinition(
        "automation",
        description="Starts service assets and marts whose automation condition is met.",
        target=dg.AssetSelection.groups("service", "marts"),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        run_tags={PRIORITY: SCHEDULED[PRIORITY]},
    )


@dg.definitions
@cache
def defs() -> dg.Definitions:
    """Return the definitions that the code server serves."""
    return build()
