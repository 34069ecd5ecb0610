"""Months whose files are damaged or gone, made again from the kept bytes as they came, body by body.

By `emds repair`, and by what publishes everything. What no kept body holds is missing then, as `emds gaps` says.
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
    """Mark month files that cannot be counted and make all marked months again; return the zones touched.

    Costs a listing of the series where nothing is damaged. Call it after the catalogue was published.
    """
    for key in manifest.uncounted(pipeline.storage):
        with logged(key):
            month_versions.mark_damaged(pipeline.storage, Month(*layout.of_series(key)[:3]))
    return rebuild_marked(pipeline)


def rebuild_marked(pipeline: PipelineContext) -> set[str]:
    """Make every marked month again; return the zones touched. One that cannot be made now keeps its mark."""
    marks: dict[Month, dict[str, bytes | None]] = {}
    for key in damaged.waiting(pipeline.storage):
        with logged(key):
            mark = pipeline.storage.get(layout.waiting(key))
            marks.setdefault(Month(*layout.of_series(key)[:3]), {})[key] = mark
    for place, rows in rebuild_months(pipeline, marks):
        for key, mark in marks[place].items():
            _LOG.warning("%s: made again from the kept bytes: %d rows; `emds gaps` says what is missing", key, rows)
            with logged(key):
                # A run that met the damaged month after its bodies were read has marked it anew: the next rebuild reads
                # the body of that run too.
                if pipeline.storage.get(layout.waiting(key)) == mark:
                    pipeline.storage.delete(layout.waiting(key))
    return {place.zone for place in marks}


def rebuild_months(pipeline: PipelineContext, places: Collection[Month]) -> Iterator[tuple[Month, int]]:
    """Put what the kept bodies state of some months beside what is left of them.

    Yields each that is in place, with the number of rows that it serves. One that cannot be made now is logged.
    """
    since = raw.pruned_until(pipeline.storage)
    for month in sorted({place.month for place in places}):
        wanted = [place for place in places if place.month == month]
        restorable: dict[Month, list[Versions]] = {place: [empty()] for place in wanted}
        unread: set[Month] = set()
        for feed in (feed for source in pipeline.sources.values() for feed in source.feeds):
            carried = [place for place in wanted if place.zone in feed.zones and feed.carries(place.metric)]
            with logged(f"kept bodies of {feed.id}") as reading:
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
    """What a feed's kept bodies state of some months, each value known since its body came. Raises StorageError.

    Nets that are added up over several bodies change with each of them: day by day, since a month would take hours.
    A body that says nothing about the zones is no statement: each statement costs as much as the rows before it. The
    body of a request for another zone is not parsed, but for such nets.
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
            # Several parts see the rows of a day that no response was requested for: the first of them has them.
            known = instants.setdefault(place, set())
            fresh = versions.take(~np.isin(versions.ts, [*known]))
            known.update(fresh.ts.tolist())
            yield place, fresh


def of_zones(rows: Rows, zones: Collection[str]) -> Rows:
    """Return the rows of some zones and of their borders, as either side states them: nets are added up of both."""
    own = Rows()
    own.readings |= {
        key: readings for key, readings in rows.readings.items() if {key.zone, key.counterparty} & {*zones}
    }
    return own


def _of_places(rows: Rows, places: Collection[Month]) -> Rows:
    """The rows of some zones' metrics."""
    wanted, own = {(place.metric, place.zone) for place in places}, Rows()
    own.readings |= {key: readings for key, readings in rows.readings.items() if (key.metric, key.zone) in wanted}
    return own


def days_of(feed: Feed, window: Window) -> Iterator[MarketDay]:
    """The market days that overlap a window; of a yearly feed the first days of the years."""
    day = clock.local_date(window.start, feed.tz)
    last = clock.local_date(window.end - 1, feed.tz)
    if feed.yearly:
        for year in sorted({day.year, last.year, last.year + 1}):
            yield MarketDay(date(year, 1, 1), feed.tz)
        return
    while day <= last:
        yield MarketDay(day, feed.tz)
        day += timedelta(days=1)
