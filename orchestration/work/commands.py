"""Run the steps that ingesting verbs share: tasks, Dagster's events, publication, the report."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from assets.ingest.context import PipelineContext
from assets.ingest.refresh import measure_publishers, refresh_all
from assets.ingest.reports import RunReport, totals
from assets.sources import feed as feed_of
from orchestration.jobs import recording, retention
from orchestration.work import backfill
from orchestration.work.backfill import Task
from orchestration.work.disk_space import require_space
from orchestration.work.environment import open_context
from orchestration.work.fill_progress import FirstFill, is_first_fill
from warehouse import settings
from warehouse.bookkeeping import logged

SHOWN_CAUSES = 3
"""Causes of failed days listed for each publisher; the days of further causes are counted."""
_ROW = "{:28} {:>5} {:>8} {:>7} {:>7} {:>6} {:>9} {:>9} {:>11}"


def run(tasks: Sequence[Task], from_raw: bool = False, history: bool = False) -> int:
    """Run every task, whatever fails, and return the exit code (1: a day failed).

    `from_raw` reads the raw archive. `history` states that the days are old, so that the publishers are measured again.
    """
    pipeline = open_context()
    with closing(backfill.run(tasks, from_raw)) as runs:  # so that its processes end before an error is reported
        reports, failures = conclude(pipeline, tasks, runs, history)
    return list_unpublished(failures) or (1 if any(report.failed for report in reports) else 0)


def conclude(
    pipeline: PipelineContext, tasks: Sequence[Task], runs: Iterable[tuple[Task, RunReport]], history: bool = False
) -> tuple[list[RunReport], list[str]]:
    """Record runs in Dagster, publish, and print the report. Return the reports and further failures.

    In a first fill, each source is published as soon as its tasks are complete, so that its zones are served early.
    Raises StorageError if the disk is nearly full.
    """
    require_space(pipeline.storage.local)
    recorder = recording.Recorder(recording.instance(pipeline.storage.local), pipeline)
    reports = list[RunReport]()
    progress = FirstFill(pipeline, tasks) if history and is_first_fill(pipeline) else None
    for task, report in runs:
        recorder.add(feed_of(task.feed), report)
        reports.append(report)
        failed, rows = len(report.failed), sum(day.rows for day in report.days)
        words = f"{task.name}: {rows} rows" + (f", {failed} days failed" if failed else "")
        sys.stderr.write(f"[{len(reports)}/{len(tasks)}] {words}\n")
        if progress is not None:
            progress.add(task)
        require_space(pipeline.storage.local)
    sys.stderr.write("publishing the documents of all zones\n")
    failures = refresh_all(pipeline)
    if history:
        sys.stderr.write("measuring the publishers\n")
        failures += measure_publishers(pipeline)
    print(end_report(reports), flush=True)
    sys.stderr.write("recording the days in Dagster\n")
    recorder.close()
    with logged("retention of raw responses"):
        retention.prune_answers(pipeline)
    failures += _publish_files(settings.text(os.environ, "EMDS_PUBLISH_TO"))  # only the daemon would do it otherwise
    return reports, failures


def end_report(done: Iterable[RunReport]) -> str:
    """Return the counts of each feed, and the failures."""
    per_feed: dict[str, list[RunReport]] = defaultdict(list)
    for report in done:
        per_feed[report.feed].append(report)
    lines = [
        _ROW.format("feed", *["days", "complete", "partial", "pending", "failed", "rows", "changed", "quarantined"])
    ]
    for feed, reports in sorted(per_feed.items()):
        by = totals(reports)
        rest = by["pending"] + by["missing"] + by["out_of_range"] + by["not_configured"]
        rows = sum(day.rows for report in reports for day in report.days)
        changed = sum(f.added + f.changed + f.evicted for report in reports for f in report.folded)
        aside = sum(report.quarantined for report in reports)
        lines.append(
            _ROW.format(feed, by.total(), by["complete"], by["partial"], rest, by["failed"], rows, changed, aside)
        )
    every = [report for reports in per_feed.values() for report in reports]
    lines += _by_cause(every, "not_configured", "left out")
    lines += _by_cause(every, "failed", "failed")
    return "\n".join(lines)


def _by_cause(reports: Iterable[RunReport], status: str, word: str) -> Iterator[str]:
    """Yield a line for each publisher's most frequent causes of days with this status.

    A single day is named; several days are counted: without a network, all days of a publisher have one cause.
    """
    sources: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for report in reports:
        for day in report.days:
            if day.status == status:
                sources[report.feed.split(".")[0]][day.reason].append((report.feed, day.day))
    for source, by_cause in sorted(sources.items()):
        causes = sorted(by_cause.items(), key=lambda item: -len(item[1]))
        for cause, days in causes[:SHOWN_CAUSES]:
            feeds = ", ".join(sorted({feed.partition(".")[2] for feed, _ in days}))
            where = " ".join(days[0]) if len(days) == 1 else f"{source}: {len(days)} days of {feeds}"
            yield f"{word}: {where}: {cause}"
        if more := sum(len(days) for _, days in causes[SHOWN_CAUSES:]):
            yield f"{word}: {source}: {more} more days"


def published(to: str | None = None) -> int:
    """Publish every document again and rebuild the outdated marts.

    Then write the documents as files `to` a folder or bucket (default: EMDS_PUBLISH_TO). Return 1, after listing the
    failures, if any could not be published. Raises StorageError if the disk is nearly full.
    """
    from orchestration.jobs import materialise  # here, since it loads every definition

    pipeline = open_context()
    require_space(pipeline.storage.local)
    failures = [*refresh_all(pipeline), *measure_publishers(pipeline)]
    failures += materialise.materialise_marts(recording.instance(pipeline.storage.local))
    failures += _publish_files(to or settings.text(os.environ, "EMDS_PUBLISH_TO"))
    return list_unpublished(failures)


def _publish_files(address: str) -> list[str]:
    """Write the free documents as files to `address` if it is set, and report it; return a line per failure."""
    if not address:
        return []
    place = address.partition("?")[0]
    with logged(f"files to {place}") as attempt:  # if the files fail, the rows are still stored and reported
        from orchestration.static_side.publish import publish_now

        done = publish_now(address)
        state = "shown now" if done["current"] else "a newer publication is shown"
        print(f"{done['files']} documents and {done['months']} month files to {place}: {state}")
        print(f"{done['put']} objects put, {done['removed']} removed")
    return [*filter(None, [attempt.failure])]


def list_unpublished(failures: Sequence[str]) -> int:
    """List what could not be published, and return the exit code."""
    for line in failures:
        sys.stderr.write(f"emds: not published: {line}\n")
    return 1 if failures else 0
