"""The store: 24 h out of one month and of ten years; a year's backfill against bare parse and write; a refresh of all.

    python -m tests.bench.store

Budgets: 24 h over ten years at most 1.2 times one month; a year's backfill at most twice the bare
parse and write; a refresh of every source at most 60 CPU seconds, publishing included. Exit 1 where one is missed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from assets.fetch.session import Fetched, Session
from assets.ingest.context import PipelineContext
from assets.ingest.runs import ingest_days
from assets.simulated import Simulated
from assets.sources import feed as feed_of
from assets.sources import sources
from warehouse.errors import FeedError
from warehouse.market import clock
from warehouse.market.clock import DAY, MarketDay, Window, local_date
from warehouse.market.market import Feed, Request
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import monthfile, series
from warehouse.store import layout
from warehouse.store.storage import Folder

NOW = 1_795_176_000
YEAR_FEED = "caiso.demand"
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where backfills write: on a disk, making a file takes 0.05 to 0.5 ms of CPU, by where the file system finds room."""


def reading() -> tuple[float, float]:
    """Median milliseconds of a 24 h read of 5-minute rows from a warehouse of one month, and of one of ten years."""
    medians = []
    for days in (30, 3650):
        with tempfile.TemporaryDirectory() as folder:
            storage = Folder(folder)
            ts = np.arange(NOW - days * DAY, NOW, 300)
            rows = Rows()
            rows.extend(
                SeriesKey("US-CAISO", "demand", "MW", "5m"),
                ts.tolist(),
                np.random.default_rng(1).uniform(2e4, 4e4, len(ts)).tolist(),
            )
            series.fold(storage, "caiso.demand", rows, {}, {"caiso.demand": 1}, NOW, "simulated")
            window = Window(NOW - DAY, NOW)
            read = partial(series.read, storage, "US-CAISO", "demand", window)
            medians.append(median(_timed(read) for _ in range(200)) * 1000)
    return medians[0], medians[1]


def _timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    begun = clock()
    work()
    return clock() - begun


class Shelf:
    """Answers as the simulated publishers gave them, from memory: what is timed is ours alone."""

    def __init__(self) -> None:
        self._session, self.answers = Session(Simulated()), {}  # type: ignore[var-annotated]

    def ask(self, request: Request) -> Fetched:
        key = replace(request, params=tuple(p for p in request.params if p[0] not in request.nonce))
        if key not in self.answers:
            try:
                self.answers[key] = self._session.ask(request)
            except FeedError as error:
                self.answers[key] = error
        answer = self.answers[key]
        if isinstance(answer, FeedError):
            raise answer
        return answer


def backfill(feeds: Sequence[Feed], count: int) -> tuple[float, float]:
    """CPU seconds of `count` days from answers to month files, and of nothing but parsing and writing their rows."""
    os.environ["EMDS_NOW"] = str(NOW)
    whole = bare = 0.0
    known = sources()
    for feed in feeds:
        last = local_date(NOW, feed.tz)
        days = [MarketDay(last - timedelta(days=i), feed.tz) for i in range(count, 0, -1)]
        blocks = [days[i : i + 31] for i in range(0, count, 31)]
        documents = Shelf()
        for timed in (False, True):  # once unseen: what is imported or rendered then is nobody's time
            with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
                pipeline = PipelineContext(
                    Folder(folder),
                    "simulated",
                    known,
                    (),
                    {feed.id: 1},
                    set(known),
                    documents,
                    lambda f, d: f.requests(d, clock.now()),
                )
                seconds = sum(
                    _timed(partial(ingest_days, pipeline, feed, block), time.process_time) for block in blocks
                )
            whole += seconds if timed else 0
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            bare += _timed(partial(_bare, feed, documents, Path(folder)), time.process_time)
    return whole, bare


def _bare(feed: Feed, documents: Shelf, folder: Path) -> None:
    rows = Rows()
    for answer in documents.answers.values():
        if not isinstance(answer, FeedError) and answer.request.kind == "rows":
            with contextlib.suppress(FeedError):
                rows.merge(feed.parse(answer.body, answer.request))
    rows = feed.combine(rows) if feed.combine else rows
    for number, (key, strip) in enumerate(rows.readings.items()):
        for month, ts, values in series._by_month(strip):
            versions = series._versions(feed.id, [(key, ts, values)], NOW)
            (folder / f"{number}-{month}.parquet").write_bytes(
                monthfile.encode(versions, layout.series(key.metric, key.zone, month), "simulated")
            )


def refresh() -> tuple[float, float]:
    """CPU seconds of one refresh of every source in a filled simulated warehouse, publishing included; and MB added."""
    from assets.ingest.refresh import refresh_all
    from orchestration.work import backfill as verbs
    from orchestration.work.resources import open_context

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"EMDS_HOME": folder, "EMDS_NOW": str(NOW)}
        feeds = verbs.chosen(None, None)
        for begun, days in ((NOW, 3), (NOW + 900, None)):  # the second time is the refresh
            os.environ["EMDS_NOW"] = str(begun)
            before, cpu = _size(folder), time.process_time()
            pipeline = open_context()
            for _ in verbs.run(verbs.plan(feeds, None, None, days), False, workers=1):
                pass
            refresh_all(pipeline)
        return time.process_time() - cpu, (_size(folder) - before) / 1e6


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def _compared(name: str, feeds: Sequence[Feed], count: int) -> float:
    whole, bare = backfill(feeds, count)
    print(f"{name}: {whole:.2f} CPU s, bare parse and write {bare:.2f}, ratio {whole / bare:.2f} (at most 2)")
    return whole / bare


def main() -> int:
    """Prints each figure beside its budget."""
    month, decade = reading()
    print(
        f"24 h of 5-minute rows: {month:.2f} ms of one month, {decade:.2f} ms of ten years, "
        f"ratio {decade / month:.2f} (at most 1.2)"
    )
    every = [f for source in sources().values() for f in source.feeds if not f.yearly]
    ratio = max(
        _compared(f"a year of {YEAR_FEED}", [feed_of(YEAR_FEED)], 365),
        _compared(f"31 days of {len(every)} feeds", every, 31),
    )
    cpu, grown = refresh()
    print(f"one refresh of every source: {cpu:.1f} CPU s (at most 60), {grown:.2f} MB added")
    return int(decade / month > 1.2 or ratio > 2 or cpu > 60)


if __name__ == "__main__":
    sys.exit(main())
