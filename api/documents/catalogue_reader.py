"""The catalogue as this worker holds it: what there is, from which feeds, under which licences; what is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.http.document import Document
from warehouse.errors import DamagedFile, MetricNotAvailable, StorageError, Withheld
from warehouse.market import carbon
from warehouse.market.vocabulary import Forecast, Metric, actual_of, forecast_of, is_forecast
from warehouse.market.zones import ZONES, zone, zones_with
from warehouse.store import layout


class NoCatalogue(StorageError):
    """Nothing was ever published here."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One publication of the catalogue."""

    document: Document
    generated: int
    zones: Mapping[str, Any]
    sources: Mapping[str, Any]
    feeds: Mapping[str, Any]
    simulated: bool
    withheld: frozenset[str]
    """Ids of the feeds whose rows are never served."""
    ranks: Mapping[str, int]
    """Rank of every feed that may be served."""

    @classmethod
    def parse(cls, document: Document) -> Catalogue:
        """The catalogue of a document. Raises DamagedFile."""
        try:
            members = document.json
            feeds = members["feeds"]
            withheld = frozenset(feed for feed, member in feeds.items() if member["withheld"])
            ranks = {feed: member["rank"] for feed, member in feeds.items() if feed not in withheld}
            is_simulated = members["mode"] == "simulated"
            zones, sources = members["zones"], members["sources"]
            return cls(document, members["generated"], zones, sources, feeds, is_simulated, withheld, ranks)
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedFile(layout.published(document.name), f"is no catalogue ({error!r:.60})") from None

    def entry(self, zone_id: str, stored: str) -> Mapping[str, Any]:
        """What the catalogue says of a zone's stored metric; empty where no feed carries it."""
        part, name = ("forecasts", actual_of(stored)) if is_forecast(stored) else ("metrics", stored)
        metric: Mapping[str, Any] = self.zones.get(zone_id, {}).get(part, {}).get(name, {})
        return metric

    def require_carried(self, zone_id: str, stored: str, name: str) -> None:
        """Raises MetricNotAvailable where no feed carries a zone's stored metric."""
        having = tuple(z for z in ZONES if self.entry(z, stored))
        if zone_id not in having:
            raise MetricNotAvailable(zone_id, name, having)

    def require_rights(self, zone_id: str, stored: str, name: str) -> None:
        """Raises Withheld where no feed of a zone's stored metric may be passed on."""
        feeds = self.entry(zone_id, stored).get("feeds", [])
        if feeds and all(feed["withheld"] for feed in feeds):
            raise Withheld(zone_id, name, tuple(dict.fromkeys(feed["source"] for feed in feeds)))

    def terms(self, zone_id: str, stored: str, codes: frozenset[str], factors: Iterable[str] = ()) -> dict[str, str]:
        """{license, attribution} of the rows' sources; of all sources of the metric where there are no rows.

        Estimates name the sets of `factors` too, by default the current one.
        """
        if self.simulated or not codes:
            entry = self.entry(zone_id, stored)
            return {name: entry.get(name, "") for name in ("license", "attribution")}
        carriers = [self.sources[code] for code in self.sources if code in codes]
        attribution = "; ".join(dict.fromkeys(s["attribution"] for s in carriers))
        if stored == Metric.CARBON_ESTIMATE:
            attribution = carbon.credit(attribution, factors or (carbon.CURRENT_SET,))
        return {
            "license": "; ".join(dict.fromkeys(f"{s['name']}: {s['license']}" for s in carriers)),
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
    """The stored series behind a question. Raises UnknownZone, MetricNotAvailable, Withheld.

    `estimate`: the estimate of carbon intensity, also where an operator publishes one.
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
