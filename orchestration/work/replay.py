"""`emds replay FOLDER`: ingest every recorded answer of a MANIFEST as if its publisher gave it now.

Each market day with recorded rows becomes a materialisation; the warehouse's mode becomes `recorded`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from assets.fetch.recorded import recorded_requests
from assets.ingest.context import PipelineContext
from assets.ingest.refresh import refresh_all
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from assets.sources import feeds
from orchestration.jobs import recording
from orchestration.work.commands import list_unpublished
from orchestration.work.resources import open_context
from warehouse.errors import FeedError
from warehouse.market import clock
from warehouse.market.clock import MarketDay, local_date
from warehouse.market.market import Feed, Request


def replay(folder: Path) -> int:
    """Run every feed over the days of its recorded answers; list materialisations and typed failures.

    Answers of feeds that do not exist are skipped. A recorded error is not our failure: return 0.
    """
    pipeline = open_context(recordings=folder)
    recorder = recording.Recorder(recording.instance(pipeline.storage.local), pipeline)
    begun, total, by_feed, failures = clock.now(), 0, defaultdict[str, list[Request]](list), []
    for request in recorded_requests(folder):
        try:
            if request.kind == "rows" and (dated := _dated(pipeline, request)).days:
                by_feed[request.feed].append(dated)
        except FeedError as error:
            file = request.url.rpartition("#")[2]
            failures.append(f"{request.feed:28} {file}: {type(error).__name__}: {error}")
    for feed_id, requests in sorted(by_feed.items()):
        feed = feeds()[feed_id]
        report = _ingest(pipeline, feed, requests)
        keys, rows = sorted(recorder.add(feed, report, begun)), sum(day.rows for day in report.days)
        total += rows
        print(f"{feed.id:28} {rows:7} rows, {len(keys)} partitions" + (f": {keys[0]} to {keys[-1]}" if keys else ""))
    for line in failures:
        print(line)
    code = list_unpublished(refresh_all(pipeline))
    recorder.close()
    print(f"replayed {total} rows of {len(by_feed)} feeds; {len(failures)} recorded answers gave a typed failure")
    return code


def _ingest(pipeline: PipelineContext, feed: Feed, requests: Sequence[Request]) -> RunReport:
    """Run a feed once: of two answers to one interval the later in the manifest stays, however often replayed."""

    def choose(days: Sequence[MarketDay], now: int) -> list[Request]:
        wanted = {day.day for day in days}
        return [request for request in requests if wanted.intersection(request.days)]

    days = sorted({MarketDay(day, feed.tz) for request in requests for day in request.days})
    return ingest_days(pipeline, replace(feed, requests=choose), days)


def _dated(pipeline: PipelineContext, request: Request) -> Request:
    """Return the request with the market days of its rows. Raises what asking or parsing raises."""
    feed = feeds()[request.feed]
    rows = feed.parse(pipeline.session.ask(request).body, request)
    stamps = {ts // 900 * 900 for readings in rows.readings.values() for ts in readings.ts}
    days = {local_date(ts, feed.tz) for ts in stamps}
    if feed.yearly:
        days = {date(local_date(ts + 86400, feed.tz).year, 1, 1) for ts in stamps}
    return replace(request, days=tuple(sorted(days or set(request.days))))
