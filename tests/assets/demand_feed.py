"""Declare an invented feed of half-hourly demand, whose publisher responds by market day, and run over its days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from tests.stand_ins import declared, stored_rows
from warehouse.errors import FeedChanged, FeedError, NotPublished
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Feed, Publication, Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows
from warehouse.store.storage import Folder

DAY = date(2026, 6, 10)
START = MarketDay(DAY, "Europe/London").start
NOON = START + 15 * 3600


def parse(body: bytes, request: Request) -> Rows:
    """Return the rows of a body of `half-hour=value` words. Raise FeedChanged if the body is `!`."""
    if body == b"!":
        raise FeedChanged("no such column")
    rows = Rows()
    for text in body.decode().split():
        ts, value = text.split("=")
        rows.add("GB", Metric.DEMAND, START + int(ts) * 1800, float(value), "MW", "30m")
    return rows


def one_a_day(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request per day."""
    return [Request("test.demand", f"https://example.org/{d}", days=(d.day,), ext="txt") for d in days]


FEED = declared.feed(
    *("test.demand", ["GB"], [Metric.DEMAND], "30m"),
    tz="Europe/London",
    publication=Publication(lag_minutes=0, grace_minutes=30),
    requests=one_a_day,
    parse=parse,
    every_minutes=30,
    revised_days=2,
)
SOURCE = declared.source("test", [FEED])


class Publisher:
    """A publisher that responds by market day, with bytes or with a failure to raise."""

    def __init__(self, answers: dict[date, bytes | FeedError]) -> None:
        self.answers, self.requests = answers, 0

    def ask(self, request: Request) -> Fetched:
        self.requests += 1
        answer = self.answers.get(request.days[0], NotPublished("empty body"))
        if isinstance(answer, FeedError):
            raise answer
        return Fetched(request, answer, NOON)


def whole(first: int = 0, last: int = 48, value: float = 30000) -> bytes:
    """Return a body of half-hours from `first` to before `last`, counted from the start of DAY."""
    return " ".join(f"{i}={value + i}" for i in range(first, last)).encode()


def pipeline(tmp_path: Path, answers: dict[date, bytes | FeedError], feed: Feed = FEED) -> PipelineContext:
    """Return a context with a simulated warehouse in the folder, and with the feed and its publisher's responses."""
    source = replace(SOURCE, feeds=(feed,))
    return PipelineContext(
        Folder(tmp_path),
        "simulated",
        {"test": source},
        (),
        {feed.id: 1},
        {"test"},
        Publisher(answers),
    )


def run(of: PipelineContext, *days: date) -> RunReport:
    """Run over `days`, which default to DAY."""
    feed = of.sources["test"].feeds[0]
    return ingest_days(of, feed, [MarketDay(d, feed.tz) for d in days or (DAY,)])


def stored(of: PipelineContext) -> dict[int, float]:
    """Return the served values from the day before DAY to two days after it, by half-hour from the start of DAY."""
    rows = stored_rows.read(of.storage, "GB", "demand", Window(START - 90000, START + 3 * 86400))
    return {
        (t - START) // 1800: v
        for t, v in zip(rows.column("ts").to_pylist(), rows.column("value").to_pylist(), strict=True)
    }
