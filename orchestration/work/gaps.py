"""Find gaps for `emds gaps`: intervals that a feed was due to publish by its calendar but did not, by feed and day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from assets.ingest import first_days, stored_days
from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from assets.sources import feed as feed_of
from orchestration.work.backfill import Task, days_of, monthly_tasks
from warehouse.bookkeeping import logged
from warehouse.documents import health
from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window, iso, months
from warehouse.market.feeds import Feed
from warehouse.rows.forecasts import instants
from warehouse.rows.schema import Rows, SeriesKey

BACK_DAYS = 10
"""Older gaps need `emds backfill --missing`: the daily job does not fetch days that old."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A gap: intervals missing in one market day of one series of a feed."""

    feed: Feed
    zone: str
    metric: str
    day: date
    start: int
    end: int
    intervals: int


def find(pipeline: PipelineContext, feeds: Sequence[Feed], days: int) -> tuple[list[Hole], list[str]]:
    """Return the gaps of the last `days` market days and of today's due part. Feeds without credentials have none.

    Also return a line for each zone and metric whose files cannot be read; their gaps are unknown.
    """
    unreadable, holes, now = list[str](), list[Hole](), clock.now()
    for feed in (feed for feed in feeds if feed.source in pipeline.configured and not feed.yearly):
        today = clock.local_date(now, feed.tz)
        span = [MarketDay(today - timedelta(days=back), feed.tz) for back in range(days, -1, -1)]
        span = [day for day in span if feed.out_of_reach(day.day, today) is None]
        rows, unknown = _rows_of(pipeline, feed, span, unreadable)
        for day in span:
            gaps = coverage.check(rows, feed, [day.window], now).gaps
            for zone, metric in sorted(gaps.keys() - unknown):
                holes += (
                    Hole(feed, zone, metric, day.day, gap.start, gap.end, gap.intervals) for gap in gaps[zone, metric]
                )
    return holes, list(dict.fromkeys(unreadable))


def _rows_of(
    pipeline: PipelineContext, feed: Feed, span: Sequence[MarketDay], unreadable: list[str]
) -> tuple[Rows, set[coverage.Pair]]:
    """Return the feed's live rows, served or not; series without data have empty readings.

    Also return the zones and metrics whose files cannot be read.
    """
    rows, unknown = Rows(), set[coverage.Pair]()
    if not span:
        return rows, unknown
    for zone in feed.zones:
        for metric in feed.metrics:
            found = Rows()
            with logged(f"{zone} {metric.value}") as attempt:
                window = Window(span[0].start, span[-1].end)
                found = stored_days.read(pipeline.storage, feed, months(window), [(zone, metric)]).rows(window)
            if attempt.error is not None:
                unreadable.append(attempt.failure)
                unknown.add((zone, metric.value))
            elif not found.readings:
                found.extend(SeriesKey(zone, metric, "", feed.resolution), [], [])
            rows.merge(found)
    return rows, unknown


def to_fill(pipeline: PipelineContext) -> list[Task]:
    """Return the days with gaps that no schedule fetches any more, up to BACK_DAYS ago, feed by feed.

    A feed that never delivered a row has no outage, and days before its first partition are not gaps: `emds backfill`
    fetches their history.
    """
    now, firsts, tasks = clock.now(), first_days.load(pipeline.storage), list[Task]()
    for source in (source for code, source in pipeline.sources.items() if code in pipeline.configured):
        gave = {known.feed for known in health.load(pipeline.storage, source.code) if known.data_until}
        for feed in (feed for feed in source.feeds if feed.id in gave and not feed.yearly):
            today = clock.local_date(now, feed.tz)
            days = (today - timedelta(days=back) for back in range(BACK_DAYS, feed.revised_days, -1))
            first = firsts.get(feed.id, date.min)
            tasks += monthly_tasks(feed, (d for d in days if d >= first and feed.out_of_reach(d, today) is None))
    return without_whole_days(pipeline, tasks)


def without_whole_days(pipeline: PipelineContext, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks without the days whose due data is stored. If not all of a day is due, some data suffices."""
    return [task for asked in tasks for task in monthly_tasks(feed_of(asked.feed), _open_days(pipeline, asked))]


def _open_days(pipeline: PipelineContext, task: Task) -> Iterator[date]:
    feed, days, now = feed_of(task.feed), days_of(task), clock.now()
    if feed.yearly:
        windows = {day: window_of(feed, day) for day in days}
        held_rows = stored_days.read(pipeline.storage, feed, {month for w in windows.values() for month in months(w)})
        yield from (day.day for day, window in windows.items() if not any(held_rows.within(window)))
        return
    rows, unknown = _rows_of(pipeline, feed, days, [])
    stamps = [at for key, readings in rows.readings.items() for at in instants(key, readings)]
    for day in days:
        is_due = coverage.due_until(feed, day.window, now) >= day.window.end
        is_empty = not any(at in day.window for at in stamps)
        if unknown or (is_empty and not is_due) or coverage.check(rows, feed, [day.window], now).gaps:
            yield day.day


def describe(holes: Sequence[Hole]) -> Iterator[str]:
    """Yield a line per gap, then the count."""
    for h in holes:
        span = f"from {iso(h.start)} to {iso(h.end)}"
        yield f"{h.feed.id:26} {h.zone:9} {h.metric:16} {h.day} {h.intervals:4} intervals {span}"
    yield f"{sum(h.intervals for h in holes)} intervals are missing in {len(holes)} gaps"
