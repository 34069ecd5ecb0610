"""Sources and their feeds as values: no network, no files, no clock.

A `Source` value states everything about a publisher once; partitions, schedules, pools, checks, the catalogue,
OpenAPI's enums and the docs follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta

from warehouse.errors import OutOfReach
from warehouse.market.clock import MarketDay, Window, zone_of
from warehouse.market.metrics import define
from warehouse.market.vocabulary import Forecast, Metric

if TYPE_CHECKING:
    from warehouse.rows.schema import Rows


class Terms(NamedTuple):
    """Whose figures some rows are, and on what terms they may be used. Members as in the answers of the API."""

    source: str
    license: str
    attribution: str


def join_terms(terms: Iterable[Terms]) -> Terms:
    """Return the terms of several sources together, each text once."""
    each = [*terms]
    return Terms(
        ", ".join(dict.fromkeys(one.source for one in each)),
        "; ".join(dict.fromkeys(one.license for one in each)),
        "; ".join(dict.fromkeys(one.attribution for one in each)),
    )


@dataclass(frozen=True, slots=True)
class Secret:
    """One credential that the live transport puts into a request as it leaves; it is never part of a kept address."""

    where: Literal["query", "header", "basic", "ercot", "entsoe_files"]
    """`basic`: HTTP Basic of two variables; `ercot`, `entsoe_files`: a bearer token bought with user and password."""
    name: str
    """The parameter or header, as in `securityToken`; empty for `basic` and `ercot`."""
    env: tuple[str, ...]
    """The environment variables that hold it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a publisher, as plain values: it can be kept beside its answer and asked again.

    `kind` "listing" has no rows: it only leads to further requests (`Feed.follow`).
    """

    feed: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    """Query parameters in the publisher's order, already formatted; secrets are not among them."""
    days: tuple[date, ...] = ()
    """The market days (of the feed's `tz`) that the answer should hold; they also date bodies that carry no date."""
    zone: str | None = None
    """Where one answer holds one zone and its body does not say which."""
    part: str = ""
    """What distinguishes this request from others of the same day: a border's direction, a page, a product."""
    kind: Literal["rows", "listing"] = "rows"
    method: Literal["GET", "POST"] = "GET"
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    secrets: tuple[Secret, ...] = ()
    ext: str = "txt"
    """How the kept body's name ends: csv, json, xml, zip, xls, html."""
    nonce: tuple[str, ...] = ()
    """Parameters that only keep caches from answering: without them it is the same question."""
    once: bool = False
    """The answer never changes, as that of a file with a time stamp in its name: once kept it is not asked again."""


@dataclass(frozen=True, slots=True)
class Publication:
    """When a feed publishes its rows.

    If `daily_at` is null, publication is rolling: a row is published `lag_minutes` after its interval ends. Otherwise
    the whole market day D is published at `daily_at` on day D + `day_offset`. Data counts as late `grace_minutes` after
    that, and as down after four times as long, at least an hour.
    """

    lag_minutes: Annotated[int, Meta(description="Minutes from the end of an interval to its publication.")] = 0
    daily_at: Annotated[
        time | None,
        Meta(description="Time of day, in `tz`, when a whole day is published; null for rolling publication."),
    ] = None
    day_offset: Annotated[
        int, Meta(description="Day of publication relative to the market day: -1 for the day before.")
    ] = 0
    grace_minutes: Annotated[int, Meta(ge=0, description="Minutes after which data counts as late.")] = 30

    def out_at(self, day: MarketDay) -> int:
        """When a daily feed publishes a market day, Unix seconds, by the local clock of that day."""
        on = day.next(self.day_offset).day
        return int(datetime.combine(on, self.daily_at or time(), tzinfo=zone_of(day.tz)).timestamp())


