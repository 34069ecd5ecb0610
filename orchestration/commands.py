"""What the verbs that ingest share: run the tasks, record Dagster events, publish, report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from assets.ingest.context import PipelineContext
from assets.ingest.refresh import measure_publishers, refresh_all
from assets.ingest.reports import RunReport
from assets.sources import feed as feed_of
from orchestration import backfill, recording, retention
from orchestration.backfill import Task
from orchestration.checkpoint import Checkpoint
from orchestration.progress import Progress, end_report
from orchestration.replay import ranges, replay, summary
from orchestration.resources import open_context
from warehouse import clock, layout, settings
from warehouse.bookkeeping import logged
from warehouse.clock import MarketDay
from warehouse.errors import MarketError


def run(tasks: Sequence[Task], again: bool = False, checkpoint: Checkpoint | None = None) -> int:
    """Runs every task, whatever fails; returns the exit code (1: a day failed)."""
    pipeline = open_context()
    recorder = recording.Recorder(recording.instance(pipeline.storage.local), pipeline)
    progress = Progress(max(1, len(tasks)))
    done: list[tuple[Task, RunReport]] = []
    begun = clock.now()
    for task, report in backfill.run(tasks, again):
        recorder.add(feed_of(task.feed), report, begun)
        done.append((task, report))
        if checkpoint is not None and not report.failed:
            with logged(f"checkpoint of {task.name}"):
                checkpoint.ended(task)
        progress.step(task, report)
    failures = [*refresh_all(pipeline)]
    recorder.close()
    with logged("retention of answers"):
        retention.prune_answers(pipeline)
    failures += _serve_followers(pipeline)
    print(end_report(done))
    return _ended(failures) or (1 if any(report.failed for _, report in done) else 0)


def published(to: str | None = None) -> int:
    """`emds publish`: publishes every document anew, then as files `to` a folder or bucket (default: EMDS_PUBLISH_TO).

    1 where one could not be, which is listed.
    """
    pipeline = open_context()
    code = _ended([*refresh_all(pipeline), *measure_publishers(pipeline)])
    address = to or settings.text(os.environ, "EMDS_PUBLISH_TO")
    if address:
        from orchestration.static_side.publish import publish_now

        done = publish_now(address)
        shown = "shown now" if done.current else "a newer publication is shown"
        print(f"{done.files} documents and {done.months} month files to {address.partition('?')[0]}: {shown}")
        print(f"{done.put} objects put, {done.removed} removed")
    return code


def _serve_followers(pipeline: PipelineContext) -> list[str]:
    """Deliver webhooks, and put the free documents where EMDS_PUBLISH_TO says; return a line a failure.

    Without a daemon nobody else does. The API's code is loaded only where there are accounts or such an address.
    """
    environ = os.environ
    if settings.text(environ, "EMDS_DATABASE_URL") or (pipeline.storage.local / layout.ACCOUNTS).exists():
        with logged("webhooks"):
            from orchestration import webhooks

            webhooks.after_command()
    if settings.text(environ, "EMDS_PUBLISH_TO"):
        with logged("files to EMDS_PUBLISH_TO"):  # whatever else goes wrong with them, the rows are stored and reported
            from orchestration.static_side.publish import counts

            try:
                counts()
            except MarketError as fault:
                return [f"files to EMDS_PUBLISH_TO: {fault}"]
    return []


def _ended(failures: Sequence[str]) -> int:
    """Lists what could not be published; the exit code."""
    for line in failures:
        sys.stderr.write(f"emds: not published: {line}\n")
    return 1 if failures else 0


def resumable(tasks: Sequence[Task], name: str = "") -> int:
    """Runs tasks under a checkpoint; an unfinished one of that name is resumed."""
    checkpoint = Checkpoint(open_context().storage, tasks, name)
    if checkpoint.done:
        sys.stderr.write(f"resuming: {len(checkpoint.done)} of {len(checkpoint.tasks)} runs were done before\n")
    code = run(checkpoint.left, checkpoint=checkpoint)
    checkpoint.close()
    return max(code, _ended(measure_publishers(open_context())))


def replayed(folder: Path) -> int:
    """`emds replay`: lists materialisations and typed failures; 0, since a recorded error is not our failure."""
    pipeline = open_context(recordings=folder)
    recorder = recording.Recorder(recording.instance(pipeline.storage.local), pipeline)
    begun = clock.now()
    done = replay(pipeline, folder)
    for feed, report in done.reports:
        keys = recorder.add(feed, report, begun)
        spans = ranges([MarketDay(d, feed.tz) for d in _dates(keys)])
        rows = sum(d.rows for d in report.days)
        print(
            f"{feed.id:28} {rows:7} rows, {len(keys)} partitions: "
            + ", ".join(_span(a, b, feed.yearly) for a, b in spans)
        )
    for request, error in done.failures:
        print(f"{request.feed:28} {request.url.rpartition('#')[2]}: {type(error).__name__}: {error}")
    code = _ended(refresh_all(pipeline))
    recorder.close()
    print(
        "replayed {rows} rows of {feeds} feeds; {failures} recorded answers gave a typed failure".format(
            **summary(done)
        )
    )
    return code


def _dates(keys: Sequence[str]) -> list[date]:
    return [date(int(key), 1, 1) if len(key) == 4 else date.fromisoformat(key) for key in keys]


def _span(first: MarketDay, last: MarketDay, yearly: bool) -> str:
    if yearly:
        return str(first.day.year)
    return str(first) if first == last else f"{first}..{last}"
