"""`emds probe`: a first meeting with publishers. Each feed is ingested into a scratch folder for a past day and today.

A line a feed and day as it ends, the failures again at the end. See docs/operating.md for what each usually means.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from orchestration.work.resources import open_scratch
from orchestration.work.settings import PipelineSettings
from warehouse.errors import StorageError
from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import MarketDay, iso
from warehouse.market.market import Feed, Request
from warehouse.store import modes

SEARCHED_DAYS = 14
"""How far back `past_day` looks for a market day that is wholly published."""
OPENINGS = {
    "live": "live: asks the publishers' own hosts; nothing is written to the warehouse",
    "simulated": "SIMULATED publishers: no network, no credentials; set EMDS_FEEDS=live to meet the real ones",
}


def mode_of(settings: PipelineSettings) -> str:
    """Return EMDS_FEEDS, else the mode of the warehouse, else simulated. Raises StorageError for a recorded one."""
    mode = settings.feeds or modes.get(settings.home.open()) or "simulated"
    if mode not in OPENINGS:
        raise StorageError(f"a {mode[:20]} warehouse has no publisher to ask: set EMDS_FEEDS=live or simulated")
    return mode


def probe(scratch: Path, feeds: Sequence[Feed], day: date | None, most: int) -> int:
    """Print a line a feed and day, then what failed; return 1 where a day did.

    The folder `scratch` holds a warehouse a source afterwards.
    """
    settings = PipelineSettings.from_environ(os.environ)
    mode = mode_of(settings)
    print(OPENINGS[mode], flush=True)
    by_source: dict[str, list[Feed]] = defaultdict(list)
    for feed in feeds:
        by_source[feed.source].append(feed)
    stopped = threading.Event()

    def meet_source(code: str) -> list[RunReport]:
        pipeline, reports = open_scratch(settings, scratch / code, mode), []
        for feed in by_source[code]:
            for market_day in days_of(feed, clock.now(), day):
                if not stopped.is_set():
                    report, left_out = _ask(pipeline, feed, market_day, most)
                    reports.append(report)
                    sys.stdout.write(f"{_line(report, left_out)}\n")
                    sys.stdout.flush()
        return reports

    # One thread a source: the slowest publisher sets the time, and no host is asked from two sides.
    with ThreadPoolExecutor(max(1, len(by_source))) as pool:
        try:
            reports = [report for of_source in pool.map(meet_source, by_source) for report in of_source]
        finally:
            stopped.set()
    return _conclude(reports, mode)


def _ask(pipeline: PipelineContext, feed: Feed, day: MarketDay, most: int) -> tuple[RunReport, int]:
    """Ingest one market day; return its report and how many requests were left out.

    `most` requests are sent, the newest, and no more than the source's pace allows in a minute; 0: all.
    """
    if not most:
        return ingest_days(pipeline, feed, [day]), 0
    most = max(1, min(most, int(pipeline.sources[feed.source].requests_per_minute)))
    sent, left_out, follow = 0, 0, feed.follow

    def newest(requests: list[Request]) -> list[Request]:
        nonlocal sent, left_out
        room = max(1, most - sent)
        sent += len(requests[-room:])
        left_out += len(requests[:-room])
        return requests[-room:]

    shortened = replace(
        feed,
        requests=lambda days, now: newest(feed.requests(days, now)),
        follow=follow and (lambda body, request: newest(follow(body, request))),
    )
    return ingest_days(pipeline, shortened, [day]), left_out


def past_day(feed: Feed, now: int) -> MarketDay | None:
    """Return the newest past market day of which everything must be out; None where the feed reaches to no such day."""
    today = clock.local_date(now, feed.tz)
    if feed.yearly:
        return MarketDay(date(today.year - 1, 1, 1), feed.tz)
    days = (MarketDay(today - timedelta(days=back), feed.tz) for back in range(1, SEARCHED_DAYS + 1))
    within = (day for day in days if not feed.out_of_reach(day.day, today))
    return next((day for day in within if coverage.due_until(feed, day.window, now) >= day.end), None)


def days_of(feed: Feed, now: int, wanted: date | None) -> list[MarketDay]:
    """Return a past day (that asked for, if any) and today; of a yearly feed their years."""
    past = past_day(feed, now) if wanted is None else MarketDay(wanted, feed.tz)
    days = [day.day for day in (past, MarketDay.at(now, feed.tz)) if day is not None]
    firsts = (date(day.year, 1, 1) if feed.yearly else day for day in days)
    return [MarketDay(day, feed.tz) for day in dict.fromkeys(firsts)]


def _conclude(reports: Sequence[RunReport], mode: str) -> int:
    """Print the failures again, and how many days ended how."""
    days = [(report.feed, day) for report in reports for day in report.days]
    failed = [(feed, day) for feed, day in days if day.status in ("failed", "missing")]
    for feed, day in failed:
        print(f"failed: {feed} {day.day}: {day.reason}")
    counts = Counter(day.status for _, day in days)
    marked = " (simulated publishers)" if mode == "simulated" else ""
    print(f"{', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}{marked}")
    if failed:
        print('docs/operating.md, "A first meeting", says what each failure usually means.')
    return 1 if failed else 0


def _line(report: RunReport, left_out: int) -> str:
    """One line: what was asked, what came, what is odd."""
    day = report.days[0]
    odd = [finding for finding in report.findings if finding.severity != "note"]
    parts = [
        f"{report.feed:26} {day.day:10} {day.status:14} {report.requests:3} requests {report.bytes / 1e3:8.1f} kB"
        f" {day.rows:6} rows",
        f"{iso(day.first)}..{iso(day.last)}" if day.first is not None and day.last is not None else "",
        f"{left_out} requests left out" if left_out else day.reason,
        *(f"{f.check} {f.zone} {f.metric}: {f.count} ({f.detail})"[:140] for f in odd[:2]),
    ]
    return " | ".join(filter(None, parts))
