"""Whether Dagster's partitions equal the warehouse: a partition is materialised exactly where the feed's rows are held.

No `from __future__ import annotations`, as in every file that knows Dagster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import dagster as dg

from assets import first_days, held
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, key_of
from warehouse import series
from warehouse.market import Feed


@dataclass(frozen=True, slots=True)
class Difference:
    """A partition of which Dagster and the warehouse say different things."""

    feed: str
    partition: str
    rows: int
    """Rows held: with some, the partition is not marked; with none, it is."""

    def __str__(self) -> str:
        if self.rows:
            return f"{self.feed} {self.partition}: {self.rows} rows held, but not materialised in Dagster"
        return f"{self.feed} {self.partition}: materialised in Dagster, but no row is held"


def differences(instance: dg.DagsterInstance, pipeline: PipelineContext) -> Iterator[Difference]:
    """Every difference, feed by feed, from the first day on that a feed was asked for. Reads every month file.

    Of the day before, an answer may hold an edge; it is no partition of the feed.
    """
    places, firsts = series.held(pipeline.storage), first_days.load(pipeline.storage)
    for source in pipeline.sources.values():
        for feed in source.feeds:
            yield from _of_feed(instance, pipeline, feed, places, key_of(feed, str(firsts.get(feed.id, date.min))))


def _of_feed(
    instance: dg.DagsterInstance,
    pipeline: PipelineContext,
    feed: Feed,
    places: list[tuple[str, str, str]],
    first: str,
) -> Iterator[Difference]:
    counts = {key_of(feed, str(day)): n for day, n in held.days_with_rows(pipeline.storage, feed, places).items()}
    marked = set(instance.get_materialized_partitions(asset_key(feed)))
    for key in sorted(counts.keys() ^ marked):
        if key >= first:
            yield Difference(feed.id, key, counts.get(key, 0))
