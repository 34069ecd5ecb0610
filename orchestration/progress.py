"""Progress of many runs for a person: a bar while they run, counts and failures at the end."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from assets.ingest.reports import RunReport, totals
from orchestration.backfill import Task

SHOWN_FAILURES = 3
"""Failed days listed for each feed; the rest are counted."""


class Progress:
    """A bar on a terminal, a line a run elsewhere, on standard error."""

    def __init__(self, total: int) -> None:
        self.total, self.count, self.begun = total, 0, time.monotonic()

    def step(self, task: Task, report: RunReport) -> None:
        """Shows one run that has ended."""
        self.count += 1
        failed, rows = len(report.failed), sum(d.rows for d in report.days)
        words = f"{task.name}: {rows} rows" + (f", {failed} days failed" if failed else "")
        if sys.stderr.isatty():
            filled = 30 * self.count // self.total
            bar = "#" * filled + "." * (30 - filled)
            sys.stderr.write(
                f"\r\x1b[K[{bar}] {self.count}/{self.total} {time.monotonic() - self.begun:.0f} s  {words}"
            )
            if self.count == self.total:
                sys.stderr.write("\n")
        else:
            sys.stderr.write(f"[{self.count}/{self.total}] {words}\n")
        sys.stderr.flush()


def end_report(done: Iterable[tuple[Task, RunReport]]) -> str:
    """Counts per feed, and what failed."""
    per_feed: dict[str, list[RunReport]] = defaultdict(list)
    for task, report in done:
        per_feed[task.feed].append(report)
    columns = f"{'days':>5} {'done':>5} {'short':>5} {'wait':>5} {'fail':>5} {'rows':>9} {'changed':>9} {'aside':>6}"
    lines = [f"{'feed':28} {columns}"]
    lines += [_line(feed, reports) for feed, reports in sorted(per_feed.items())]
    for feed, reports in sorted(per_feed.items()):
        unset = dict.fromkeys(day.reason for report in reports for day in report.days if day.status == "not configured")
        lines += [f"left out: {feed}: {reason}" for reason in unset]
        failed = [day for report in reports for day in report.failed]
        lines += [f"failed: {feed} {day.day}: {day.reason}" for day in failed[:SHOWN_FAILURES]]
        if len(failed) > SHOWN_FAILURES:
            lines.append(f"failed: {feed}: {len(failed) - SHOWN_FAILURES} days more")
    return "\n".join(lines)


def _line(feed: str, reports: Sequence[RunReport]) -> str:
    by = totals(reports)
    rows = sum(d.rows for r in reports for d in r.days)
    changed = sum(f.added + f.changed + f.evicted for r in reports for f in r.folded)
    rest = by["waiting"] + by["missing"] + by["out of reach"] + by["not configured"]
    return (
        f"{feed:28} {sum(by.values()):5} {by['done']:5} {by['short']:5} {rest:5} {by['failed']:5} {rows:9} {changed:9}"
        f" {sum(r.quarantined for r in reports):6}"
    )
