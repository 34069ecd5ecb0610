"""Damaged month files made again from the kept bytes: by `emds repair`, and by the next run that publishes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from assets.ingest import losses
from assets.ingest.context import PipelineContext
from assets.ingest.runs import reparse_days
from warehouse import artefact, clock, damaged, layout, monthfile
from warehouse.bookkeeping import logged
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
    """Makes the months of damaged files again from the kept bytes, and settles each; returns the zones touched.

    One whose rows have to be asked for again stays pending, and is looked at again the next time.
    """
    zones = set()
    for damage in damaged.pending(pipeline.storage):
        if layout.is_month_file(damage.key) and not damage.missing:
            _rebuild(pipeline, damage)
            zones.add(layout.of_series(damage.key)[1])
    # Listed anew: bodies that were found damaged meanwhile are among them.
    noted = damaged.listed(pipeline.storage)
    lost = {layout.of_series(damage.key)[:3] for damage in noted if layout.is_month_file(damage.key)}
    gaps = cache(partial(losses.gaps, pipeline))
    for damage in noted:
        if not damage.settled:
            with logged(damage.key):
                _settle(pipeline, damage, lost, gaps)
    return zones


def _settle(pipeline: PipelineContext, damage: Damage, lost: losses.Places, gaps: losses.Gaps) -> None:
    """Notes how a damaged file was made good, or what has to be asked for again. Raises StorageError."""
    loss = losses.of(pipeline, damage, lost, gaps)
    if loss.missing:
        waiting = replace(damage, missing=loss.missing, beyond=loss.beyond, newest=loss.newest)
        if damaged.await_rows(pipeline.storage, damage, waiting):
            for line in losses.to_ask([waiting]):
                _LOG.error("%s: %s", damage.key, line)
        return
    gone = [
        f"{feed} of {', '.join(days)} is lost: its publisher keeps that no longer" for feed, days in loss.beyond.items()
    ]
    stands = [] if gone and layout.is_kept_body(damage.key) else [_how(pipeline, damage, lost)]
    how = "; ".join([*stands, *gone])
    damaged.settle(pipeline.storage, damage, how)
    _LOG.warning("%s: %s", damage.key, how)


def _how(pipeline: PipelineContext, damage: Damage, lost: losses.Places) -> str:
    """How a file was made good whose rows are held again, as far as anybody owes them."""
    if layout.is_month_file(damage.key):
        rows = len(monthfile.versions(pipeline.storage, damage.key))
        return f"made again from the kept bytes: {rows} rows" if rows else "no kept bytes: ask again by `emds backfill`"
    if damage.key.startswith(layout.published()):
        return "published again"
    if damage.key.startswith(layout.RAW):
        stand = (
            "its rows stand in the series"
            if losses.filled(pipeline, damage, lost)
            else "no month file was lost that it was made into"
        )
        return f"{stand}; `emds backfill` asks for it again"
    return "nothing is made from it again"


def _rebuild(pipeline: PipelineContext, damage: Damage) -> None:
    """Parses the kept bytes of every feed that carries a month's series again."""
    metric, zone, month, _ = layout.of_series(damage.key)
    window = clock.month_window(month)
    for feed in _carriers(pipeline, metric, zone):
        days = list(losses.days_of(feed, window))
        if days:
            reparse_days(pipeline, feed, days)


def _carriers(pipeline: PipelineContext, metric: str, zone: str) -> Iterator[Feed]:
    """The feeds that carry a zone's metric, the best ranks first, so that what is served settles once."""
    feeds = (feed for source in pipeline.sources.values() for feed in source.feeds)
    # Ties are stated beside other metrics: a report of prices may carry its zone's flows.
    yield from sorted((f for f in feeds if zone in f.zones), key=lambda f: (metric not in f.metrics, f.rank))
