"""Damaged month files made again from the kept bytes: by `emds repair`, and by the next run that publishes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from assets.ingest import losses
from assets.ingest.context import PipelineContext
from assets.ingest.runs import reparse_days
from warehouse import artefact, clock, damaged, layout, monthfile, vintages
from warehouse.bookkeeping import logged
from warehouse.damaged import Damage
from warehouse.errors import DamagedFile, MarketError, StorageError
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

    One whose rows have to be asked for again stays pending, as one that cannot be made now, and is looked at again the
    next time.
    """
    zones, not_made = set(), set()
    for damage in damaged.pending(pipeline.storage):
        if layout.is_month_file(damage.key) and not damage.missing:
            if not _rebuild(pipeline, damage):
                not_made.add(damage.name)
            zones.add(layout.of_series(damage.key)[1])
    # Listed anew: bodies that were found damaged meanwhile are among them.
    noted = damaged.listed(pipeline.storage)
    lost = {layout.of_series(damage.key)[:3] for damage in noted if layout.is_month_file(damage.key)}
    gaps = cache(partial(losses.gaps, pipeline))
    for damage in noted:
        if not damage.settled and damage.name not in not_made:
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
        rows = len(vintages.read(pipeline.storage, vintages.Month(*layout.of_series(damage.key)[:3])))
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


def _rebuild(pipeline: PipelineContext, damage: Damage) -> bool:
    """Parses the kept bytes of every feed that carries a month's series again.

    False, and logged, where the bytes cannot be read now, or the rows cannot be written.
    """
    metric, zone, month, _ = layout.of_series(damage.key)
    window = clock.month_window(month)
    failures: list[MarketError] = []
    with logged(damage.key) as making:
        for feed in _carriers(pipeline, metric, zone):
            if days := list(losses.days_of(feed, window)):
                failures += reparse_days(pipeline, feed, days).failures
    refused = [error for error in failures if isinstance(error, StorageError) and _may_be_of(error, metric, zone)]
    for error in refused:
        _LOG.error("%s: %s was not made again", error, damage.key)
    return making.error is None and not refused


def _may_be_of(error: StorageError, metric: str, zone: str) -> bool:
    """Whether an error names a file, or a lock, of a zone's metric, or none at all: a run writes many zones' files."""
    told = str(error).replace("~", "/")
    return layout.series_prefix(metric, zone).partition("/")[2] in told or "metric=" not in told


def _carriers(pipeline: PipelineContext, metric: str, zone: str) -> Iterator[Feed]:
    """The feeds that carry a zone's metric, the best ranks first, so that what is served settles once."""
    feeds = (feed for source in pipeline.sources.values() for feed in source.feeds)
    # Ties are stated beside other metrics: a report of prices may carry its zone's flows.
    yield from sorted((f for f in feeds if zone in f.zones), key=lambda f: (metric not in f.metrics, f.rank))
