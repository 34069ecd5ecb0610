"""Ingest and backfill without a daemon: market days cut into runs of a month, progress, a journal to go on from, an end report.

One worker process a source's runs at a time, so that a publisher is never asked from two sides.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from multiprocessing import get_context

import orjson

from assets import line
from assets.reports import DayReport, RunReport, totals
from assets.sources import feed as feed_of
from assets.sources import sources
from orchestration.resources import open_house
from warehouse import clock
from warehouse.clock import MarketDay
from warehouse.market import Feed
from warehouse.storage import Folder

RUN_DAYS = 31
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Task:
    """One run: some market days of one feed, as days (of a yearly feed, the first day of each year)."""

    feed: str
    days: tuple[date, ...]

    @property
    def name(self) -> str:
        return f"{self.feed} {self.days[0]}..{self.days[-1]}"


def chosen(source: str | None, feed: str | None) -> list[Feed]:
    """The feeds that a command names, best rank last to be asked so that what is served settles once. Raises KeyError."""
    known = sources()
    if source is not None and source not in known:
        raise KeyError(source)
    found = [f for s in known.values() if source in (None, s.code) for f in s.feeds if feed in (None, f.id)]
    if not found:
        raise KeyError(feed or source)
    return sorted(found, key=lambda f: f.rank)


def plan(feeds: Iterable[Feed], first: date | None, last: date | None, days: int | None = None) -> list[Task]:
    """Runs over `first..last`, or the last `days` days and what is published ahead; yearly partitions that overlap come too."""
    tasks = []
    for feed in feeds:
        today = clock.local_date(clock.now(), feed.tz)
        until = last or today + timedelta(days=feed.ahead_days)
        since = max(first or (today - timedelta(days=feed.revised_days if days is None else days)), feed.since)
        if since > until:
            continue
        if feed.yearly:
            tasks.append(Task(feed.id, tuple(date(year, 1, 1) for year in range(since.year, until.year + 1))))
            continue
        span = [since + timedelta(days=i) for i in range((until - since).days + 1)]
        tasks += [Task(feed.id, run) for run in _runs(span)]
    return tasks


def days_of(task: Task) -> list[MarketDay]:
    """The market days that a task asks for, in its feed's zone."""
    tz = feed_of(task.feed).tz
    return [MarketDay(day, tz) for day in task.days]


def _runs(days: Sequence[date]) -> Iterator[tuple[date, ...]]:
    """Runs of at most 31 days."""
    for start in range(0, len(days), RUN_DAYS):
        yield tuple(days[start : start + RUN_DAYS])


