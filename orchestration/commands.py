"""What the verbs that bring rows in have in common: run, tell Dagster's log, publish, report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from assets.ingest.refresh import refresh_all
from assets.ingest.reports import RunReport
from assets.sources import feed as feed_of
from orchestration import backfill, event_log, retention
from orchestration.backfill import Task
from orchestration.checkpoint import Checkpoint
from orchestration.progress import Progress, end_report
from orchestration.replay import ranges, replay, summary
from orchestration.resources import home, open_context
from warehouse.clock import MarketDay


def run(tasks: Sequence[Task], again: bool = False, journal: Checkpoint | None = None) -> int:
    """Runs tasks to the end whatever fails; returns the exit code."""
    pipeline = open_context()
    told = event_log.instance(pipeline.storage.root)
    progress = Progress(max(1, len(tasks)))
    done: list[tuple[Task, RunReport]] = []
    for task, report in backfill.run(tasks, again):
        event_log.record(told, feed_of(task.feed), report)
        done.append((task, report))
        if journal is not None:
            journal.ended(task)
        progress.step(task, report)
    refresh_all(pipeline)
    retention.purge_told(told)
    retention.prune_answers(pipeline)
    print(end_report(done))
    return 1 if any(report.failed for _, report in done) else 0


def resumable(tasks: Sequence[Task], name: str = "") -> int:
    """The same by a journal: one of that name that was killed is gone on with."""
    journal = Checkpoint(open_context().storage, tasks, name)
    if journal.done:
        sys.stderr.write(f"going on: {len(journal.done)} of {len(journal.tasks)} runs were done before\n")
    code = run(journal.left, journal=journal)
    journal.close()
    return code


def replayed(folder: Path) -> int:
    """`emds replay`: lists the materialisations and the typed failures; exit 0, since a recorded error is no failure of ours."""
    pipeline = open_context(recordings=folder)
    told = event_log.instance(home(os.environ))
    done = replay(pipeline, folder)
    for feed, report in done.reports:
        keys = event_log.record(told, feed, report)
        spans = ranges([MarketDay(d, feed.tz) for d in _dates(keys)])
        rows = sum(d.rows for d in report.days)
        print(
            f"{feed.id:28} {rows:7} rows, {len(keys)} partitions: "
            + ", ".join(_span(a, b, feed.yearly) for a, b in spans)
        )
    for request, error in done.failures:
        print(f"{request.feed:28} {request.url.rpartition('#')[2]}: {type(error).__name__}: {error}")
    refresh_all(pipeline)
    print(
        "replayed {rows} rows of {feeds} feeds; {failures} recorded answers gave a typed failure".format(
            **summary(done)
        )
    )
    return 0


def _dates(keys: Sequence[str]) -> list[date]:
    return [date(int(key), 1, 1) if len(key) == 4 else date.fromisoformat(key) for key in keys]


def _span(first: MarketDay, last: MarketDay, yearly: bool) -> str:
    if yearly:
        return str(first.day.year)
    return str(first) if first == last else f"{first}..{last}"
