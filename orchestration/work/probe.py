"""`emds probe`: a first meeting with publishers. Each feed is ingested into a scratch folder for a past day and today.

A line a feed and day as it ends, a verdict at the end. See docs/operating.md for what each failure usually means.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from orchestration.work.resources import open_scratch
from orchestration.work.settings import PipelineSettings
from warehouse.errors import CredentialsMissing, MarketError, NotPublished, StorageError
from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import MarketDay, iso
from warehouse.market.market import Feed, Request
from warehouse.store import modes

REQUESTS = 12
"""At most so many requests a feed and day, by default: enough to meet a publisher."""
SEARCHED_DAYS = 14
"""How far back `past_day` looks for a market day that is wholly published."""
OPENINGS = {
    "live": "live: asks the publishers' own hosts; nothing is written to the warehouse",
    "simulated": "SIMULATED publishers: no network, no credentials; set EMDS_FEEDS=live to meet the real ones",
}
SENTENCES = {
    "network": "No whole answer",
    "limit": "The publisher says: too many requests",
    "server": "The publisher's server fails",
    "refused": "The publisher refuses",
    "resting": "Not asked: the host is left alone after failures, or its turns are taken",
    "unavailable": "The publisher cannot answer now",
    "not published": "Nothing is published there",
    "changed": "The answer is not in the known format",
    "credentials": "The publisher refuses the credentials",
    "not licensed": "The answer may not be passed on",
}
"""How the sentence about a failure begins, by `FeedError.kind`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one market day of a feed gave."""

    feed: Feed
    report: RunReport
    skipped: int
    """Requests that were left out to keep the trial short."""

    @property
    def verdict(self) -> str:
        """`ok`, `part` (requests left out), `short`, `waiting`, `not configured`, `out of reach` or `failed`."""
        status = self.report.days[0].status
        if status in ("failed", "missing"):
            return "failed"
        if self.skipped and status in ("done", "short"):
            return "part"
        return "ok" if status == "done" else status


def mode_of(settings: PipelineSettings) -> str:
    """EMDS_FEEDS, else the mode of the warehouse, else simulated; read only. Raises StorageError for a recorded one."""
    mode = settings.feeds or modes.get(settings.home.open()) or "simulated"
    if mode not in OPENINGS:
        raise StorageError(f"a {mode[:20]} warehouse has no publisher to ask: set EMDS_FEEDS=live or simulated")
    return mode


def probe(feeds: Sequence[Feed], day: date | None = None, most: int = REQUESTS) -> int:
    """Print a line a feed and day, then the verdict; 1 where one failed."""
    with TemporaryDirectory(prefix="emds-") as scratch:
        return meet(Path(scratch), feeds, day, most)


def meet(scratch: Path, feeds: Sequence[Feed], day: date | None, most: int) -> int:
    """The same into this folder, which holds a warehouse a source afterwards."""
    settings = PipelineSettings.from_environ(os.environ)
    mode = mode_of(settings)
    print(OPENINGS[mode], flush=True)
    by_source: dict[str, list[Feed]] = defaultdict(list)
    for feed in feeds:
        by_source[feed.source].append(feed)
    stopped = threading.Event()

    def meet_source(code: str) -> list[Trial]:
        pipeline, trials = open_scratch(settings, scratch / code, mode), []
        for feed in by_source[code]:
            for market_day in days_of(feed, clock.now(), day):
                if not stopped.is_set():
                    trials.append(ask(pipeline, feed, market_day, most))
                    sys.stdout.write(f"{line(trials[-1])}\n")
                    sys.stdout.flush()
        return trials

    # One thread a source: the slowest publisher sets the time, and no host is asked from two sides.
    with ThreadPoolExecutor(max(1, len(by_source))) as pool:
        try:
            trials = [trial for of_source in pool.map(meet_source, by_source) for trial in of_source]
        finally:
            stopped.set()
    return _conclude(trials, mode)


def ask(pipeline: PipelineContext, feed: Feed, day: MarketDay, most: int) -> Trial:
    """Ingest one market day. `most` requests are sent, no more than the source's pace allows in a minute; 0: all."""
    if not most:
        return Trial(feed, ingest_days(pipeline, feed, [day]), 0)
    pace = pipeline.sources[feed.source].requests_per_minute
    shortened, left_out = _shortened(feed, max(1, min(most, int(pace))))
    return Trial(feed, ingest_days(pipeline, shortened, [day]), len(left_out))


