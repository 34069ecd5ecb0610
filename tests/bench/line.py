"""What the line of a feed costs, from its answer to the month files: rows a CPU second, without Dagster.

    python -m tests.bench.line [FEED ...] [--start 2025-11-01 --end 2026-10-31]

A calendar month a run, as `emds backfill` does: keep the answer, parse, judge, fold, write, note health. The simulated
publishers' own CPU time is left out, as is what is loaded and written only once (a month of each feed goes before).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher, PipelineContext
from assets.ingest.runs import ingest_days
from assets.sources import feed as feed_of
from orchestration.work import backfill
from orchestration.work.resources import open_context
from warehouse.market.market import Feed, Request

FEEDS = ("elexon.demand", "nyiso.load", "eia.interchange", "aemo.dispatch")
NOW = "2026-11-20T12:00:00Z"


@dataclass(slots=True)
class Timed:
    """A session that counts the CPU seconds in which it was asked."""

    session: Fetcher
    seconds: float = 0.0

    def ask(self, request: Request) -> Fetched:
        began = time.process_time()
        try:
            return self.session.ask(request)
        finally:
            self.seconds += time.process_time() - began


def measured(pipeline: PipelineContext, feed: Feed, first: date, last: date) -> tuple[int, float]:
    """Rows added, and the CPU seconds of the line."""
    timed, rows, began = Timed(pipeline.session), 0, time.process_time()
    for task in backfill.plan([feed], first, last):
        report = ingest_days(replace(pipeline, session=timed), feed, backfill.days_of(task))
        rows += sum(folded.added for folded in report.folded)
    return rows, time.process_time() - began - timed.seconds


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("feeds", nargs="*", default=FEEDS)
    parser.add_argument("--start", type=date.fromisoformat, default=date(2025, 11, 1))
    parser.add_argument("--end", type=date.fromisoformat, default=date(2026, 10, 31))
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="emds-line-") as home:
        os.environ |= {"EMDS_HOME": home, "EMDS_NOW": NOW}
        pipeline = open_context()
        for feed in map(feed_of, args.feeds):
            before = args.start - timedelta(days=1)
            measured(pipeline, feed, before.replace(day=1), before)
            rows, seconds = measured(pipeline, feed, args.start, args.end)
            print(f"{feed.id:24} {rows:9} rows {seconds:7.2f} CPU s {rows / seconds:9.0f} rows a CPU s", flush=True)


if __name__ == "__main__":
    main()
