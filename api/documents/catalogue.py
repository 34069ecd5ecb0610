"""The published catalogue, decoded once a publication: availability, feeds, licences, mode; and `/v1/zones` of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from api.documents.cache import Document, DocumentCache
from api.http.messages import Request, Response, View
from warehouse.errors import DamagedFile, MetricNotAvailable, StorageError, Withheld
from warehouse.market.metrics import Forecast, Metric, actual_of, forecast_of, is_forecast
from warehouse.market.zones import ZONES, zone, zones_with
from warehouse.store import layout

if TYPE_CHECKING:
    from api.access.gate import Entry
    from api.service import Service


class NoCatalogue(StorageError):
    """Nothing was ever published here."""


_ZONE_FIELDS = ("id", "name", "source", "tz", "market_tz", "currency", "license", "attribution")


@dataclass(frozen=True, slots=True)
class LicenceTerms:
    """Licence and attribution of the rows of an answer."""

    license: str
    attribution: str


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
    derived: dict[tuple[str, ...], Any] = field(default_factory=dict)
    """Values that others computed from this publication, cached as long as it is the newest."""

    def entry(self, zone_id: str, stored: str) -> Mapping[str, Any]:
        """What the catalogue says of a zone's stored metric; empty where no feed carries it."""
        part, name = ("forecasts", actual_of(stored)) if is_forecast(stored) else ("metrics", stored)
        metric: Mapping[str, Any] = self.zones.get(zone_id, {}).get(part, {}).get(name, {})
        return metric

    def terms(self, zone_id: str, stored: str, codes: frozenset[str]) -> LicenceTerms:
        """Licence and attribution of the rows' sources; of all sources of the metric where there are no rows."""
        if self.simulated or not codes:
            entry = self.entry(zone_id, stored)
            return LicenceTerms(entry.get("license", ""), entry.get("attribution", ""))
        carriers = [self.sources[code] for code in self.sources if code in codes]
        return LicenceTerms(
            "; ".join(dict.fromkeys(f"{s['name']}: {s['license']}" for s in carriers)),
            "; ".join(dict.fromkeys(s["attribution"] for s in carriers)),
        )


def parse(document: Document) -> Catalogue:
    """The catalogue of a document. Raises DamagedFile."""
    try:
        members = document.json
        feeds = members["feeds"]
        withheld = frozenset(feed for feed, member in feeds.items() if member["withheld"])
        ranks = {feed: member["rank"] for feed, member in feeds.items() if feed not in withheld}
        is_simulated = members["mode"] == "simulated"
        zones, sources = members["zones"], members["sources"]
        return Catalogue(document, members["generated"], zones, sources, feeds, is_simulated, withheld, ranks)
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(layout.published(document.name), f"is no catalogue ({error!r:.60})") from None


def current(documents: DocumentCache) -> Catalogue:
    """The newest catalogue. Raises NoCatalogue before the first start of the pipeline, and DamagedFile."""
    document = documents.get(layout.CATALOGUE)
    if document is None:
        raise NoCatalogue("no catalogue was published yet; `emds serve` and every other start of emds publishes it")
    catalogue: Catalogue = document.derive("catalogue as read", parse)
    return catalogue


def stored_metric(
    catalogue: Catalogue, zone_id: str, metric: Metric, day_ahead: bool = False, forecast: bool = False
) -> str:
    """The stored series behind a question. Raises UnknownZone, MetricNotAvailable, Withheld."""
    market = zone(zone_id)
    if metric not in market.metrics:
        raise MetricNotAvailable(zone_id, metric.value, zones_with(metric))
    stored: Metric | Forecast | None = market.day_ahead_metric if day_ahead else metric
    if forecast:
        stored = forecast_of(metric)
        having = tuple(z for z in ZONES if catalogue.entry(z, stored))
        if zone_id not in having:
            raise MetricNotAvailable(zone_id, f"{metric}?kind=forecast", having)
    if stored is None:
        raise MetricNotAvailable(
            zone_id, "price?market=day_ahead", tuple(z.id for z in ZONES.values() if z.day_ahead_metric)
        )
    feeds = catalogue.entry(zone_id, stored.value).get("feeds", [])
    if feeds and all(feed["withheld"] for feed in feeds):
        raise Withheld(zone_id, metric.value, tuple(dict.fromkeys(feed["source"] for feed in feeds)))
    return stored.value


def sources_of(feeds: Iterable[str]) -> frozenset[str]:
    """Return the codes of the sources of some feeds."""
    return frozenset(feed.partition(".")[0] for feed in feeds)


def zone_list(catalogue: Catalogue) -> dict[str, Any]:
    """The body of `/v1/zones`."""
    return {"zones": [{name: zone[name] for name in _ZONE_FIELDS} for zone in catalogue.zones.values()]}


def once_a_publication(entry: Entry, catalogue: Catalogue, name: str, build: Callable[[], dict[str, Any]]) -> Response:
    """The answer with a body that is computed once a publication of the catalogue, and once as a sample."""
    sample = {"sample": True} if entry.method == "sample" else {}

    def written(document: Document) -> Document:
        return Document(name, orjson.dumps(build() | sample), document.identity)

    body = catalogue.document.derive(f"{name}-sample" if sample else name, written)
    return entry.document(body, catalogue.simulated)


def _zones(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.gate.enter(request) as entry:
        catalogue = service.catalogue
        return once_a_publication(entry, catalogue, "zones", lambda: zone_list(catalogue))


VIEWS: dict[str, View] = {"zones": _zones}
