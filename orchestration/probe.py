"""`emds probe`: a first meeting with the publishers. Each feed is asked for a past day and today; nothing is written.

A line a feed and day as it goes, a verdict at the end. See docs/operating.md for what each failure usually means.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from queue import SimpleQueue

from assets.fetch.session import Transport
from assets.fetch.turns import Turns
from assets.sources import sources
from orchestration.resources import kept_mode, transport_of, turns_of
from orchestration.settings import PipelineSettings
from orchestration.trial import Trial, Trials, days_of
from warehouse import clock
from warehouse.clock import iso
from warehouse.errors import CredentialsMissing, FeedError, StorageError
from warehouse.market import Feed

REQUESTS = 12
"""At most so many requests a feed and day, by default: enough to meet a publisher."""
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


def mode_of(settings: PipelineSettings) -> str:
    """EMDS_FEEDS, else the mode of the warehouse, else simulated; read only. Raises StorageError for a recorded one."""
    mode = settings.feeds or kept_mode(settings.home.open()) or "simulated"
    if mode not in OPENINGS:
        raise StorageError(f"a {mode[:20]} warehouse has no publisher to ask: set EMDS_FEEDS=live or simulated")
    return mode


def trials(
    feeds: Sequence[Feed],
    transport: Transport,
    environ: Mapping[str, str] | None,
    day: date | None,
    most: int,
    turns: Turns | None = None,
) -> Iterator[Trial]:
    """Every feed's days as they end. One thread a source, so that the slowest publisher sets the time, and no host is
    asked from two sides."""
    by_source: dict[str, list[Feed]] = defaultdict(list)
    for feed in feeds:
        by_source[feed.source].append(feed)
    done: SimpleQueue[Trial | Future[None]] = SimpleQueue()
    stopped = threading.Event()

    def ask(code: str) -> None:
        asking, now = Trials(sources()[code], transport, environ, most, turns=turns), clock.now()
        for feed in by_source[code]:
            for market_day in days_of(feed, now, day):
                if stopped.is_set():
                    return
                done.put(asking.ask(feed, market_day))

    with ThreadPoolExecutor(max(1, len(by_source))) as pool:
        for code in by_source:
            pool.submit(ask, code).add_done_callback(done.put)
        running = len(by_source)
        try:
            while running:
                one = done.get()
                if isinstance(one, Trial):
                    yield one
                else:
                    one.result()  # raises what ended a source's thread
                    running -= 1
        finally:
            stopped.set()


def probe(feeds: Sequence[Feed], day: date | None = None, most: int = REQUESTS) -> int:
    """Prints a line a feed and day, then the verdict; 1 where one failed."""
    environ, settings = os.environ, PipelineSettings.from_environ(os.environ)
    mode = mode_of(settings)
    print(OPENINGS[mode], flush=True)
    verdicts: Counter[str] = Counter()
    failed: list[Trial] = []
    transport = transport_of(mode, environ, settings.contact)
    live, turns = (environ, turns_of(settings)) if mode == "live" else (None, None)
    for trial in trials(feeds, transport, live, day, most, turns):
        word = verdict(trial)
        verdicts[word] += 1
        print(line(trial), flush=True)
        if word == "failed":
            failed.append(trial)
    _list(failed)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(verdicts.items()))
    marked = " (simulated publishers)" if mode == "simulated" else ""
    answered = verdicts.keys() - {"not configured", "out of reach"}
    print(f"{'FAILED' if failed else 'ok' if answered else 'nothing was asked'}: {counts}{marked}")
    if failed:
        print('docs/operating.md, "A first meeting", says what each failure usually means.')
    return 1 if failed else 0


def _list(failed: Sequence[Trial]) -> None:
    """The failures again, each cause once: what was not asked because its host failed before is counted."""
    resting = [trial for trial in failed if trial.failures and all(e.kind == "resting" for _, e in trial.failures)]
    for trial in failed:
        if trial not in resting:
            print(f"failed: {trial.feed.id} {trial.day}: {sentence(trial)}")
    if resting:
        print(f"failed: {len(resting)} more were not asked, since their host is left alone after failures")


def verdict(trial: Trial) -> str:
    """`ok`, `part` (requests left out), `short`, `waiting`, `not configured`, `out of reach` or `failed`."""
    status = trial.report.status
    if status in ("failed", "missing"):
        return "failed"
    if status in ("waiting", "not configured", "out of reach"):
        return status
    if trial.skipped:
        return "part"
    return "ok" if status == "done" else status


def line(trial: Trial) -> str:
    """One line: what was asked, what came, what was due, what is odd."""
    word, report = verdict(trial), trial.report
    statuses = ",".join(str(status or "-") for status in dict.fromkeys(e.status for e in trial.exchanges)) or "-"
    seconds = sum(exchange.seconds for exchange in trial.exchanges)
    size = sum(len(exchange.body) for exchange in trial.exchanges)
    parts = [
        f"{trial.feed.id:26} {trial.day!s:10} {word:14} {statuses:9} {_requests(len(trial.exchanges))}",
        f"{_size(size):>9} {seconds * 1000:6.0f} ms {report.rows:6} rows",
    ]
    if report.first is not None and report.last is not None:
        parts.append(f"{iso(report.first)}..{iso(report.last)}")
    if trial.expected is not None and word not in ("not configured", "out of reach"):
        parts.append(f"{trial.intervals} intervals, {trial.expected} due")
    if trial.skipped:
        parts.append(f"{trial.skipped} requests left out")
    parts += _remarks(trial, word)
    return " | ".join(parts)


def _requests(count: int) -> str:
    return f"{count:3} request " if count == 1 else f"{count:3} requests"


def _remarks(trial: Trial, word: str) -> list[str]:
    if word == "failed":
        return [sentence(trial)]
    if word == "short" and trial.feed.reach_days == 0:
        return ["this feed states its newest intervals only: the day fills up while `emds up` runs"]
    if word not in ("ok", "part") and trial.report.reason:
        return [trial.report.reason[:200]]
    odd = [finding for finding in trial.findings if finding.severity != "note"]
    remarks = [f"{f.check} {f.zone} {f.metric}: {f.count} ({f.detail})"[:140] for f in odd[:2]]
    return [*remarks, f"{len(odd) - 2} more findings"] if len(odd) > 2 else remarks


def sentence(trial: Trial) -> str:
    """Why a day failed, in one plain sentence, and what the publisher said."""
    hard = [pair for pair in trial.failures if pair[1].kind != "not published"] or list(trial.failures)
    if not hard:
        return f"{SENTENCES['not published']}: {trial.report.reason}."
    request, error = hard[0]
    more = f" ({len(hard)} requests)" if len(hard) > 1 else ""
    excerpt = next((e.excerpt for e in reversed(trial.exchanges) if e.request == request and e.excerpt), "")
    quoted = f' It said: "{excerpt}"' if excerpt else ""
    return f"{_begin(error)}: {error}{more}.{_retry(error)}{quoted}"


def _begin(error: FeedError) -> str:
    if isinstance(error, CredentialsMissing) and not error.refused:
        return "Credentials are missing"
    return SENTENCES.get(error.kind, "It failed")


def _retry(error: FeedError) -> str:
    seconds = None if error.kind == "resting" else getattr(error, "retry_after", None)
    return f" Ask again in {seconds:.0f} s." if seconds else ""


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} kB"