def _shortened(feed: Feed, most: int) -> tuple[Feed, list[Request]]:
    """The feed with the newest `most` requests of a run alone, and the list that gets the others."""
    sent, left_out, follow = 0, list[Request](), feed.follow

    def newest(requests: list[Request]) -> list[Request]:
        nonlocal sent
        room = max(1, most - sent)
        sent += len(requests[-room:])
        left_out.extend(requests[:-room])
        return requests[-room:]

    return replace(
        feed,
        requests=lambda days, now: newest(feed.requests(days, now)),
        follow=follow and (lambda body, request: newest(follow(body, request))),
    ), left_out


def past_day(feed: Feed, now: int) -> MarketDay | None:
    """The newest past market day of which everything must be out; None where the feed reaches back to no such day."""
    today = clock.local_date(now, feed.tz)
    if feed.yearly:
        return MarketDay(date(today.year - 1, 1, 1), feed.tz)
    for back in range(1, SEARCHED_DAYS + 1):
        day = MarketDay(today - timedelta(days=back), feed.tz)
        if feed.out_of_reach(day.day, today):
            return None
        if coverage.due_until(feed, day.window, now) >= day.end:
            return day
    return None


def days_of(feed: Feed, now: int, wanted: date | None) -> list[MarketDay]:
    """The days of a trial: a past one (that asked for, if any) and today; of a yearly feed their years."""
    past = past_day(feed, now) if wanted is None else MarketDay(wanted, feed.tz)
    days = [day.day for day in (past, MarketDay.at(now, feed.tz)) if day is not None]
    firsts = (date(day.year, 1, 1) if feed.yearly else day for day in days)
    return [MarketDay(day, feed.tz) for day in dict.fromkeys(firsts)]


def _conclude(trials: Sequence[Trial], mode: str) -> int:
    """Print the failures again, each cause once, and how many days ended how."""
    failed = [trial for trial in trials if trial.verdict == "failed"]
    resting = [t for t in failed if t.report.failures and all(_kind(e) == "resting" for e in t.report.failures)]
    for trial in failed:
        if trial not in resting:
            print(f"failed: {trial.feed.id} {trial.report.days[0].day}: {sentence(trial)}")
    if resting:
        print(f"failed: {len(resting)} more were not asked, since their host is left alone after failures")
    verdicts = Counter(trial.verdict for trial in trials)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(verdicts.items()))
    marked = " (simulated publishers)" if mode == "simulated" else ""
    answered = verdicts.keys() - {"not configured", "out of reach"}
    print(f"{'FAILED' if failed else 'ok' if answered else 'nothing was asked'}: {counts}{marked}")
    if failed:
        print('docs/operating.md, "A first meeting", says what each failure usually means.')
    return 1 if failed else 0


def line(trial: Trial) -> str:
    """One line: what was asked, what came, what is odd."""
    report, day = trial.report, trial.report.days[0]
    requests = f"{report.requests:3} request{' ' if report.requests == 1 else 's'}"
    parts = [
        f"{trial.feed.id:26} {day.day:10} {trial.verdict:14} {requests} {_size(report.bytes):>9} {day.rows:6} rows",
        f"{iso(day.first)}..{iso(day.last)}" if day.first is not None and day.last is not None else "",
        f"{trial.skipped} requests left out" if trial.skipped else "",
        *_remarks(trial),
    ]
    return " | ".join(filter(None, parts))


def _remarks(trial: Trial) -> list[str]:
    reason = trial.report.days[0].reason
    if trial.verdict == "failed":
        return [sentence(trial)]
    if trial.verdict == "short" and trial.feed.reach_days == 0:
        return ["this feed states its newest intervals only: the day fills up while `emds up` runs"]
    if trial.verdict not in ("ok", "part") and reason:
        return [reason[:200]]
    odd = [finding for finding in trial.report.findings if finding.severity != "note"]
    remarks = [f"{f.check} {f.zone} {f.metric}: {f.count} ({f.detail})"[:140] for f in odd[:2]]
    return [*remarks, f"{len(odd) - 2} more findings"] if len(odd) > 2 else remarks


def sentence(trial: Trial) -> str:
    """Why a day failed, in one plain sentence."""
    failures = trial.report.failures
    hard = [error for error in failures if not isinstance(error, NotPublished)] or failures
    if not hard:
        return f"{SENTENCES['not published']}: {trial.report.days[0].reason}."
    more = f" ({len(hard)} requests)" if len(hard) > 1 else ""
    return f"{_begin(hard[0])}: {hard[0]}{more}.{_retry(hard[0])}"


def _begin(error: MarketError) -> str:
    if isinstance(error, CredentialsMissing) and not error.refused:
        return "Credentials are missing"
    return SENTENCES.get(_kind(error), "It failed")


def _retry(error: MarketError) -> str:
    seconds = None if _kind(error) == "resting" else getattr(error, "retry_after", None)
    return f" Ask again in {seconds:.0f} s." if seconds else ""


def _kind(error: MarketError) -> str:
    return getattr(error, "kind", "")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} kB"
