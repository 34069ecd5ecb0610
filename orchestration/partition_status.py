"""Whether Dagster's partitions equal the warehouse: a partition is materialised exactly where the feed's rows are held.

Where they do not, as in a warehouse that an older release filled, `mend` makes them. No `from __future__ import
annotations`, as in every file that knows Dagster.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from statistics import median

import dagster as dg

from assets import events, first_days, held, runless_events
from assets.events import forget_partitions
from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from assets.partitions import asset_key, days_of, key_of
from warehouse import series
from warehouse.clock import months
from warehouse.market import Feed

HELD = "held before Dagster knew of it"


@dataclass(frozen=True, slots=True)
class Difference:
    """A partition of which Dagster and the warehouse say different things."""

    feed: str
    partition: str
    rows: int
    """Rows held: with some, the partition is not marked; with none, it is."""


def told(found: Iterable[Difference]) -> Iterator[str]:
    """A line a feed and kind of difference."""
    groups: dict[tuple[str, bool], list[Difference]] = defaultdict(list)
    for difference in found:
        groups[difference.feed, difference.rows > 0].append(difference)
    for (feed, held_rows), group in groups.items():
        span = group[0].partition if len(group) == 1 else f"{group[0].partition} to {group[-1].partition}"
        many = "" if len(group) == 1 else f" in {len(group)} partitions"
        if held_rows:
            rows = sum(difference.rows for difference in group)
            yield f"{feed} {span}: {rows} rows held{many}, but not materialised in Dagster"
        else:
            yield f"{feed} {span}: materialised in Dagster{many}, but no row is held"


def differences(instance: dg.DagsterInstance, pipeline: PipelineContext) -> Iterator[Difference]:
    """Every difference, feed by feed, from the first day on that a feed was asked for. Reads every month file.

    Of the day before, an answer may hold an edge; it is no partition of the feed.
    """
    for feed, counts in _held(pipeline):
        first = first_days.load(pipeline.storage).get(feed.id, date.min)
        yield from _of_feed(instance, feed, counts, key_of(feed, str(first)))


def mend(instance: dg.DagsterInstance, pipeline: PipelineContext) -> int:
    """Marks what is held, and forgets what is not; returns how many partitions were another before.

    A feed whose first market day nobody noted begins with the first day of which more than an edge is held.
    """
    mended = 0
    for feed, counts in _held(pipeline):
        first_days.note(pipeline.storage, feed, _first(feed, counts, first_days.load(pipeline.storage)))
        first = first_days.load(pipeline.storage).get(feed.id, date.min)
        found = list(_of_feed(instance, feed, counts, key_of(feed, str(first))))
        forget_partitions(instance, feed, [one.partition for one in found if not one.rows])
        _mark(instance, pipeline, feed, [one.partition for one in found if one.rows])
        mended += len(found)
    return mended


def _held(pipeline: PipelineContext) -> Iterator[tuple[Feed, dict[date, int]]]:
    """Every feed with its rows by market day."""
    places = series.held(pipeline.storage)
    for source in pipeline.sources.values():
        for feed in source.feeds:
            yield feed, held.days_with_rows(pipeline.storage, feed, places)


def _first(feed: Feed, counts: Mapping[date, int], noted: Mapping[str, date]) -> list[date]:
    if feed.id in noted or not counts:
        return []
    usual = median(counts.values())
    return [next(day for day, rows in counts.items() if 2 * rows >= usual)]


def _mark(instance: dg.DagsterInstance, pipeline: PipelineContext, feed: Feed, keys: Sequence[str]) -> None:
    """Reports the partitions as they are held, month by month."""
    for _, group in groupby(sorted(keys), key=lambda key: key[:7]):
        days = days_of(feed, group)
        rows = held.read(pipeline.storage, feed, {month for day in days for month in months(window_of(feed, day))})
        of_days = [held.of_day(rows, feed, day) for day in days]
        made = [events.materialisation(feed, of_day, rows, None, HELD) for of_day in of_days]
        runless_events.report(instance, made)


def _of_feed(
    instance: dg.DagsterInstance, feed: Feed, held_days: Mapping[date, int], first: str
) -> Iterator[Difference]:
    counts = {key_of(feed, str(day)): rows for day, rows in held_days.items()}
    marked = set(instance.get_materialized_partitions(asset_key(feed)))
    for key in sorted(counts.keys() ^ marked):
        if key >= first:
            yield Difference(feed.id, key, counts.get(key, 0))
