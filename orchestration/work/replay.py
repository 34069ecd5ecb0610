"""`emds replay FOLDER`: ingest every recorded answer of a MANIFEST as if its publisher gave it now.

Each market day with recorded rows becomes a materialisation; the warehouse's mode becomes `recorded`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from assets.fetch.recorded import recorded_requests
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from assets.sources import feeds
from orchestration.work.resources import replay_plan
from warehouse.errors import FeedError
from warehouse.market.clock import MarketDay, local_date
from warehouse.market.market import Feed, Request


@dataclass(slots=True)
class Replayed:
    """A replay's outcome: reports per feed, and the recorded answers that raised a typed failure."""

    reports: list[tuple[Feed, RunReport]] = field(default_factory=list)
    failures: list[tuple[Request, FeedError]] = field(default_factory=list)


def replay(pipeline: PipelineContext, folder: Path) -> Replayed:
    """Run every feed over the days of its recorded answers. Answers of feeds that do not exist are skipped."""
    done = Replayed()
    dated: dict[str, list[Request]] = defaultdict(list)
    for request in recorded_requests(folder):
        if request.kind != "rows":
            continue
        try:
            dated[request.feed].append(_dated(pipeline, request))
        except FeedError as error:
            done.failures.append((request, error))
    for feed_id, requests in sorted(dated.items()):
        feed = feeds()[feed_id]
        # One run a feed: of two answers to one interval the later in the manifest stays, however often replayed.
        own = replace(pipeline, plan=replay_plan(requests))
        days = sorted({MarketDay(day, feed.tz) for request in requests for day in request.days})
        if days:
            done.reports.append((feed, ingest_days(own, feed, days)))
    return done


def _dated(pipeline: PipelineContext, request: Request) -> Request:
    """Return the request with the market days of its rows. Raises what asking or parsing raises."""
    feed = feeds()[request.feed]
    rows = feed.parse(pipeline.session.ask(request).body, request)
    stamps = {ts // 900 * 900 for readings in rows.readings.values() for ts in readings.ts}
    days = {local_date(ts, feed.tz) for ts in stamps}
    if feed.yearly:
        days = {date(local_date(ts + 86400, feed.tz).year, 1, 1) for ts in stamps}
    return replace(request, days=tuple(sorted(days or set(request.days))))
