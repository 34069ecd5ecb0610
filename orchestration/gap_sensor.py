"""The sensor that asks again for days with holes after an outage: once a day, feed by feed, some days back.

Schedules ask no further back than a publisher revises; older holes are found against the feeds' own calendars
(`orchestration.gaps`). No `from __future__ import annotations`: Dagster reads the annotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import dagster as dg

from assets import first_days
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, key_of
from orchestration import gaps
from orchestration.schedules import RANGE, schedule_groups
from warehouse import clock, health
from warehouse.market import Source

BACK_DAYS = 10
"""Older holes wait for `emds gaps --fill`: a publisher that has not filled them by then is not asked every day."""


def gap_sensor(sources: Mapping[str, Source], jobs: Sequence[Any], mode: str) -> dg.SensorDefinition:
    """Starts the feed's own job for each month with holes. Stopped in a recorded warehouse: no publisher to ask."""
    status = dg.DefaultSensorStatus.STOPPED if mode == "recorded" else dg.DefaultSensorStatus.RUNNING

    @dg.sensor(
        name="fill_gaps",
        jobs=jobs,
        minimum_interval_seconds=clock.DAY,
        default_status=status,
        description=f"Asks once a day for the days with holes, up to {BACK_DAYS} days back.",
    )
    def fill_gaps(
        context: dg.SensorEvaluationContext, pipeline: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.RunRequest]:
        yield from requests(pipeline, sources)

    return fill_gaps


def requests(pipeline: PipelineContext, sources: Mapping[str, Source]) -> Iterator[dg.RunRequest]:
    """One run for each month of each feed with holes that no schedule asks for any more.

    A feed that never gave a row has no outage, and days before its first partition are no holes: their history comes by
    `emds backfill`.
    """
    now, firsts = clock.now(), first_days.load(pipeline.storage)
    for source in sources.values():
        gave = {known.feed for known in health.known(pipeline.storage, source.code) if known.data_until}
        for job, feeds in schedule_groups(source).items():
            for feed in (f for f in feeds if f.id in gave):
                recent = clock.local_date(now, feed.tz) - timedelta(days=feed.revised_days)
                first_day = firsts.get(feed.id, date.min)
                holes = gaps.find(pipeline, [feed], BACK_DAYS).holes
                holes = [hole for hole in holes if first_day <= hole.day < recent]
                for task in gaps.tasks(holes):
                    first, last = (key_of(feed, str(day)) for day in (task.days[0], task.days[-1]))
                    yield dg.RunRequest(
                        run_key=f"{task.name} {clock.utc(now):%Y-%m-%d}",
                        job_name=job,
                        asset_selection=[asset_key(feed)],
                        asset_check_keys=[],
                        tags={RANGE[0]: first, RANGE[1]: last},
                    )