def dry_run(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """Per feed: runs, days, requests that are known now (listings lead to more), and the least time its politeness takes."""
    known = sources()
    told: dict[str, dict[str, object]] = {}
    for task in tasks:
        source = known[task.feed.split(".")[0]]
        feed = source.feed(task.feed)
        requests = feed.requests(days_of(task))
        entry = told.setdefault(task.feed, {"feed": task.feed, "days": 0, "requests": 0, "listings": 0, "seconds": 0.0})
        pause = max(60 / source.requests_per_minute, source.min_interval_s)
        entry["days"] = int(str(entry["days"])) + len(task.days)
        entry["requests"] = int(str(entry["requests"])) + len(requests)
        entry["listings"] = int(str(entry["listings"])) + sum(r.kind == "listing" for r in requests)
        entry["seconds"] = float(str(entry["seconds"])) + pause * len(requests)
    return list(told.values())


class Journal:
    """What a backfill has finished, so that one killed goes on where it was; gone when all is done."""

    def __init__(self, storage: Folder, tasks: Sequence[Task]) -> None:
        names = orjson.dumps(sorted(t.name for t in tasks))
        self._storage, self._key = storage, f"backfill/{hashlib.sha256(names).hexdigest()[:16]}.json"
        self.done: set[str] = set(orjson.loads(storage.get(self._key) or b"[]"))

    def finished(self, task: Task) -> None:
        self.done.add(task.name)
        self._storage.put(self._key, orjson.dumps(sorted(self.done)))

    def close(self) -> None:
        self._storage.delete(self._key)


def run(tasks: Sequence[Task], again: bool = False, workers: int = WORKERS) -> Iterator[tuple[Task, RunReport]]:
    """Runs the tasks, source by source in `workers` processes; yields each report as it comes."""
    queues: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        queues[task.feed.split(".")[0]].append(task)
    if workers == 1 or len(queues) == 1:
        house = open_house()
        for task in tasks:
            yield task, _run(house, task, again)
        return
    waiting = sorted(queues.values(), key=lambda q: -sum(len(t.days) for t in q))
    with ExitStack() as pools:
        # A source stays in one process: there its pace and its circuit are kept.
        free = [pools.enter_context(ProcessPoolExecutor(1, mp_context=get_context("forkserver"))) for _ in range(workers)]
        running: dict[Future[RunReport], tuple[Task, list[Task], ProcessPoolExecutor]] = {}

        def start(queue: list[Task], pool: ProcessPoolExecutor) -> None:
            task = queue.pop(0)
            running[pool.submit(_in_worker, task, again)] = task, queue, pool

        while waiting or running:
            while waiting and free:
                start(waiting.pop(0), free.pop())
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task, queue, pool = running.pop(future)
                yield task, future.result()
                if queue:
                    start(queue, pool)
                else:
                    free.append(pool)


_houses: dict[int, line.House] = {}


def _in_worker(task: Task, again: bool) -> RunReport:
    house = _houses.get(os.getpid())
    if house is None:
        house = _houses[os.getpid()] = open_house()
    return _run(house, task, again)


def _run(house: line.House, task: Task, again: bool) -> RunReport:
    return (line.rerun if again else line.run)(house, feed_of(task.feed), days_of(task))


class Progress:
    """A bar on a terminal, a line a run elsewhere, on standard error."""

    def __init__(self, total: int) -> None:
        self.total, self.count, self.begun = total, 0, time.monotonic()

    def step(self, task: Task, report: RunReport) -> None:
        self.count += 1
        failed, rows = len(report.failed), sum(d.rows for d in report.days)
        words = f"{task.name}: {rows} rows" + (f", {failed} days failed" if failed else "")
        if sys.stderr.isatty():
            filled = 30 * self.count // self.total
            bar = "#" * filled + "." * (30 - filled)
            sys.stderr.write(f"\r\x1b[K[{bar}] {self.count}/{self.total} {time.monotonic() - self.begun:.0f} s  {words}")
            if self.count == self.total:
                sys.stderr.write("\n")
        else:
            sys.stderr.write(f"[{self.count}/{self.total}] {words}\n")
        sys.stderr.flush()


def end_report(done: Sequence[tuple[Task, RunReport]]) -> str:
    """Counts per feed, and what failed."""
    per_feed: dict[str, list[RunReport]] = defaultdict(list)
    for task, report in done:
        per_feed[task.feed].append(report)
    lines = [f"{'feed':28} {'days':>5} {'done':>5} {'short':>5} {'wait':>5} {'fail':>5} {'rows':>9} {'changed':>9} {'aside':>6}"]
    for feed, reports in sorted(per_feed.items()):
        by = totals(reports)
        rows = sum(d.rows for r in reports for d in r.days)
        changed = sum(f.added + f.changed + f.evicted for r in reports for f in r.folded)
        rest = by["waiting"] + by["missing"] + by["out of reach"]
        lines.append(
            f"{feed:28} {sum(by.values()):5} {by['done']:5} {by['short']:5} {rest:5} {by['failed']:5} {rows:9} {changed:9}"
            f" {sum(r.quarantined for r in reports):6}"
        )
    lines += [f"failed: {feed} {d.day}: {d.reason}" for feed, reports in sorted(per_feed.items()) for d in failed_days(reports)[:3]]
    return "\n".join(lines)


def failed_days(reports: Iterable[RunReport]) -> list[DayReport]:
    """Every failed day of several runs."""
    return [day for report in reports for day in report.failed]
