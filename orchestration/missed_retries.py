"""The sensor that starts the one retry of a crashed run where Dagster itself has not.

Dagster's daemon tries a crashed run again when it hears of its end, and only then. No retry comes where the code server
is away at that moment, nor where the run was a backfill's last and the backfill was ended first. No `from __future__
import annotations`: Dagster reads the annotations.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets.giving_way import BACKFILL, HISTORY, PRIORITY
from assets.partitions import asset_key
from orchestration.schedules import RANGE, schedule_groups
from warehouse.market import Source

WAIT_S = 60
"""After a run's end; Dagster's own retry comes within a few seconds."""
BACK_S = 86_400
"""Runs that ended longer ago are left: schedules have asked again since, and holes are found by `fill_gaps`."""
PARENT, ROOT, NUMBER = "dagster/parent_run_id", "dagster/root_run_id", "dagster/retry_number"
"""Dagster's tags of a retry."""
_PROMISED, _RETRIED = "dagster/will_retry", "dagster/auto_retry_run_id"
"""Dagster's tags of a run that it means to try again, and of its retry, once there is one: backfills wait for it."""
PARTITION = "dagster/partition"
_REASON, _BY_STEP = "dagster/failure_reason", "STEP_FAILURE"
"""An asset that failed has had its own retries."""
_KEPT = (*RANGE, PRIORITY, BACKFILL, HISTORY)
"""Tags of a run that its retry has too; others tell who started it, where it ran and how it ended."""


def missed(instance: dg.DagsterInstance, now: float) -> Iterator[dg.DagsterRun]:
    """Crashed runs of the last day, themselves no retries, that nobody has started again. `now`: Unix seconds.

    Where one has been, but not by Dagster, its run is told so: its backfill would wait for Dagster's retry for ever.
    """
    since = datetime.fromtimestamp(now - BACK_S, UTC)
    for record in instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since)):
        run, ended = record.dagster_run, record.end_time or now
        if not now - BACK_S < ended <= now - WAIT_S or NUMBER in run.tags or run.tags.get(_REASON) == _BY_STEP:
            continue
        retries = instance.get_run_records(dg.RunsFilter(tags={PARENT: run.run_id}), limit=1)
        if not retries:
            yield run
        elif _PROMISED in run.tags and _RETRIED not in run.tags:
            instance.add_run_tags(run.run_id, {_RETRIED: retries[0].dagster_run.run_id})


def requests(run: dg.DagsterRun, job_of: Mapping[dg.AssetKey, str], jobs: Sequence[str]) -> Iterator[dg.RunRequest]:
    """The run again, by its own job; one that Dagster started for chosen feeds, by the jobs of these feeds.

    `job_of`: the jobs of the feeds' assets. Nothing for assets of no job: what follows by condition follows again.
    """
    tags = {name: run.tags[name] for name in _KEPT if name in run.tags}
    chosen: dict[str, list[dg.AssetKey] | None] = {}
    if run.job_name in jobs:
        chosen[run.job_name] = _sorted(run) or None
    else:
        by_job: dict[str, list[dg.AssetKey]] = defaultdict(list)
        for key in _sorted(run):
            if key in job_of:
                by_job[job_of[key]].append(key)
        chosen |= by_job
    for job, keys in chosen.items():
        yield dg.RunRequest(
            run_key=f"{run.run_id} {job}",
            job_name=job,
            asset_selection=keys,
            asset_check_keys=[] if keys else None,
            run_config=run.run_config,
            partition_key=run.tags.get(PARTITION),
            tags={**tags, PARENT: run.run_id, ROOT: run.root_run_id or run.run_id, NUMBER: "1"},
        )


def _sorted(run: dg.DagsterRun) -> list[dg.AssetKey]:
    """The assets that a run was started for; empty where it was started for all of its job's."""
    return sorted(run.asset_selection or (), key=lambda key: key.path)


def missed_retries_sensor(sources: Mapping[str, Source], jobs: Sequence[Any]) -> dg.SensorDefinition:
    """Looks once a minute."""
    groups = (group for source in sources.values() for group in schedule_groups(source).items())
    job_of = {asset_key(feed): job for job, feeds in groups for feed in feeds}
    names = [job.name for job in jobs]

    @dg.sensor(
        name="missed_retries",
        jobs=jobs,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tries a crashed run again, once, where Dagster did not: no code server, or the backfill over.",
    )
    def missed_retries(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest]:
        for run in missed(context.instance, time.time()):
            yield from requests(run, job_of, names)

    return missed_retries
