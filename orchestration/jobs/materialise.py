"""Materialise in this process what only the daemon would: marts after a command, and missing assets at a start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import dagster as dg

from assets.mart_assets import KEYS, RECORDS, first_partition
from assets.sources import sources
from orchestration.definitions import FOLLOWING, build, first_partitions
from orchestration.jobs.alerts import ASSET_JOB
from orchestration.jobs.recording import execute_here
from orchestration.jobs.schedules import MARTS, mart_months
from orchestration.work.environment import PipelineSettings
from warehouse.bookkeeping import logged


def materialise_marts(instance: dg.DagsterInstance | None) -> list[str]:
    """Rebuild the outdated months of the marts, and the records, which only the daemon would do otherwise.

    Return what failed; Dagster and the log have the reason.
    """
    if instance is None:
        return []
    is_whole = False
    with logged("marts"):
        settings = PipelineSettings.from_environ(os.environ)
        months = mart_months(first_partition(settings.home.open(), sources(), first_partitions(settings)))
        is_whole = months is None or _materialise(instance, KEYS, months, MARTS)
        if months is not None or instance.get_latest_materialization_event(RECORDS) is None:
            is_whole &= _materialise(instance, [RECORDS])
    return [] if is_whole else ["marts"]


def materialise_the_rest(instance: dg.DagsterInstance | None) -> None:
    """Materialise missing assets that runs of feeds do not create: documents, layers, marts, the service's assets."""
    if instance is None:
        return
    # later the daemon creates them, and a start does not wait
    if instance.get_latest_materialization_event(RECORDS) is None:
        materialise_marts(instance)
    with logged("documents in Dagster"):
        never = [key for key in FOLLOWING if instance.get_latest_materialization_event(key) is None]
        if never:
            _materialise(instance, never)


def _materialise(
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    tags: Mapping[str, str] | None = None,
    job: str = ASSET_JOB,
) -> bool:
    """Materialise assets in this process with this environment's definitions and its first partitions.

    Return whether it succeeded. `job` is their scheduled job if there is one; its next run then ends an outage of this
    run.
    """
    return execute_here(build().resolve_job_def(job), instance, asset_selection=[*keys], tags=tags)