Stamps = Literal["start", "end", "instant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One product of a publisher: which rows it carries, when, and how to ask for and read them.

    What it leaves out of zones, tz, stamps, since, resolution, rank, hub, origin and secrets is its `Source`'s.
    """

    id: str
    """`aemo.dispatch`: source code, dot, product."""
    title: str
    """A person's words for it: "NEM dispatch: regional price, demand and flows"."""
    zones: tuple[str, ...] = ()
    metrics: tuple[Metric | Forecast, ...]
    """What it owes: every one of them for every zone of `zones`, in every answer."""
    rank: int = 0
    """Within a (zone, metric): 1 is best, and the lower rank number is served."""
    resolution: str = ""
    """The resolution of rows published today; each row states its own."""
    stamps: Stamps | None = None
    """What the publisher's time stamps mean."""
    tz: str = ""
    """Where its market day lies."""
    since: date = date.max
    """The first market day that it ever published."""
    publication: Publication
    requests: Callable[[Sequence[MarketDay], int], list[Request]]
    """`requests(days, now)`: the questions for these market days (of `tz`) at the instant `now` (Unix seconds); one may
    cover many days. Pure. Only days within reach are asked for."""
    parse: Callable[[bytes, Request], Rows]
    """Every row that a body states, wherever it lies. Pure. Raises FeedError leaves, never anything else."""
    every_minutes: int
    """How often its schedule asks."""
    follow: Callable[[bytes, Request], list[Request]] | None = None
    """Further requests that an answer calls for: the files of a listing, the next page."""
    combine: Callable[[Rows], Rows] | None = None
    """Turns the rows of all answers of one run into canonical ones: both directions of a border into one net flow."""
    revised_days: int = 2
    """How many past days a scheduled run asks again, since the publisher revises them."""
    reach_days: int | None = None
    """How many days back it still answers; None: its whole history."""
    files: bool = False
    """Whether its answers are files that appear one by one: 404 then says that one is not there yet. Of an interface
    that answers questions, 404 is an outage.
    """
    zones_per_answer: Literal["all", "one"] = "all"
    optional_metrics: tuple[Metric | Forecast, ...] = ()
    """What only some of its files hold too: carried, ranked and catalogued like `metrics`, but never missed or late."""
    hub: str = ""
    """The node, hub or region of a price, in the publisher's spelling."""
    secrets: tuple[Secret, ...] = ()
    max_bytes: int = 64_000_000
    """A longer answer is refused."""
    withheld: bool = False
    """Whether its rows, unlike those of its source, are withheld until EMDS_REDISTRIBUTABLE_SOURCES names it."""
    origin: str = ""
    """Whose figures they are in the first place, by default its source: feeds of one origin fail together."""
    stands_in_for: str = ""
    """The feed that it replaces during an outage: asked once a day, and each hour while that feed is late."""
    version: str = "1"
    """The parser's version: raised when its rows change, so that Dagster shows old partitions as stale."""

    @property
    def source(self) -> str:
        return self.id.split(".", 1)[0]

    @property
    def ahead_days(self) -> int:
        """1 where tomorrow's market day is published today."""
        return max(0, -self.publication.day_offset)

    @property
    def newest_offset(self) -> int:
        """Days from today to the newest day that may be out: 1 for a day ahead, -5 for one published five days late."""
        return self.ahead_days - max(0, self.publication.day_offset)

    @property
    def yearly(self) -> bool:
        """Whether its partitions are calendar years (installed capacity)."""
        return all(define(metric).yearly for metric in self.metrics)

    @property
    def is_forecast(self) -> bool:
        """Whether all that it owes are vintages."""
        return all(define(metric).due == "vintages" for metric in self.metrics)

    def carries(self, metric: str) -> bool:
        """Whether its rows may hold a metric, owed or not."""
        return metric in self.metrics or metric in self.optional_metrics

    def out_of_reach(self, day: date, today: date) -> OutOfReach | None:
        """Why the publisher does not answer for `day`; None where it does."""
        if day < self.since:
            return OutOfReach(f"{self.id} starts on {self.since}")
        if self.reach_days is not None and (today - day).days > self.reach_days:
            return OutOfReach(f"{self.id} has data for the last {self.reach_days} days only")
        return None


@dataclass(frozen=True, slots=True)
class Source:
    """A publisher: whose figures they are, on what terms, how politely it is asked, and what its feeds share.

    zones, tz, stamps, since, resolution, rank, hub, origin and secrets hold for every feed that leaves them out.
    """

    code: str
    name: str
    homepage: str
    hosts: tuple[str, ...]
    """The hosts that its requests go to: redirects elsewhere are refused. The first names its pool in Dagster."""
    requests_per_minute: float
    licence: str
    licence_url: str
    attribution: str
    redistributable: Literal["yes", "no", "unclear"]
    """If `withheld` is set, "no" and "unclear" withhold rows until the operator names the source in the environment."""
    feeds: tuple[Feed, ...]
    withheld: bool = False
    """Whether its rows stay out of every answer until EMDS_REDISTRIBUTABLE_SOURCES names it."""
    zones: tuple[str, ...] = ()
    tz: str = ""
    stamps: Stamps = "start"
    since: date = date.max
    resolution: str = ""
    rank: int = 1
    hub: str = ""
    """Of the feeds that carry a price."""
    origin: str = ""
    secrets: tuple[Secret, ...] = ()
    endpoint_env: str = ""
    """The environment variable that may hold another address for all its requests; kept ones name the usual address."""
    min_interval_s: float = 0.0
    """Seconds between two requests to one host, where the publisher says so (CAISO OASIS: 5)."""
    user_agent: str = ""
    """Only where the publisher refuses unknown agents (aemo.com.au); else the service's own with a contact."""
    notes: tuple[str, ...] = field(default=())
    """What a reader of these figures must know: definitions, signs, what is left out."""

    def __post_init__(self) -> None:
        """Give every feed what it leaves to its source. Readings go first: a source that fails is left alone for a
        while, and no forecast may cost a reading its turn."""
        complete = map(self._complete, self.feeds)
        object.__setattr__(self, "feeds", tuple(sorted(complete, key=lambda feed: feed.is_forecast)))

    def _complete(self, feed: Feed) -> Feed:
        priced = any(map(feed.carries, (Metric.PRICE, Metric.PRICE_DAY_AHEAD, Forecast.PRICE)))
        return replace(
            feed,
            zones=feed.zones or self.zones,
            tz=feed.tz or self.tz,
            stamps=feed.stamps or self.stamps,
            since=self.since if feed.since == date.max else feed.since,
            revised_days=feed.revised_days if feed.reach_days is None else min(feed.revised_days, feed.reach_days),
            resolution=feed.resolution or self.resolution,
            rank=feed.rank or self.rank,
            hub=feed.hub or (self.hub if priced else ""),
            origin=feed.origin or self.origin or self.code,
            secrets=feed.secrets or self.secrets,
        )

    @property
    def required_env(self) -> tuple[str, ...]:
        """The environment variables of its feeds' secrets."""
        return tuple(dict.fromkeys(name for feed in self.feeds for secret in feed.secrets for name in secret.env))

    def feed(self, product: str) -> Feed:
        """The feed of that id or product name. Raises KeyError."""
        for feed in self.feeds:
            if product in (feed.id, feed.id.split(".", 1)[1]):
                return feed
        raise KeyError(product)


def request_window(days: Sequence[MarketDay]) -> Window:
    """From the start of the first day to the end of the last: what one request over contiguous days asks for."""
    return Window(min(d.start for d in days), max(d.end for d in days))
