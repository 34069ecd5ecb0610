"""Find the days of the last ten that hold rows and that Dagster does not know; `mend` records them.

Older days are recorded again by `emds rebuild --start D`. No `from __future__ import annotations`.
"""

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from assets import events, first_days, stored_days
from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from assets.partitions import asset_key, key_of, last_day
from assets.stored_days import StoredDay
from warehouse.market import clock
from warehouse.market.clock import MarketDay, months
from warehouse.market.market import Feed

BACK_DAYS = 10
HELD = "held before Dagster knew of it"


def describe(feed: Feed, day: StoredDay) -> str:
    """Return a line about a market day that holds rows and that Dagster does not know."""
    return f"{feed.id} {day.day}: {day.rows} rows held, but not materialised in Dagster"


def unmarked(instance: dg.DagsterInstance, pipeline: PipelineContext) -> Iterator[tuple[Feed, StoredDay]]:
    """Yield these days, feed by feed, from the first day on that a feed was asked for."""
    firsts, now = first_days.load(pipeline.storage), clock.now()
    for feed in (feed for source in pipeline.sources.values() for feed in source.feeds):
        today = clock.local_date(now, feed.tz)
        days = [MarketDay(today - timedelta(days=back), feed.tz) for back in range(BACK_DAYS, -1, -1)]
        last = last_day(feed, today)
        days = [day for day in days if feed.id in firsts and firsts[feed.id] <= day.day <= last]
        if feed.yearly or not days:
            continue
        marked = set(instance.get_materialized_partitions(asset_key(feed)))
        days = [day for day in days if key_of(feed, str(day)) not in marked]
        rows = stored_days.read(
            pipeline.storage, feed, {month for day in days for month in months(window_of(feed, day))}
        )
        for of_day in (stored_days.of_day(rows, feed, day) for day in days):
            if of_day.rows:
                yield feed, of_day


def mend(instance: dg.DagsterInstance, pipeline: PipelineContext) -> int:
    """Record these days as materialised; return how many."""
    found = list(unmarked(instance, pipeline))
    for feed, day in found:
        instance.report_runless_asset_event(events.materialisation(feed, day, None, HELD))
    return len(found)
