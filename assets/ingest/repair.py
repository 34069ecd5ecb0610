"""Rebuild months whose files are damaged or missing from the raw archive, response by response.

`emds repair` and `refresh_all` do so. Data that is not in the raw archive stays missing, and `emds gaps` lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from copy import deepcopy
from datetime import date, timedelta

import numpy as np

from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
from assets.ingest.gather import Gathered
from assets.ingest.runs import judge_kept, kept_bodies
from warehouse.bookkeeping import logged
from warehouse.documents import manifest
from warehouse.errors import StorageError
from warehouse.judge import quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Feed
from warehouse.rows.schema import Rows
from warehouse.rows.versions import Versions, concat, empty
from warehouse.series import damaged, month_versions, raw, restore
from warehouse.series.month_versions import Month
from warehouse.series.restore import Statement
from warehouse.store import layout

_LOG = logging.getLogger("emds.ingest")


def heal(pipeline: PipelineContext) -> set[str]:
    """Mark monthly files that cannot be counted, rebuild all marked months and return the affected zones.

    If no file is damaged, this costs a listing of the series. Call this function after the catalogue is published.
    """
    for key in manifest.uncounted(pipeline.storage):
        with logged(key):
            month_versions.mark_damaged(pipeline.storage, Month(*layout.of_series(key)[:3]))
    return rebuild_marked(pipeline)


def rebuild_marked(pipeline: PipelineContext) -> set[str]:
    """Rebuild every marked month and return the affected zones. A month that cannot be rebuilt now keeps its mark."""
    marks: dict[Month, dict[str, bytes | None]] = {}
    for key in damaged.waiting(pipeline.storage):
        with logged(key):
            mark = pipeline.storage.get(layout.waiting(key))
            marks.setdefault(Month(*layout.of_series(key)[:3]), {})[key] = mark
    for place, rows in rebuild_months(pipeline, marks):
        for key, mark in marks[place].items():
            _LOG.warning("%s: rebuilt from the raw archive: %d rows; `emds gaps` lists what is missing", key, rows)
            with logged(key):
                # A run that found the damaged month after its responses were read has renewed the mark. The next
                # rebuild reads the responses of that run too.
                if pipeline.storage.get(layout.waiting(key)) == mark:
                    pipeline.storage.delete(layout.waiting(key))
    return {place.zone for place in marks}


def rebuild_months(pipeline: PipelineContext, places: Collection[Month]) -> Iterator[tuple[Month, int]]:
    """Merge the rows of the raw archive into what is left of some months.

    Yields each rebuilt month, with the number of rows that it serves. A month that cannot be rebuilt now is logged.
    """
    since = raw.pruned_until(pipeline.storage)
    for month in sorted({place.month for place in places}):
        wanted = [place for place in places if place.month == month]
        restorable: dict[Month, list[Versions]] = {place: [empty()] for place in wanted}
        unread: set[Month] = set()
        for feed in (feed for source in pipeline.sources.values() for feed in source.feeds):
            carried = [place for place in wanted if place.zone in feed.zones and feed.carries(place.metric)]
            with logged(f"raw responses of {feed.id}") as reading:
                for place, versions in _restorable_versions(pipeline, feed, month, carried) if carried else ():
                    restorable[place].append(versions)
            unread |= {*carried} if reading.error else set()
        for place in (place for place in wanted if place not in unread):
            with logged("/".join(place)):
                versions, served_by = concat(restorable[place]), (pipeline.ranks, pipeline.mode)
                yield place, restore.put(pipeline.storage, place, versions, *served_by, since, pipeline.terms)


def _restorable_versions(
    pipeline: PipelineContext, feed: Feed, month: str, places: Collection[Month]
) -> Iterator[tuple[Month, Versions]]:
    """Yield a feed's rows in the raw archive by month, each known since its response arrived. Raises StorageError.

    Net values that are added up over several responses change with each response, so they are rebuilt day by day: a
    month would take hours. A response without rows of the zones is skipped, since a statement costs as much as all rows
    before. Except for such net values, responses to requests for other zones are not parsed.
    """
    zones = {place.zone for place in places}
    days, instants = list(days_of(feed, clock.month_window(month))), dict[Month, set[int]]()
    for part in [days] if feed.combine is None else [[day] for day in days]:
        gathered, statements = Gathered(feed), list[tuple[int, Rows]]()
        for stored in kept_bodies(pipeline, feed, part):
            if feed.combine is None and stored.request.zone not in {None, *zones}:
                continue
            rows = of_zones(gathered.read(Fetched(stored.request, stored.body, stored.fetched_at)), zones)
            if not len(rows):
                continue
            if feed.combine is not None:
                rows = feed.combine(deepcopy(of_zones(gathered.rows, zones)))
            believed = quality.judge(rows, feed, (), stored.fetched_at).accepted
            statements.append((stored.fetched_at, _of_places(believed, places)))
        if not statements:
            continue
        final = judge_kept(pipeline, gathered, part).accepted
        for error in (error for _, error in gathered.failures if isinstance(error, StorageError)):
            raise error
        for place in places:
            own = [Statement(at, _of_places(rows, [place])) for at, rows in statements]
            versions = restore.versions(feed.id, own, _of_places(final, [place]), place)
            # Rows of a day without its own request occur in several parts. The first part yields them.
            known = instants.setdefault(place, set())
            fresh = versions.take(~np.isin(versions.ts, [*known]))
            known.update(fresh.ts.tolist())
            yield place, fresh


def of_zones(rows: Rows, zones: Collection[str]) -> Rows:
    """Return the rows of some zones and of their borders from both sides, since net values are added up from both."""
    own = Rows()
    own.readings |= {
        key: readings for key, readings in rows.readings.items() if {key.zone, key.counterparty} & {*zones}
    }
    return own


def _of_places(rows: Rows, places: Collection[Month]) -> Rows:
    """Return the rows of the zones and metrics of some months."""
    wanted, own = {(place.metric, place.zone) for place in places}, Rows()
    own.readings |= {key: readings for key, readings in rows.readings.items() if (key.metric, key.zone) in wanted}
    return own


def days_of(feed: Feed, window: Window) -> Iterator[MarketDay]:
    """Yield the market days that overlap a window; for a yearly feed, the first days of the years."""
    day = clock.local_date(window.start, feed.tz)
    last = clock.local_date(window.end - 1, feed.tz)
    if feed.yearly:
        for year in sorted({day.year, last.year, last.year + 1}):
            yield MarketDay(date(year, 1, 1), feed.tz)
        return
    while day <= last:
        yield MarketDay(day, feed.tz)
        day += timedelta(days=1)
