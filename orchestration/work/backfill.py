"""Plan and run an ingest or backfill without a daemon: market days of feeds, in runs of a month.

One worker process at a time runs a source's tasks, since a publisher's rate limit applies to all of them. A stopped
command can be run again: stored days change nothing, and `--missing` leaves out complete days.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import groupby
from multiprocessing import get_context, parent_process

from assets.ingest.context import PipelineContext
from assets.ingest.reports import DayReport, RunReport
from assets.ingest.runs import ingest_days, reparse_days
from assets.sources import feed as feed_of
from assets.sources import sources
from orchestration.work.environment import open_context
from warehouse.bookkeeping import logged
from warehouse.market import clock
from warehouse.market.clock import DAY, RESOLUTIONS, MarketDay
from warehouse.market.feeds import Feed

WORKERS = 2
EXAMPLE_ZONE = "GB"
"""The zone that the examples of README and docs use."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run: market days of one feed (for a yearly feed, the first day of each year)."""

    feed: str
    days: tuple[date, ...]

    @property
    def name(self) -> str:
        return f"{self.feed} {self.days[0]}..{self.days[-1]}"


def chosen(codes: Collection[str] = (), ids: Collection[str] = ()) -> list[Feed]:
    """Return the feeds that a command selects by source and ID, all by default, best ranks first.

    Served rows are then resolved once. Raises KeyError for the first name that is not a source or a feed of these
    sources.
    """
    known = sources()
    for code in codes:
        if code not in known:
            raise KeyError(code)
    feeds = {feed.id: feed for code in codes or known for feed in known[code].feeds}
    for name in ids:
        if name not in feeds:
            raise KeyError(f"{', '.join(codes)}: {name}" if codes else name)
    return sorted(map(feeds.__getitem__, dict.fromkeys(ids) or feeds), key=lambda feed: feed.rank)


def plan(feeds: Iterable[Feed], first: date | None, last: date | None, days: int | None = None) -> list[Task]:
    """Plan runs over `first..last`, or over the last `days` days and the days published ahead.

    Yearly partitions that overlap the range are included completely. Days before a feed's first day and days not yet
    published are left out.
    """
    tasks = []
    for feed in feeds:
        today = clock.local_date(clock.now(), feed.tz)
        newest = today + timedelta(days=0 if feed.yearly else feed.newest_offset)
        until = min(last, newest) if last else newest
        since = max(first or (today - timedelta(days=feed.revised_days if days is None else days)), feed.since)
        tasks += monthly_tasks(feed, (since + timedelta(days=i) for i in range((until - since).days + 1)))
    return tasks


def too_early(feeds: Iterable[Feed], first: date, last: date | None) -> list[str]:
    """Return a line for each feed that starts after the first requested day, since earlier days cannot be fetched."""
    lines = []
    for feed in feeds:
        until = min(last or feed.since, feed.since - timedelta(days=1))
        if first <= until and not feed.yearly:
            days = (until - first).days + 1
            lines.append(f"{feed.id} starts on {feed.since}: {days} days from {first} are out of range")
    return lines


def monthly_tasks(feed: Feed, days: Iterable[date]) -> list[Task]:
    """Split days into a task per calendar month, so that a monthly file is written once, and fetched once.

    For a yearly feed, return one task over the years of the days.
    """
    if feed.yearly:
        years = sorted({day.year for day in days})
        return [Task(feed.id, tuple(date(year, 1, 1) for year in years))] if years else []
    months = groupby(sorted(set(days)), key=lambda day: (day.year, day.month))
    return [Task(feed.id, tuple(month)) for _, month in months]


def days_of(task: Task) -> list[MarketDay]:
    """Return the market days of a task, in its feed's time zone."""
    tz = feed_of(task.feed).tz
    return [MarketDay(day, tz) for day in task.days]


