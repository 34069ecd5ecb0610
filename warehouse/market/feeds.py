"""Define sources and their feeds as values. No network, no files, no clock.

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
    """The source of some rows and the terms for using them. Fields have the names of the API's responses."""

    source: str
    license: str
    attribution: str


def join_terms(terms: Iterable[Terms]) -> Terms:
    """Return the joint terms of several sources, each text once."""
    each = [*terms]
    return Terms(
        ", ".join(dict.fromkeys(one.source for one in each)),
        "; ".join(dict.fromkeys(one.license for one in each)),
        "; ".join(dict.fromkeys(one.attribution for one in each)),
    )


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential that the live transport adds to an outgoing request; stored URLs never contain it."""

    where: Literal["query", "header", "basic", "ercot", "entsoe_files"]
    """`basic`: HTTP Basic of two variables; `ercot`, `entsoe_files`: a bearer token obtained with user and password."""
    name: str
    """The parameter or header, such as `securityToken`; empty for `basic` and `ercot`."""
    env: tuple[str, ...]
    """The environment variables that contain it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a publisher, as plain values: it can be stored beside its response and repeated.

    `kind` "listing" has no rows: it only leads to further requests (`Feed.follow`).
    """

    feed: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    """Query parameters in the publisher's order, already formatted, without secrets."""
    days: tuple[date, ...] = ()
    """The expected market days of the response, in the feed's `tz`; they also date bodies without a date."""
    zone: str | None = None
    """The zone of the response, if it covers one zone that its body does not name."""
    part: str = ""
    """The difference from other requests of the same day: a border's direction, a page, a product."""
    kind: Literal["rows", "listing"] = "rows"
    method: Literal["GET", "POST"] = "GET"
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    secrets: tuple[Secret, ...] = ()
    ext: str = "txt"
    """The file extension of the stored body: csv, json, xml, zip, xls, html."""
    nonce: tuple[str, ...] = ()
    """Parameters that only avoid cached responses: without them it is the same request."""
    once: bool = False
    """Whether the response never changes, like a file with a time stamp in its name; it is fetched only once."""


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
        """Return when a daily feed publishes a market day, in Unix seconds, by the local clock of that day."""
        on = day.next(self.day_offset).day
        return int(datetime.combine(on, self.daily_at or time(), tzinfo=zone_of(day.tz)).timestamp())


