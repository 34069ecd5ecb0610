"""Damaged month files made again from the kept bytes: by `emds repair`, and by the next run that publishes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

from assets.ingest.context import PipelineContext
from assets.ingest.runs import reparse_days
from warehouse import artefact, clock, damaged, layout, monthfile
from warehouse.clock import MarketDay, Window
from warehouse.damaged import Damage
from warehouse.errors import DamagedFile, StorageError
from warehouse.market import Feed

_LOG = logging.getLogger("emds.ingest")


def heal(pipeline: PipelineContext) -> set[str]:
    """Sets aside month files that cannot be counted and makes all that lie aside again; returns the zones touched.

    Costs a listing of the series where nothing is damaged. Call it after the catalogue was published.
    """
    for key in _uncounted(pipeline):
        set_aside(pipeline, key)
    return rebuild_pending(pipeline)


def _uncounted(pipeline: PipelineContext) -> list[str]:
    """The served month files of which the catalogue could not count the rows."""
    counted = artefact.load(pipeline.storage, layout.SPANS) or {}
    return [
        key for key in pipeline.storage.keys(layout.series_prefix()) if key not in counted and layout.is_month_file(key)
    ]


def set_aside(pipeline: PipelineContext, key: str) -> bool:
    """Sets a month file aside if it is damaged now, under its lock; whether it was. Raises StorageError."""
    metric, zone, month, _ = layout.of_series(key)
    with pipeline.storage.locked([layout.series(metric, zone, month)]):
        try:
            monthfile.read(pipeline.storage, key)
        except DamagedFile as error:
            damaged.set_aside(pipeline.storage, key, error.reason)
            return True
        except StorageError as error:
            _LOG.error("left where it is: %s", error)
    return False


def rebuild_pending(pipeline: PipelineContext) -> set[str]:
    """Makes the months of damaged files again from the kept bytes, and settles each; returns the zones touched."""
    zones = set()
    for damage in damaged.pending(pipeline.storage):
        if layout.is_month_file(damage.key):
            _, zone, _, _ = layout.of_series(damage.key)
            rows = _rebuild(pipeline, damage)
            zones.add(zone)
            how = (
                f"made again from the kept bytes: {rows} rows"
                if rows
                else "no kept bytes: ask again by `emds backfill`"
            )
        else:
            how = _without_rebuilding(damage.key)
        damaged.settle(pipeline.storage, damage, how)
        _LOG.warning("%s: %s", damage.key, how)
    return zones


def _without_rebuilding(key: str) -> str:
    """How a file that is no month file is made good."""
    if key.startswith(layout.published()):
        return "published again"
    if key.startswith(layout.RAW):
        return "its rows stand in the series; `emds backfill` asks for it again"
    return "nothing is made from it again"


def _rebuild(pipeline: PipelineContext, damage: Damage) -> int:
    """Parses the kept bytes of every feed that carries a month's series again; returns the rows that it then holds."""
    metric, zone, month, _ = layout.of_series(damage.key)
    window = clock.month_window(month)
    for feed in _carriers(pipeline, metric, zone):
        days = list(_days(feed, window))
        if days:
            reparse_days(pipeline, feed, days)
    return len(monthfile.versions(pipeline.storage, damage.key))


def _carriers(pipeline: PipelineContext, metric: str, zone: str) -> Iterator[Feed]:
    """The feeds that carry a zone's metric, the best ranks first, so that what is served settles once."""
    feeds = (feed for source in pipeline.sources.values() for feed in source.feeds)
    # Ties are stated beside other metrics: a report of prices may carry its zone's flows.
    yield from sorted((f for f in feeds if zone in f.zones), key=lambda f: (metric not in f.metrics, f.rank))


def _days(feed: Feed, window: Window) -> Iterator[MarketDay]:
    """The market days that overlap a month; of a yearly feed the first days of the years."""
    day = clock.local_date(window.start, feed.tz)
    last = clock.local_date(window.end - 1, feed.tz)
    if feed.yearly:
        yield from (
            MarketDay(day.replace(year=year, month=1, day=1), feed.tz) for year in {day.year, last.year, last.year + 1}
        )
        return
    while day <= last:
        yield MarketDay(day, feed.tz)
        day += timedelta(days=1)
