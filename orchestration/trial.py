"""A market day of a feed asked for without a warehouse: session, parser, judge. Nothing is written.

`emds probe` reports what came of it, `emds record` keeps the answers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from assets.fetch.observed import Exchange, Observed
from assets.fetch.session import Session, Transport
from assets.ingest import reports
from assets.ingest.reports import DayReport
from warehouse import clock, coverage, quality
from warehouse.clock import RESOLUTIONS, MarketDay
from warehouse.errors import CredentialsMissing, FeedError
from warehouse.market import Feed, Request, Source
from warehouse.schema import Readings, Rows

SEARCHED_DAYS = 14
"""How far back `past_day` looks for a market day that is wholly published."""


@dataclass(slots=True)
class Trial:
    """What one market day of a feed gave."""

    feed: Feed
    day: MarketDay
    report: DayReport
    rows: Rows
    exchanges: tuple[Exchange, ...]
    failures: tuple[tuple[Request, FeedError], ...]
    findings: tuple[quality.Finding, ...]
    skipped: int = 0
    """Requests that were left out to keep the trial short."""
    intervals: int = 0
    """Net intervals had, in steps of the feed's resolution, over its zones and metrics."""
    expected: int | None = None
    """Net intervals that must be out by now; None where that cannot be said (yearly feeds, requests left out)."""


@dataclass(slots=True)
class _Answers:
    """Rows and failures of the requests of one day."""

    feed: Feed
    rows: Rows = field(default_factory=Rows)
    findings: list[quality.Finding] = field(default_factory=list)
    failures: list[tuple[Request, FeedError]] = field(default_factory=list)
    skipped: int = 0

    def read(self, body: bytes, request: Request, at: int) -> None:
        """Adds a body's rows; of two answers about one interval the later stays. Raises FeedError."""
        judged = quality.judge(self.feed.parse(body, request), self.feed, (), at)
        self.findings += [finding for finding in judged.findings if finding.severity == "error"]
        self.rows.merge(judged.kept)

    def combined(self) -> Rows:
        for key, readings in self.rows.strips.items():
            newest = dict(zip(readings.ts, readings.values, strict=True))
            self.rows.strips[key] = Readings(list(newest), list(newest.values()))
        return self.rows if self.feed.combine is None else self.feed.combine(self.rows)


class Trials:
    """Asks one source, for one thread. `environ` None: the transport uses no network (see `Session`).

    `most` requests a feed and day are sent (the newest), no more than the source's pace allows in a minute; 0: all.
    """

    def __init__(
        self,
        source: Source,
        transport: Transport,
        environ: Mapping[str, str] | None,
        most: int,
        tick: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._exchanges: list[Exchange] = []
        observed = Observed(transport, environ or {}, self._exchanges.append)
        self._session = Session(observed, environ, tick=tick, sleep=sleep)
        self._most = max(1, min(most, int(source.requests_per_minute))) if most else 0

    def ask(self, feed: Feed, day: MarketDay) -> Trial:
        """One market day. Every FeedError is in the trial, none is raised."""
        self._exchanges.clear()
        now, answers = clock.now(), _Answers(feed)
        beyond = feed.out_of_reach(day.day, clock.local_date(now, feed.tz))
        if beyond is None:
            self._gather(answers, day, now)
        rows = answers.combined()
        # Of a yearly feed nothing is owed interval by interval.
        judged = quality.judge(rows, feed, [] if feed.yearly or beyond else [day.window], now)
        (report,) = reports.of_days(
            feed, [day], {day: beyond} if beyond else {}, judged.kept, judged.short, answers.failures, now
        )
        findings = (*answers.findings, *judged.findings)
        exchanges, failures = tuple(self._exchanges), tuple(answers.failures)
        trial = Trial(feed, day, report, judged.kept, exchanges, failures, findings, answers.skipped)
        trial.intervals = _intervals(feed, day, judged.kept)
        trial.expected = None if feed.yearly or beyond or answers.skipped else _expected(feed, day, now)
        return trial

    def _gather(self, answers: _Answers, day: MarketDay, now: int) -> None:
        feed = answers.feed
        try:
            queue = deque(self._newest(feed.requests([day], now), answers))
        except FeedError as error:
            answers.failures.append((Request(feed.id, "", days=(day.day,)), error))
            return
        sent: set[Request] = set()
        while queue:
            request = queue.popleft()
            if request in sent:
                continue
            sent.add(request)
            try:
                answer = self._session.ask(request)
                if request.kind == "rows":
                    answers.read(answer.body, request, answer.fetched_at)
                if feed.follow is not None:
                    room = max(1, self._most - len(sent)) if self._most else 0
                    queue.extend(self._newest(feed.follow(answer.body, request), answers, room))
            except FeedError as error:
                answers.failures.append((request, error))
                if isinstance(error, CredentialsMissing):
                    return

    def _newest(self, requests: Sequence[Request], answers: _Answers, room: int | None = None) -> Sequence[Request]:
        most = self._most if room is None else room
        if not most or len(requests) <= most:
            return requests
        answers.skipped += len(requests) - most
        return requests[-most:]


def past_day(feed: Feed, now: int) -> MarketDay | None:
    """The newest past market day of which everything must be out; None where the feed reaches back to no such day."""
    today = clock.local_date(now, feed.tz)
    if feed.yearly:
        return MarketDay(date(today.year - 1, 1, 1), feed.tz)
    for back in range(1, SEARCHED_DAYS + 1):
        day = MarketDay(today - timedelta(days=back), feed.tz)
        if feed.out_of_reach(day.day, today):
            return None
        if coverage.due(feed, day.window, now) >= day.end:
            return day
    return None


def running_day(feed: Feed, now: int) -> MarketDay:
    """Today in the feed's market; of a yearly feed this year."""
    today = clock.local_date(now, feed.tz)
    return MarketDay(date(today.year, 1, 1) if feed.yearly else today, feed.tz)


def days_of(feed: Feed, now: int, asked: date | None) -> list[MarketDay]:
    """The days of a trial: a past one (that asked for, if any) and today."""
    past = past_day(feed, now)
    if asked is not None:
        past = MarketDay(date(asked.year, 1, 1) if feed.yearly else asked, feed.tz)
    return list(dict.fromkeys(day for day in (past, running_day(feed, now)) if day is not None))


def _intervals(feed: Feed, day: MarketDay, rows: Rows) -> int:
    """Net intervals in the day, distinct by zone, metric and instant; longer rows count as several steps."""
    seconds: dict[tuple[str, str, int], int] = {}
    for key, readings in rows.strips.items():
        if key.counterparty is None and key.link is None and key.metric in feed.metrics:
            step = RESOLUTIONS[key.resolution]
            seconds |= {(key.zone, key.metric, ts): step for ts in readings.ts if ts in day.window}
    return sum(seconds.values()) // RESOLUTIONS[feed.resolution]


def _expected(feed: Feed, day: MarketDay, now: int) -> int:
    due = coverage.due(feed, day.window, now) - day.window.start
    return len(feed.zones) * len(feed.metrics) * (due // RESOLUTIONS[feed.resolution])
