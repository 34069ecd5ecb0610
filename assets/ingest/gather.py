"""Gather a publisher's responses: fetch, store, parse, and follow listings and pages until none are left.

Untyped errors of a feed's own code and of its requests become FeedChanged, with their location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
from warehouse.bookkeeping import described, raised_at
from warehouse.errors import (
    CredentialsMissing,
    FeedChanged,
    FeedError,
    MarketError,
    NotPublished,
    StorageError,
    as_storage_error,
)
from warehouse.judge import quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Request
from warehouse.rows import forecasts
from warehouse.rows.schema import Readings, Rows, SeriesKey
from warehouse.series import raw

MOST_REQUESTS = 20_000
"""The maximum per run, including follow-up requests. A listing that leads to more has an unknown format."""


@contextmanager
def feed_code(feed: str, stage: str) -> Iterator[None]:
    """Run a feed's own function (`parse`, `follow`, `combine`, ...). The only errors that it raises are FeedErrors."""
    try:
        yield
    except FeedError:
        raise
    except Exception as error:
        raise FeedChanged(f"{feed}: {stage} raised {described(error)}") from error


@dataclass(slots=True)
class Gathered:
    """The contents of a run's responses, parsed on arrival: a month of some feeds is a gigabyte of responses."""

    feed: Feed
    rows: Rows = field(default_factory=Rows)
    rejected: list[quality.Judgement] = field(default_factory=list)
    """The verdicts on responses that contradict themselves or contain rows outside the possible time."""
    failures: list[tuple[Request, MarketError]] = field(default_factory=list)
    requests: int = 0
    bytes: int = 0
    new_bodies: list[str] = field(default_factory=list)
    """The keys of new responses."""
    answered_at: int = 0
    """The time of the newest response, Unix seconds; 0 if the publisher was not reached. A listing counts too, and so
    does a response that nothing is published yet.
    """

    def read(self, answer: Fetched) -> Rows:
        """Add a response's rows and return them. Rows that contradict others of the response or are outside the
        possible time are quarantined at once, since another response may be right.
        """
        self.answered_at = max(self.answered_at, answer.fetched_at)
        try:
            with feed_code(self.feed.id, "parse"):
                rows = forecasts.date_by_answer(self.feed.parse(answer.body, answer.request), answer.fetched_at)
                if any(
                    _repeats(readings) or self._strays(key, readings, answer) for key, readings in rows.readings.items()
                ):
                    judgement = quality.judge(rows, self.feed, (), answer.fetched_at, answer.request.days)
                    self.rejected.append(judgement)
                    rows = judgement.accepted
        except FeedError as error:
            self.failures.append((answer.request, error))
            return Rows()
        self.rows.merge(rows)
        return rows

    def _strays(self, key: SeriesKey, readings: Readings, answer: Fetched) -> bool:
        """Check whether a row of a series starts outside the possible time of the response."""
        possible = quality.possible_time(self.feed, answer.request.days, answer.fetched_at, key.metric)
        return bool(readings.ts) and not (possible.start <= min(readings.ts) and max(readings.ts) < possible.end)

    def rejections(self) -> list[quality.Finding]:
        """Return why rows of single responses were quarantined, without unknown members: the final verdict has them."""
        findings = (finding for verdict in self.rejected for finding in verdict.findings)
        return [finding for finding in findings if finding.severity == "error" and finding.check != "unknown"]

    def failed(self, error: MarketError, days: Sequence[MarketDay] = (), zone: str | None = None) -> None:
        """Record a failure without a single request as its cause."""
        self.failures.append((Request(self.feed.id, "", days=tuple(d.day for d in days), zone=zone), error))

    def merged_rows(self) -> Rows:
        """Return the rows of all responses together. A later response takes precedence."""
        for key, readings in self.rows.readings.items():
            if _repeats(readings):
                self.rows.readings[key] = readings.newest()
        return self.rows if self.feed.combine is None else self.feed.combine(self.rows)


def _repeats(readings: Readings) -> bool:
    return len(set(readings.ts)) < len(readings.ts)


def gather(pipeline: PipelineContext, gathered: Gathered, requests: Sequence[Request]) -> None:
    """Fetch, store, parse, and follow listings and pages until there are no more requests."""
    storage, feed = pipeline.storage, gathered.feed
    days = [day for request in requests for day in request.days]
    first, last = min(days, default=None), max(days, default=None)

    @cache
    def kept_answers() -> raw.KeptAnswers:
        """List the raw responses that may contain rows of these days or of the days beside: charts cross midnight."""
        beside = timedelta(days=1)
        return raw.KeptAnswers(storage, feed.id, first and first - beside, last and last + beside)

    queue = list(reversed(requests))
    asked: set[Request] = set()
    while queue:
        request = queue.pop()
        if request in asked:
            continue
        asked.add(request)
        try:
            if len(asked) > MOST_REQUESTS:
                raise FeedChanged(f"more than {MOST_REQUESTS} follow-up requests")
            queue.extend(reversed(_ask(pipeline, gathered, request, kept_answers)))
        except (StorageError, OSError) as error:
            gathered.failures.append((request, as_storage_error(error)))
        except FeedError as error:
            gathered.failures.append((request, error))
            if isinstance(error, CredentialsMissing):
                # All other requests that need the key fail too. They are not sent, but their days and zones fail.
                gathered.failures += [(other, error) for other in queue if other.secrets]
                queue = [other for other in queue if not other.secrets]


def _ask(
    pipeline: PipelineContext,
    gathered: Gathered,
    request: Request,
    kept_answers: Callable[[], raw.KeptAnswers],
) -> list[Request]:
    """Read the stored or new response to a request, and return the follow-up requests.

    Raises FeedError, and StorageError or OSError if the response cannot be stored.
    """
    feed = gathered.feed
    if request.once and (earlier := kept_answers().find(request)):
        gathered.read(Fetched(request, earlier.body, earlier.fetched_at))
        return []
    gathered.requests += 1
    try:
        answer = pipeline.session.ask(request)
    except NotPublished:
        gathered.answered_at = max(gathered.answered_at, clock.now())
        raise
    except FeedError:
        raise
    except Exception as error:  # its text may contain a URL with a key
        raise FeedChanged(f"{feed.id}: the request raised {type(error).__name__}{raised_at(error)}") from None
    gathered.bytes += len(answer.body)
    gathered.answered_at = max(gathered.answered_at, answer.fetched_at)
    if request.kind == "rows":
        key = kept_answers().keep(request, answer.body, answer.fetched_at, pipeline.mode)
        gathered.new_bodies += [] if key is None else [key]
        gathered.read(answer)
    if feed.follow is None or pipeline.mode == "recorded":
        return []
    with feed_code(feed.id, "follow"):
        return feed.follow(answer.body, request)
