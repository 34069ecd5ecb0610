"""Read the catalogue as this worker caches it: zones, sources, feeds, licences and withheld feeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict, replace

from api.http.document import Document
from warehouse.documents.catalogue_entries import (
    CatalogueFeed,
    CatalogueSeries,
    CatalogueSource,
    CatalogueZone,
    FillProgress,
    PublishedCatalogue,
)
from warehouse.errors import MetricNotAvailable, StorageError, Withheld
from warehouse.market import carbon
from warehouse.market.vocabulary import Forecast, Metric, actual_of, forecast_of, is_forecast
from warehouse.market.zones import ZONES, zone, zones_with

_STORED = frozenset[str]([*Metric, *Forecast])


class NoCatalogue(StorageError):
    """The catalogue was never published in this warehouse."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A publication of the catalogue."""

    document: Document
    generated: int
    zones: Mapping[str, CatalogueZone]
    """The zones that this process covers. A pipeline with more zones may have added others."""
    sources: Mapping[str, CatalogueSource]
    feeds: Mapping[str, CatalogueFeed]
    """The feeds with the metrics that this release knows. A newer one may have added others."""
    simulated: bool
    withheld: frozenset[str]
    """The ids of the feeds whose rows are never served."""
    ranks: Mapping[str, int]
    """The rank of every feed that may be served."""
    filling: Mapping[str, FillProgress]
    """The progress of the first fill by incomplete zone, and under the empty name of all. Empty after the fill."""

    @classmethod
    def parse(cls, document: Document) -> Catalogue:
        """Return the catalogue in a document. Raises DamagedFile."""
        of = document.decode(PublishedCatalogue)
        withheld = of.withheld
        feeds = {
            name: replace(feed, metrics=tuple(metric for metric in feed.metrics if metric in _STORED))
            for name, feed in of.feeds.items()
        }
        ranks = {feed.id: feed.rank for feed in feeds.values() if feed.id not in withheld}
        filling = {"": FillProgress(of.filling.done, of.filling.of), **of.filling.zones} if of.filling else {}
        zones = {zone: entry for zone, entry in of.zones.items() if zone in ZONES}
        return cls(document, of.generated, zones, of.sources, feeds, of.simulated, withheld, ranks, filling)

    def entry(self, zone_id: str, stored: str) -> CatalogueSeries | None:
        """Return the entry of a zone's stored metric, None if no feed provides it."""
        of_zone = self.zones.get(zone_id)
        if of_zone is None:
            return None
        return of_zone.forecasts.get(actual_of(stored)) if is_forecast(stored) else of_zone.metrics.get(stored)

    def progress_of(self, zone_id: str) -> dict[str, Any]:
        """Return the field `filling` of a response about a zone that the first fill has not completed, else {}."""
        return {"filling": asdict(self.filling[zone_id])} if zone_id in self.filling else {}

    def served_feeds(self, zone_id: str, stored: str) -> list[CatalogueFeed]:
        """Return the feeds that provide a zone's stored metric and may be served, in rank order."""
        series = self.entry(zone_id, stored)
        return [self.feeds[feed.id] for feed in series.served_feeds] if series else []

    def require_carried(self, zone_id: str, stored: str, name: str) -> None:
        """Raise MetricNotAvailable if no feed provides a zone's stored metric."""
        having = tuple(z for z in ZONES if self.entry(z, stored))
        if zone_id not in having:
            raise MetricNotAvailable(zone_id, name, having)

    def require_rights(self, zone_id: str, stored: str, name: str) -> None:
        """Raise Withheld if no feed of a zone's stored metric may be redistributed."""
        series = self.entry(zone_id, stored)
        if series and series.feeds and not series.served_feeds:
            raise Withheld(zone_id, name, tuple(dict.fromkeys(feed.source for feed in series.feeds)))

    def terms(self, zone_id: str, stored: str, codes: frozenset[str], factors: Iterable[str] = ()) -> dict[str, str]:
        """Return {license, attribution} of the sources `codes`, or of all sources of the metric if there are no rows.

        Estimates also credit the sets in `factors`, by default the current set.
        """
        if self.simulated or not codes:
            series = self.entry(zone_id, stored)
            return {
                "license": series.license if series else "",
                "attribution": series.attribution if series else "",
            }
        carriers = [self.sources[code] for code in self.sources if code in codes]
        attribution = "; ".join(dict.fromkeys(s.attribution for s in carriers))
        if stored == Metric.CARBON_ESTIMATE:
            attribution = carbon.credit(attribution, factors or (carbon.CURRENT_SET,))
        return {
            "license": "; ".join(dict.fromkeys(f"{s.name}: {s.license}" for s in carriers)),
            "attribution": attribution,
        }


def stored_metric(
    catalogue: Catalogue,
    zone_id: str,
    metric: Metric,
    day_ahead: bool = False,
    forecast: bool = False,
    estimate: bool = False,
) -> str:
    """Return the name of the stored series that a request needs. Raises UnknownZone, MetricNotAvailable and Withheld.

    `estimate` selects the estimate of carbon intensity, even if an operator publishes the metric.
    """
    market = zone(zone_id)
    if metric not in market.metrics:
        raise MetricNotAvailable(zone_id, metric.value, zones_with(metric))
    series = market.carbon_metric if metric is Metric.CARBON and not estimate else metric
    stored: Metric | Forecast | None = market.day_ahead_metric if day_ahead else series
    if estimate:
        stored = Metric.CARBON_ESTIMATE
    elif forecast:
        catalogue.require_carried(zone_id, forecast_of(metric), f"{metric}?kind=forecast")
        stored = forecast_of(series)
    if stored is None:
        raise MetricNotAvailable(
            zone_id, "price?market=day_ahead", tuple(z.id for z in ZONES.values() if z.day_ahead_metric)
        )
    catalogue.require_rights(zone_id, stored, metric)
    return stored.value


def sources_of(feeds: Iterable[str]) -> frozenset[str]:
    """Return the codes of the sources of some feeds."""
    return frozenset(feed.partition(".")[0] for feed in feeds)