def estimate(tasks: Iterable[Task]) -> Iterator[str]:
    """Yield a line per feed: days in range, known requests, and the least seconds at its rate limit; fetch nothing.

    Further requests that listings lead to are not counted.
    """
    now = clock.now()
    for name, own in groupby(tasks, key=lambda task: task.feed):
        feed, source = feed_of(name), sources()[name.split(".")[0]]
        today, days, requests, listings = clock.local_date(now, feed.tz), 0, 0, 0
        for task in own:
            within = [day for day in days_of(task) if feed.out_of_reach(day.day, today) is None]
            asked = feed.requests(within, now) if within else []
            days, requests = days + len(within), requests + len(asked)
            listings += sum(request.kind == "listing" for request in asked)
        seconds = max(60 / source.requests_per_minute, source.min_interval_s) * requests
        yield f"{name:28} {days:6} days {requests:6} requests ({listings} listings) at least {seconds:8.0f} s"


def _expected_rows(task: Task) -> int:
    """Return the approximate number of rows of a task."""
    feed = feed_of(task.feed)
    return len(task.days) * max(1, DAY // RESOLUTIONS[feed.resolution]) * len(feed.zones) * len(feed.metrics)


def queues_in_order(tasks: Iterable[Task]) -> list[list[Task]]:
    """Return the tasks of each source in the order in which sources start.

    Sources of EXAMPLE_ZONE start first, so that the examples of README and docs work early in a first fill. The other
    sources start by number of rows, the largest first, since it would end last.
    """
    queues: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        queues[task.feed.split(".")[0]].append(task)

    def place(queue: list[Task]) -> tuple[bool, int]:
        is_example = any(EXAMPLE_ZONE in feed_of(task.feed).zones for task in queue)
        return not is_example, -sum(map(_expected_rows, queue))

    return sorted(queues.values(), key=place)


def run(
    tasks: Sequence[Task], from_raw: bool = False, workers: int = WORKERS
) -> Generator[tuple[Task, RunReport], None, None]:
    """Run the tasks, `workers` sources at once in separate processes, and yield each report as it arrives.

    `from_raw` parses the raw archive without the network. A source uses one process at a time: a second process would
    only wait for a rate-limit slot. If a process dies, the days of the remaining tasks fail; run the command again.
    """
    waiting = queues_in_order(tasks)
    if workers == 1 or len(waiting) == 1:
        pipeline = open_context()
        for task in tasks:
            yield task, _run(pipeline, task, from_raw)
        return
    running: dict[Future[RunReport], list[Task]] = {}
    with worker_pool(workers) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    future = pool.submit(_run_in_worker, waiting[0][0], from_raw)
                    running[future] = waiting.pop(0)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    report = future.result()
                    queue = running.pop(future)
                    yield queue.pop(0), report
                    if queue:
                        waiting.insert(0, queue)
        except BrokenExecutor:
            for task in (task for queue in [*running.values(), *waiting] for task in queue):
                yield task, _failed(task, "a worker process ended")


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool whose processes end with this process, however it ends."""
    # If a signal ends this process, Python's tracker removes the semaphores of the pool. It need not warn about them.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    return ProcessPoolExecutor(workers, mp_context=get_context("forkserver"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this worker when the process that started it ends; otherwise it would continue."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


@cache
def _worker_context() -> PipelineContext:
    """Open one context per worker process."""
    return open_context()


def _run_in_worker(task: Task, from_raw: bool) -> RunReport:
    return _run(_worker_context(), task, from_raw)


def _run(pipeline: PipelineContext, task: Task, from_raw: bool) -> RunReport:
    """Run a task. Any exception fails its days and is logged; the other tasks continue."""
    with logged(task.name) as attempt:
        return (reparse_days if from_raw else ingest_days)(pipeline, feed_of(task.feed), days_of(task))
    return _failed(task, attempt.failure)


def _failed(task: Task, reason: str) -> RunReport:
    return RunReport(task.feed, tuple(DayReport(str(day), "failed", reason=reason) for day in task.days))
