"""A market day of a feed asked for without a warehouse: session, parser, judge. Nothing is written.

`emds probe` reports what came of it, `emds record` keeps the answers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from assets.fetch.observed import Exchange, Observed
from assets.fetch.session import Session, Transport
from assets.fetch.turns import Turns
from assets.ingest import reports
from assets.ingest.boundary import feed_code, transport
from assets.ingest.gather import MOST_REQUESTS, Gathered
from assets.ingest.reports import DayReport
from warehouse import clock, coverage, quality
from warehouse.clock import RESOLUTIONS, MarketDay
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, OutOfReach
from warehouse.market import Feed, Request, Source
from warehouse.schema import Rows

SEARCHED_DAYS = 14
"""How far back `past_day` looks for a market day that is wholly published."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one market day of a feed gave."""

    feed: Feed
    day: MarketDay
    report: DayReport
    exchanges: tuple[Exchange, ...]
    failures: tuple[tuple[Request, FeedError], ...]
    findings: tuple[quality.Finding, ...]
    skipped: int = 0
    """Requests that were left out to keep the trial short."""
    intervals: int = 0
    """Net intervals had, in steps of the feed's resolution, over its zones and metrics."""
    expected: int | None = None
    """Net intervals that must be out by now; None where that cannot be said (yearly feeds, requests left out)."""


class Trials:
    """Asks one source, for one thread. `environ` None: the transport uses no network; `turns`: see `Session`.

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
        turns: Turns | None = None,
    ) -> None:
        self._exchanges: list[Exchange] = []
        observed = Observed(transport, environ or {}, self._exchanges.append)
        self._session = Session(observed, environ, turns=turns, tick=tick, sleep=sleep)
        self._skipped = 0
        self._most = max(1, min(most, int(source.requests_per_minute))) if most else 0

    def ask(self, feed: Feed, day: MarketDay) -> Trial:
        """One market day. Every FeedError is in the trial, none is raised."""
        self._exchanges.clear()
        self._skipped = 0
        now, gathered = clock.now(), Gathered(feed)
        beyond = feed.out_of_reach(day.day, clock.local_date(now, feed.tz))
        rows = Rows()
        try:
            if beyond is None:
                self._gather(gathered, day, now)
            with feed_code(feed.id, "combine"):
                rows = gathered.stated()
        except FeedError as error:
            gathered.failed(error, [day])
        return self._trial(gathered, day, rows, beyond, now)

    def _trial(self, gathered: Gathered, day: MarketDay, rows: Rows, beyond: OutOfReach | None, now: int) -> Trial:
        feed = gathered.feed
        # Of a yearly feed nothing is owed interval by interval.
        judged = quality.judge(rows, feed, [] if feed.yearly or beyond else [day.window], now)
        outside = {day: beyond} if beyond else {}
        (report,) = reports.of_days(feed, [day], outside, judged.kept, judged.short, gathered.failures, now)
        trial = Trial(
            feed,
            day,
            report,
            tuple(self._exchanges),
            tuple((request, error) for request, error in gathered.failures if isinstance(error, FeedError)),
            (*gathered.precheck_errors(), *judged.findings),
            self._skipped,
            _intervals(feed, day, judged.kept),
        )
        if not (feed.yearly or beyond or self._skipped):
            trial = replace(trial, expected=_expected(feed, day, now))
        return trial

    def _gather(self, gathered: Gathered, day: MarketDay, now: int) -> None:
        """Sends the requests of a day and what they lead to. Raises FeedError where the feed names none."""
        with feed_code(gathered.feed.id, "requests"):
            requests = gathered.feed.requests([day], now)
        queue = deque(self._newest(requests, self._most))
        sent: set[Request] = set()
        while queue:
            request = queue.popleft()
            if request in sent:
                continue
            sent.add(request)
            if len(sent) > MOST_REQUESTS:
                raise FeedChanged(f"more than {MOST_REQUESTS} requests")
            try:
                further = self._send(gathered, request)
                queue.extend(self._newest(further, max(1, self._most - len(sent)) if self._most else 0))
            except FeedError as error:
                gathered.failures.append((request, error))
                if isinstance(error, CredentialsMissing):
                    return

    def _send(self, gathered: Gathered, request: Request) -> list[Request]:
        """Reads one answer; returns the requests that it leads to. Raises FeedError."""
        feed = gathered.feed
        with transport(feed.id):
            answer = self._session.ask(request)
        if request.kind == "rows":
            gathered.read(answer)
        if feed.follow is None:
            return []
        with feed_code(feed.id, "follow"):
            return feed.follow(answer.body, request)

    def _newest(self, requests: Sequence[Request], most: int) -> Sequence[Request]:
        """The last `most` of these; the others are counted. 0: all."""
        if not most or len(requests) <= most:
            return requests
        self._skipped += len(requests) - most
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


def days_of(feed: Feed, now: int, wanted: date | None) -> list[MarketDay]:
    """The days of a trial: a past one (that asked for, if any) and today."""
    past = past_day(feed, now)
    if wanted is not None:
        past = MarketDay(date(wanted.year, 1, 1) if feed.yearly else wanted, feed.tz)
    return list(dict.fromkeys(day for day in (past, running_day(feed, now)) if day is not None))


def _intervals(feed: Feed, day: MarketDay, rows: Rows) -> int:
    """Net intervals in the day, distinct by zone, metric and instant; longer rows count as several steps."""
    seconds: dict[tuple[str, str, int], int] = {}
    for key, readings in rows.readings.items():
        if key.counterparty is None and key.link is None and key.metric in feed.metrics:
            step = RESOLUTIONS[key.resolution]
            seconds |= {(key.zone, key.metric, ts): step for ts in readings.ts if ts in day.window}
    return sum(seconds.values()) // RESOLUTIONS[feed.resolution]


def _expected(feed: Feed, day: MarketDay, now: int) -> int:
    due = coverage.due(feed, day.window, now) - day.window.start
    return len(feed.zones) * len(feed.metrics) * (due // RESOLUTIONS[feed.resolution])