Stamps = Literal["start", "end", "instant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One product of a publisher: its rows, its schedule, and how to fetch and parse them.

    If it leaves out zones, tz, stamps, since, resolution, rank, hub, origin or secrets, its `Source` provides them.
    """

    id: str
    """`aemo.dispatch`: source code, dot, product."""
    title: str
    """A title for people: "NEM dispatch: regional price, demand and flows"."""
    zones: tuple[str, ...] = ()
    metrics: tuple[Metric | Forecast, ...]
    """The metrics that are due: each of them for every zone of `zones`, in every response."""
    rank: int = 0
    """Rank within a (zone, metric): 1 is best, and the lower rank number is served."""
    resolution: str = ""
    """The resolution of rows published today; each row states its own."""
    stamps: Stamps | None = None
    """The meaning of the publisher's time stamps."""
    tz: str = ""
    """The time zone of its market day."""
    since: date = date.max
    """The first market day that it ever published."""
    publication: Publication
    requests: Callable[[Sequence[MarketDay], int], list[Request]]
    """`requests(days, now)` returns the requests for these market days (of `tz`) at the time `now` (Unix seconds).

    A request may cover many days. Pure. Only days in range are requested.
    """
    parse: Callable[[bytes, Request], Rows]
    """Returns every row that a body contains. Pure. Raises only leaves of FeedError."""
    every_minutes: int
    """The interval of its schedule."""
    follow: Callable[[bytes, Request], list[Request]] | None = None
    """Returns the further requests that a response requires: the files of a listing, the next page."""
    combine: Callable[[Rows], Rows] | None = None
    """Converts the rows of a run's responses to canonical rows: both directions of a border to one net flow."""
    revised_days: int = 2
    """Number of past days that a scheduled run fetches again, since the publisher revises them."""
    reach_days: int | None = None
    """Number of past days that the publisher still serves; None for its whole history."""
    files: bool = False
    """Whether its responses are files that appear one by one, so that 404 means that a file is not there yet.

    For a query interface, 404 is an outage.
    """
    zones_per_answer: Literal["all", "one"] = "all"
    optional_metrics: tuple[Metric | Forecast, ...] = ()
    """Metrics that only some of its files contain: ranked and catalogued like `metrics`, but never missing or late."""
    hub: str = ""
    """The node, hub or region of a price, in the publisher's spelling."""
    secrets: tuple[Secret, ...] = ()
    max_bytes: int = 64_000_000
    """A longer response is refused."""
    withheld: bool = False
    """Whether its rows, unlike those of its source, are withheld until EMDS_REDISTRIBUTABLE_SOURCES names it."""
    origin: str = ""
    """The original publisher of its data, by default its source: feeds of one origin fail together."""
    stands_in_for: str = ""
    """The feed for which it is a fallback: fetched once a day, and each hour while that feed is late."""
    version: str = "1"
    """The parser's version: raised when its rows change, so that Dagster shows old partitions as stale."""

    @property
    def source(self) -> str:
        return self.id.split(".", 1)[0]

    @property
    def ahead_days(self) -> int:
        """Return 1 if tomorrow's market day is published today, else 0."""
        return max(0, -self.publication.day_offset)

    @property
    def newest_offset(self) -> int:
        """Return the days from today to the newest published day: 1 for a day ahead, -5 if published five days late."""
        return self.ahead_days - max(0, self.publication.day_offset)

    @property
    def yearly(self) -> bool:
        """Return whether its partitions are calendar years (installed capacity)."""
        return all(define(metric).yearly for metric in self.metrics)

    @property
    def is_forecast(self) -> bool:
        """Return whether all its due data is vintages."""
        return all(define(metric).due == "vintages" for metric in self.metrics)

    def carries(self, metric: str) -> bool:
        """Return whether its rows may contain a metric, due or not."""
        return metric in self.metrics or metric in self.optional_metrics

    def out_of_reach(self, day: date, today: date) -> OutOfReach | None:
        """Return why the publisher does not serve `day`; None if it does."""
        if day < self.since:
            return OutOfReach(f"{self.id} starts on {self.since}")
        if self.reach_days is not None and (today - day).days > self.reach_days:
            return OutOfReach(f"{self.id} has data for the last {self.reach_days} days only")
        return None


@dataclass(frozen=True, slots=True)
class Source:
    """A publisher: its data, its terms, its rate limit, and what its feeds share.

    zones, tz, stamps, since, resolution, rank, hub, origin and secrets apply to every feed that leaves them out.
    """

    code: str
    name: str
    homepage: str
    hosts: tuple[str, ...]
    """The hosts of its requests; redirects to other hosts are refused. The first names its pool in Dagster."""
    requests_per_minute: float
    licence: str
    licence_url: str
    attribution: str
    redistributable: Literal["yes", "no", "unclear"]
    """If `withheld` is set, "no" and "unclear" withhold rows until the operator names the source in the environment."""
    feeds: tuple[Feed, ...]
    withheld: bool = False
    """Whether its rows are left out of every response until EMDS_REDISTRIBUTABLE_SOURCES names it."""
    zones: tuple[str, ...] = ()
    tz: str = ""
    stamps: Stamps = "start"
    since: date = date.max
    resolution: str = ""
    rank: int = 1
    hub: str = ""
    """For the feeds that carry a price."""
    origin: str = ""
    secrets: tuple[Secret, ...] = ()
    endpoint_env: str = ""
    """The environment variable that may set another URL for all its requests; stored requests keep the usual URL.
    """
    min_interval_s: float = 0.0
    """Seconds between two requests to a host, if the publisher requires them (CAISO OASIS: 5)."""
    user_agent: str = ""
    """Only if the publisher rejects unknown agents (aemo.com.au); else the service's own with a contact."""
    notes: tuple[str, ...] = field(default=())
    """Facts that readers of the data need: definitions, signs, what is left out."""

    def __post_init__(self) -> None:
        """Give every feed what it leaves to its source, and put actual values before forecasts.

        A source that fails is paused, and a forecast must not cost an actual value its rate-limit slot.
        """
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
        """Return the environment variables of its feeds' secrets."""
        return tuple(dict.fromkeys(name for feed in self.feeds for secret in feed.secrets for name in secret.env))

    def feed(self, product: str) -> Feed:
        """Return the feed with that ID or product name. Raises KeyError."""
        for feed in self.feeds:
            if product in (feed.id, feed.id.split(".", 1)[1]):
                return feed
        raise KeyError(product)


def request_window(days: Sequence[MarketDay]) -> Window:
    """Return the window of one request over contiguous days: from the start of the first to the end of the last."""
    return Window(min(d.start for d in days), max(d.end for d in days))
