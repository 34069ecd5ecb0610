"""The store: reading 24 h out of one month and out of ten years; a year of a feed against its bare parse and write; a refresh of all.

    python -m bench.store

Budgets (DESIGN.md section 9): 24 h over ten years at most 1.2 times one month; a year's backfill at most twice the bare
parse and write; a refresh of every source at most 60 CPU seconds, publishing included. Exit 1 where one is missed.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from warehouse import monthfile, series
from warehouse.clock import DAY, MarketDay, Window
from warehouse.schema import Key, Rows
from warehouse.storage import Folder

NOW = 1_795_176_000
YEAR_FEED = "caiso.demand"


def reading() -> tuple[float, float]:
    """Median milliseconds of a 24 h read of 5-minute rows from a warehouse of one month, and of one of ten years."""
    found = []
    for days in (30, 3650):
        with tempfile.TemporaryDirectory() as folder:
            storage = Folder(folder)
            ts = np.arange(NOW - days * DAY, NOW, 300)
            rows = Rows()
            rows.extend(Key("US-CAISO", "demand", "MW", "5m"), ts.tolist(), np.random.default_rng(1).uniform(2e4, 4e4, len(ts)).tolist())
            series.fold(storage, "caiso.demand", rows, {}, {"caiso.demand": 1}, NOW)
            window = Window(NOW - DAY, NOW)
            read = partial(series.read, storage, "US-CAISO", "demand", window)
            found.append(median(_timed(read) for _ in range(200)) * 1000)
    return found[0], found[1]


def _timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    begun = clock()
    work()
    return clock() - begun


def backfill() -> tuple[float, float]:
    """CPU seconds of a year of one feed from answers to month files, and of nothing but parsing and writing those rows."""
    from assets import line
    from assets.simulated import Simulated
    from assets.sources import feed as feed_of
    from assets.sources import sources
    from assets.sources._http import Session
    from warehouse.market import Request

    feed = feed_of(YEAR_FEED)
    last = date(2026, 11, 1)
    days = [MarketDay(last - timedelta(days=i), feed.tz) for i in range(365, 0, -1)]
    session = Session(Simulated())
    answers = {r.url: session.ask(r) for r in feed.requests(days)}

    class Shelf:
        def ask(self, request: Request):  # type: ignore[no-untyped-def]
            return answers[request.url]

    with tempfile.TemporaryDirectory() as folder:
        known = sources()
        house = line.House(Folder(folder), "simulated", known, (), {feed.id: 1}, set(known), Shelf(), lambda f, d: f.requests(d))
        _bare(feed, dict(list(answers.items())[:31]), Path(folder))  # what is imported once is nobody's time
        blocks = [days[i : i + 31] for i in range(0, 365, 31)]
        whole = sum(_timed(partial(line.run, house, feed, block), time.process_time) for block in blocks)
        bare = _timed(lambda: _bare(feed, answers, Path(folder)), time.process_time)
    return whole, bare


def _bare(feed, answers, folder: Path) -> None:  # type: ignore[no-untyped-def]
    rows = Rows()
    for answer in answers.values():
        rows.merge(feed.parse(answer.body, answer.request))
    for key, strip in rows.strips.items():
        for month, ts, values in series._by_month(strip):
            versions = series._versions(feed.id, [(key, ts, values)], NOW)
            (folder / f"{month}.parquet").write_bytes(monthfile.encode(versions, key.zone, key.metric))


def refresh() -> tuple[float, float]:
    """CPU seconds of asking every source once in a filled simulated warehouse, publishing included; and MB that it added."""
    from orchestration import backfill as runs
    from orchestration import work

    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"EMDS_HOME": folder, "EMDS_NOW": str(NOW)}
        feeds = runs.chosen(None, None)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            work.run(runs.plan(feeds, None, None, 3), again=False)
            os.environ["EMDS_NOW"] = str(NOW + 900)
            before, begun = _size(folder), _cpu()
            work.run(runs.plan(feeds, None, None), again=False)
        return _cpu() - begun, (_size(folder) - before) / 1e6


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def main() -> int:
    """Prints each figure beside its budget."""
    month, decade = reading()
    print(f"24 h of 5-minute rows: {month:.2f} ms of one month, {decade:.2f} ms of ten years, ratio {decade / month:.2f} (at most 1.2)")
    whole, bare = backfill()
    print(f"a year of {YEAR_FEED}: {whole:.2f} CPU s, bare parse and write {bare:.2f}, ratio {whole / bare:.2f} (at most 2)")
    cpu, grown = refresh()
    print(f"one refresh of every source: {cpu:.1f} CPU s (at most 60), {grown:.2f} MB added")
    return int(decade / month > 1.2 or whole / bare > 2 or cpu > 60)


if __name__ == "__main__":
    sys.exit(main())
