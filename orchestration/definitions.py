"""What Dagster loads: every feed of every source as an asset, the documents made of them, jobs, schedules and sensors.

Assembly only: an asset's work is in `assets`, a rule's in `warehouse`. Importing this module does nothing; loading
`defs` reads the environment and the warehouse, and writes nothing. No `from __future__ import annotations`.
"""

import os
import time
import warnings
from datetime import date
from functools import cache
from pathlib import Path

import dagster as dg

from assets import first_days
from assets.analyst import analyst_asset
from assets.checks import feed_checks
from assets.feeds import raw_asset, series_asset
from assets.geo import geo_assets
from assets.giving_way import LIVE_PRIORITY, PRIORITY
from assets.ingest.context import PipelineContext
from assets.partitions import first_partition, partitions_of
from assets.payments import Reconcile, payments_asset
from assets.plants_review import plants_review
from assets.published import document_assets
from assets.publishers import publishers_asset
from assets.sources import sources
from assets.static_side import PublishFiles, static_side_asset
from assets.webhooks import Deliver, webhooks_asset
from orchestration import collector
from orchestration.failed_runs import done_in_failed_runs
from orchestration.gap_sensor import gap_sensor
from orchestration.history import history_job_and_sensor
from orchestration.interrupted_runs import interrupted_runs_sensor
from orchestration.missed_retries import missed_retries_sensor
from orchestration.resources import kept_mode, open_context
from orchestration.retention import retention
from orchestration.schedules import schedules_and_jobs
from orchestration.sensors import outage_begins, outage_ends
from orchestration.settings import PipelineSettings
from orchestration.webhook_sensor import JOB, webhook_sensor
from warehouse import clock
from warehouse import settings as warehouse_settings


def build() -> dg.Definitions:
    """The definitions of this process's environment.

    Writes nothing: an empty warehouse gets its mode at its first run.
    """
    settings = PipelineSettings.from_environ(os.environ)
    mode = kept_mode(settings.home.open()) or settings.feeds or "simulated"
    known, firsts = sources(), first_partitions(settings)
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = [raw_asset(source) for source in known.values()]
    asset_checks = []
    with warnings.catch_warnings():
        # Backfill policies are marked beta, checks by partition preview; Dagster is pinned below 1.14.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        for source in known.values():
            for feed in source.feeds:
                partitions = partitions_of(feed, firsts[feed.id])
                assets.append(series_asset(source, feed, partitions, str(settings.home)))
                asset_checks += feed_checks(known, feed, partitions)
    jobs, schedules = schedules_and_jobs(known, mode, firsts, takes_payments=bool(os.environ.get("EMDS_PAY_TO")))
    history, start_history = history_job_and_sensor(firsts, jobs)
    publishes = bool(warehouse_settings.text(os.environ, "EMDS_PUBLISH_TO"))
    others = [publishers_asset(known), payments_asset(), plants_review(), webhooks_asset()]
    if isinstance(settings.home.place, Path):
        others.append(analyst_asset(known))  # views over files: DuckDB itself reads a bucket only with an extension
    round_of_webhooks = next(job for job in jobs if job.name == JOB)
    return dg.Definitions(
        assets=[*assets, *document_assets(known), *geo_assets(), *others, static_side_asset(publishes)],
        asset_checks=asset_checks,
        jobs=[*jobs, history, retention],
        schedules=schedules,
        sensors=[
            outage_begins,
            outage_ends,
            done_in_failed_runs,
            gap_sensor(known, jobs, mode),
            webhook_sensor(round_of_webhooks),
            start_history,
            interrupted_runs_sensor(own_machine=not settings.dagster_postgres_url),
            missed_retries_sensor(known, jobs),
            automation(),
        ],
        resources={
            "pipeline": dg.ResourceDefinition(_pipeline, description="The warehouse, its mode and its transport."),
            "publish_files": dg.ResourceDefinition(_publish_files, description="Puts the free documents as files."),
            "deliver": dg.ResourceDefinition(_deliver, description="Delivers what waits for subscribers."),
            "reconcile": dg.ResourceDefinition(_reconcile, description="Compares transfers with the payments ledger."),
        },
        executor=dg.in_process_executor,
    )


def first_partitions(settings: PipelineSettings) -> dict[str, date]:
    """The first partition of every feed. Partition keys follow the wall clock, not EMDS_NOW."""
    noted = first_days.load(settings.home.open())
    return {
        feed.id: first_partition(source, feed, noted, settings.since, clock.local_date(int(time.time()), feed.tz))
        for source in sources().values()
        for feed in source.feeds
    }


def automation() -> dg.AutomationConditionSensorDefinition:
    """Asks for what follows by condition. Once a minute: a condition that looks at a quarter hour needs no more.

    Dagster runs it as a backfill over the zones; its priority puts it ahead of a person's backfill.
    """
    return dg.AutomationConditionSensorDefinition(
        "automation",
        target=dg.AssetSelection.groups("published", "analyst"),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        run_tags={PRIORITY: str(LIVE_PRIORITY)},
    )


def _pipeline(_: dg.InitResourceContext) -> PipelineContext:
    """Opened when a run or a sensor needs it."""
    return open_context()


def _reconcile(_: dg.InitResourceContext) -> Reconcile:
    """The accounts are opened when the run calls it."""
    from orchestration.reconcile import counts

    return counts


def _publish_files(_: dg.InitResourceContext) -> PublishFiles:
    """The target is opened when the run calls it."""
    from orchestration.static_side.run import counts

    return counts


def _deliver(_: dg.InitResourceContext) -> Deliver:
    """The accounts are opened when the run calls it."""
    from orchestration.webhooks import counts

    return counts


@dg.definitions
@cache
def defs() -> dg.Definitions:
    """What the code server serves, and what a run asks for twice (`orchestration.fork_server` makes them before it)."""
    made = build()
    collector.let_go()
    return made
