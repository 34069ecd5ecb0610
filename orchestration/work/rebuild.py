"""`emds rebuild`: the days that kept bytes hold, months of which no file is left, and ranks or rights that changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from assets.ingest import repair
from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from assets.sources import feed as feed_of
from orchestration.work.backfill import Task, days_of, monthly_tasks
from warehouse.bookkeeping import logged
from warehouse.market.clock import Window, months
from warehouse.market.market import Feed
from warehouse.series import damaged, raw, series, vintages
from warehouse.series.vintages import Month
from warehouse.store import layout


def plan(pipeline: PipelineContext, feeds: Sequence[Feed], first: date | None, last: date | None) -> list[Task]:
    """Runs over the market days that kept bodies of these feeds answer for."""
    tasks = []
    for feed in feeds:
        asked = {d for question in raw.questions(pipeline.storage, feed.id, first, last) for d in question.days}
        tasks += monthly_tasks(
            feed, (d for d in asked if (first is None or d >= first) and (last is None or d <= last))
        )
    return tasks


def rebuild_absent(pipeline: PipelineContext, tasks: Sequence[Task]) -> int:
    """Make the months of which nothing is served again, body by body, so that `as_of` holds; return how many."""
    places = set[Month]()
    for task in tasks:
        feed, days = feed_of(task.feed), days_of(task)
        span = Window(window_of(feed, days[0]).start, window_of(feed, days[-1]).end)
        places.update(
            Month(m.value, zone, month) for month in months(span) for m in feed.metrics for zone in feed.zones
        )
    absent = [place for place in places if damaged.is_gone(pipeline.storage, layout.series(*place))]
    return len(list(repair.rebuild_months(pipeline, absent)))


def resolve(
    pipeline: PipelineContext, feeds: Sequence[Feed], first: date | None, last: date | None
) -> tuple[int, list[str]]:
    """Resolve the month files of these feeds' zones, from one day to another, by the ranks and rights of now.

    Returns how many changed, and a line for each unreadable one.
    """
    changed, unreadable = 0, []
    zones = {zone for feed in feeds for zone in feed.zones}
    begin = str(first - timedelta(days=1))[:7] if first else ""  # a market day may begin in the UTC month before
    end = str(last + timedelta(days=1))[:7] if last else "9999"
    for place in (Month(*place) for place in series.places(pipeline.storage)):
        if place.zone in zones and begin <= place.month <= end:
            with logged("/".join(place)) as attempt:
                changed += vintages.update(
                    pipeline.storage,
                    place,
                    lambda stored: stored.versions,
                    pipeline.ranks,
                    pipeline.mode,
                    terms=pipeline.terms,
                )
            if attempt.error is not None:
                unreadable.append(attempt.failure)
    return changed, unreadable
