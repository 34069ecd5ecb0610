"""Define the catalogue as a typed document: its zones, their series, the sources and the feeds.

The pipeline writes it, the API reads it, and OpenAPI takes its descriptions from this file. A field with `UNSET` as its
default is absent unless it applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from warehouse.market.clock import DAY
from warehouse.market.feeds import Publication
from warehouse.market.field_types import (
    ATTRIBUTION,
    LICENCE,
    UNIT,
    Basis,
    Count,
    FileMetric,
    Instant,
    MetricName,
    Permission,
    Resolution,
    ZoneId,
)
from warehouse.market.vocabulary import Forecast, actual_of


class CarryingFeed(Struct, frozen=True):
    """A feed that provides a series."""

    id: Annotated[str, Meta(description="Feed ID.")]
    source: Annotated[str, Meta(description="Source code.")]
    origin: Annotated[
        str, Meta(description="Original publisher of the data. Feeds with the same origin fail together.")
    ]
    rank: Annotated[Count, Meta(description="Rank; 1 is served first.")]
    resolution: Annotated[Resolution, Meta(description="Length of the interval.")]
    withheld: Annotated[bool, Meta(description="Whether the data is excluded from every response.")]


class CatalogueSeries(Struct, frozen=True):
    """A series of a zone: its unit, its feeds, its terms and the period that is stored."""

    unit: Annotated[str, UNIT]
    resolution: Annotated[Resolution | None, Meta(description="Length of the intervals of the first feed.")]
    market: Annotated[str, Meta(description="Hub or region and market of a price; empty for other metrics.")]
    hub: Annotated[str, Meta(description="Node, hub or region of a price; empty for other metrics.")]
    feeds: Annotated[tuple[CarryingFeed, ...], Meta(description="Feeds that provide the series, in rank order.")]
    independent_origins: Annotated[Count, Meta(description="Number of independent origins that may be redistributed.")]
    source: Annotated[str, Meta(description="Names of the publishers whose rows may be served.")]
    license: Annotated[str, LICENCE]
    attribution: Annotated[str, ATTRIBUTION]
    redistributable: Annotated[Permission, Meta(description="Whether the terms allow redistribution.")]
    first: Annotated[Instant | None, Meta(description="`ts` of the first row; null without rows.")]
    last: Annotated[Instant | None, Meta(description="`ts` of the last row; null without rows.")]
    rows: Annotated[Count, Meta(description="Number of rows stored.")]
    same_as: Annotated[FileMetric | UnsetType, Meta(description="Stored metric that has this second name.")] = UNSET
    basis: Annotated[
        Basis | UnsetType, Meta(description="For carbon intensity: whether it is published or an estimate.")
    ] = UNSET
    includes_imports: Annotated[
        bool | UnsetType, Meta(description="For carbon intensity: whether electricity from other zones counts.")
    ] = UNSET
    borders_without_data: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="For interchange: neighbours that report no data while other borders do."),
    ] = UNSET

    @property
    def served_feeds(self) -> list[CarryingFeed]:
        """Return the feeds whose rows may be served."""
        return [feed for feed in self.feeds if not feed.withheld]


class CatalogueZone(Struct, frozen=True):
    """A zone with its series."""

    id: Annotated[ZoneId, Meta(description="Zone ID.")]
    name: Annotated[str, Meta(description="Display name.")]
    source: Annotated[str, Meta(description="Names of the publishers that carry the zone.")]
    tz: Annotated[str, Meta(description="Civil time zone of the zone (IANA).")]
    market_tz: Annotated[str, Meta(description="Time zone of the market (IANA). Market days follow it.")]
    currency: Annotated[str, Meta(description="ISO 4217 code of the zone's prices.", pattern="^[A-Z]{3}$")]
    license: Annotated[str, LICENCE]
    attribution: Annotated[str, ATTRIBUTION]
    headline: Annotated[str, Meta(description="What `price` is: hub or region, and market.")]
    day_ahead: Annotated[str, Meta(description="What `price?market=day_ahead` is; empty if there is none.")]
    day_ahead_metric: Annotated[
        str | None, Meta(description="The stored metric of the day-ahead price; null if there is none.")
    ]
    metrics: Annotated[Mapping[FileMetric, CatalogueSeries], Meta(description="The series by metric.")]
    forecasts: Annotated[
        Mapping[MetricName, CatalogueSeries],
        Meta(description="The publishers' forecasts (`kind=forecast`), in the same form."),
    ]

    @property
    def feeds_of_share(self) -> Mapping[Forecast, Sequence[CarryingFeed]]:
        """Return the feeds of the forecasts of mix and demand by publishers with both, empty if there are none."""
        series = {of: self.forecasts.get(actual_of(of)) for of in (Forecast.MIX, Forecast.DEMAND)}
        feeds = {of: () if own is None else own.feeds for of, own in series.items()}
        both = set.intersection(*({feed.source for feed in own} for own in feeds.values()))
        return {of: [feed for feed in own if feed.source in both] for of, own in feeds.items()} if both else {}


class CatalogueSource(Struct, frozen=True):
    """A publisher and its terms."""

    code: Annotated[str, Meta(description="Source code.")]
    name: Annotated[str, Meta(description="Display name.")]
    homepage: Annotated[str, Meta(description="Website of the publisher.")]
    license: Annotated[str, Meta(description="Licence, or a summary of the terms.")]
    license_url: Annotated[str, Meta(description="URL of the terms.")]
    attribution: Annotated[str, ATTRIBUTION]
    redistributable: Annotated[Permission, Meta(description="Whether the terms allow redistribution.")]
    withheld: Annotated[bool, Meta(description="Whether the data is excluded from every response.")]
    configured: Annotated[bool, Meta(description="Whether the required credentials are set.")]
    required_env: Annotated[tuple[str, ...], Meta(description="Environment variables for the credentials.")]
    notes: Annotated[tuple[str, ...], Meta(description="Notes on interpreting the data.")]


class CatalogueFeed(Struct, frozen=True):
    """A product of a source, and its schedule."""

    id: Annotated[str, Meta(description="Feed ID.")]
    source: Annotated[str, Meta(description="Source code.")]
    title: Annotated[str, Meta(description="What the feed is, in one sentence.")]
    zones: Annotated[tuple[ZoneId, ...], Meta(description="Zones that the feed covers.")]
    metrics: Annotated[tuple[str, ...], Meta(description="Stored metrics of the feed, including forecasts.")]
    rank: Annotated[Count, Meta(description="Rank; 1 is served first.")]
    resolution: Annotated[Resolution, Meta(description="Length of the interval.")]
    tz: Annotated[str, Meta(description="Time zone of the market day (IANA).")]
    every_minutes: Annotated[Count, Meta(description="Minutes between two scheduled runs.")]
    since: Annotated[date, Meta(description="First market day published.")]
    ahead_days: Annotated[Count, Meta(description="1 if tomorrow's data is published today.")]
    reach_days: Annotated[Count | None, Meta(description="Number of past days available; null for all.")]
    hub: Annotated[str, Meta(description="Node, hub or region of a price; empty for other metrics.")]
    withheld: Annotated[bool, Meta(description="Whether the data is excluded from every response.")]
    yearly: Annotated[bool, Meta(description="Whether rows cover years.")]
    publication: Annotated[Publication, Meta(description="Publication schedule.")]

    @property
    def step_s(self) -> int:
        """Return the seconds from one publication to the next: a day for daily feeds."""
        return 60 * self.every_minutes if self.publication.daily_at is None else DAY


class FillProgress(Struct, frozen=True):
    """Progress of a first fill."""

    done: Annotated[Count, Meta(description="Completed runs; a run fetches up to a month of one feed.")]
    of: Annotated[Count, Meta(description="Runs of the first fill.")]


class Filling(Struct, frozen=True):
    """Progress of a first fill, in total and for each incomplete zone."""

    done: Annotated[Count, Meta(description="Completed runs.")]
    of: Annotated[Count, Meta(description="Runs of the first fill.")]
    zones: Annotated[Mapping[ZoneId, FillProgress], Meta(description="By zone that is not complete yet.")]


class PublishedCatalogue(Struct, frozen=True):
    """All stored series with their publishers and schedules."""

    generated: Annotated[Instant, Meta(description="Time when the document was built, Unix seconds.")]
    mode: Annotated[
        str,
        Meta(
            description="`simulated`, `live` or `recorded`.",
            extra_json_schema={"enum": ["simulated", "live", "recorded"]},
        ),
    ]
    zones: Annotated[Mapping[ZoneId, CatalogueZone], Meta(description="Available data by zone.")]
    sources: Annotated[Mapping[str, CatalogueSource], Meta(description="The publishers by code.")]
    feeds: Annotated[Mapping[str, CatalogueFeed], Meta(description="The feeds by ID.")]
    filling: Annotated[Filling | UnsetType, Meta(description="Present only during the first fill: its progress.")] = (
        UNSET
    )

    @property
    def simulated(self) -> bool:
        """Return whether the rows are simulated, not market data."""
        return self.mode == "simulated"

    @property
    def withheld(self) -> frozenset[str]:
        """Return the IDs of the feeds whose rows are never served."""
        return frozenset(feed.id for feed in self.feeds.values() if feed.withheld)
