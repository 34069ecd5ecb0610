"""What a run planned and then had no need to do: Dagster shows such a partition as failed once that run has failed.

A day that was asked for and is unchanged gets no materialisation. Where the run fails for another day or feed, or is
killed, the day would be red though the warehouse holds all of it. No `from __future__ import annotations`.
"""

import dagster as dg
from sqlalchemy import func, select

from assets import events
from assets.event_tables import EVENTS, delete_events, tables
from assets.partitions import asset_key, key_of
from assets.sources import feeds
from warehouse.market import Feed

_PLANNED = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED.value


def forget_done(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int:
    """Removes, of the partitions that a failed run or the attempt before it finished, what was planned; how many."""
    feed_of = {asset_key(feed): feed for feed in feeds().values()}
    chosen = [feed_of[key] for key in run.asset_selection or _planned(instance, run) if key in feed_of]
    return sum(_forget(instance, feed, run) for feed in chosen)


def _forget(instance: dg.DagsterInstance, feed: Feed, run: dg.DagsterRun) -> int:
    key, event = asset_key(feed), EVENTS.c
    attempts = [run.run_id, *filter(None, [run.parent_run_id])]
    done = {key_of(feed, str(day)) for day in events.finished_days(instance, feed, attempts)}
    if not done:
        return 0
    of_asset = event.asset_key == key.to_string()
    with tables(instance) as connection:
        # Not what a later run plans, which may be under way.
        last = connection.execute(select(func.max(event.id)).where(of_asset & event.run_id.in_(attempts))).scalar()
        if last is None:  # a person has wiped the asset meanwhile; the runs' own logs keep their events
            return 0
        planned = (event.dagster_event_type == _PLANNED) & (event.id <= last)
        removed = delete_events(connection, of_asset & event.partition.in_(sorted(done)) & planned)
    # Every time: a page that was being made meanwhile keeps its partitions' states from before, after they were wiped.
    instance.wipe_asset_cached_status([key])
    return removed


def _planned(instance: dg.DagsterInstance, run: dg.DagsterRun) -> set[dg.AssetKey]:
    """The assets of a run of a whole job."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED}
    planned = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kinds)]
    return {event.asset_key for event in planned if event is not None and event.asset_key is not None}
