"""Published documents as this worker holds them: read, decoded and compressed once a publication.

The catalogue among them says what there is: availability, feeds, licences, mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import orjson

from api.http.problems import Problem
from api.http.responses import pack_well, tag_of
from warehouse.errors import DamagedFile, MetricNotAvailable, StorageError, Withheld
from warehouse.market.vocabulary import Forecast, Metric, actual_of, forecast_of, is_forecast
from warehouse.market.zones import ZONES, zone, zones_with
from warehouse.store import artefact, layout
from warehouse.store.storage import Identity, Storage


@dataclass(slots=True)
class Document:
    """One document of one publication."""

    name: str
    body: bytes
    identity: Identity
    trusted_until: float = 0.0
    """The instant (monotonic) until which nobody looks whether there is a newer one."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
    """What was computed from this publication: its decoded JSON, its body in a content coding, its sample form."""
    lock: RLock = field(default_factory=RLock, compare=False, repr=False)
    """Held while something is computed, so that threads that need the same compute it once; reentrant."""

    @property
    def tag(self) -> str:
        """A name for the bytes: equal on every worker and host."""
        tag: str = self.derive("tag", lambda document: tag_of(document.body))
        return tag

    def coded(self, coding: str) -> bytes:
        """The body in a content coding, `identity` included."""
        if coding == "identity":
            return self.body
        packed: bytes = self.derive(coding, lambda document: pack_well(document.body, coding))
        return packed

    def derive(self, key: Hashable, compute: Callable[[Document], Any]) -> Any:
        """What `compute` gives from this document, once a publication."""
        if key not in self.derived:
            with self.lock:
                if key not in self.derived:
                    self.derived[key] = compute(self)
        return self.derived[key]

    def render(self, name: str, build: Callable[[], str | dict[str, Any]]) -> Document:
        """The document, a text or JSON, that `build` gives from this one, made once a publication."""

        def rendered(_: Document) -> Document:
            content = build()
            body = content.encode() if isinstance(content, str) else orjson.dumps(content)
            return Document(name, body, self.identity)

        document: Document = self.derive(name, rendered)
        return document

    @property
    def json(self) -> Any:
        """The decoded document, a JSON object; not to be changed. Raises DamagedFile."""
        return self.derive("json", Document._decoded)

    def _decoded(self) -> dict[str, Any]:
        with suppress(orjson.JSONDecodeError):
            if isinstance(members := orjson.loads(self.body), dict):
                return members
        raise DamagedFile(layout.published(self.name), "is no JSON object")


class DocumentCache:
    """The newest publication of each document in use, looked for again when `ttl_s` seconds have passed.

    Looking is a system call, for which a thread gives up Python's global lock and queues for it again.
    """

    def __init__(self, storage: Storage, ttl_s: float = 0.0) -> None:
        self.storage = storage
        self._ttl_s = ttl_s
        self._documents: dict[str, Document] = {}

    def get(self, name: str) -> Document | None:
        """The document as it is stored now; None where it was never published."""
        cached, now = self._documents.get(name), time.monotonic()
        if cached is not None and now < cached.trusted_until:
            return cached
        identity = artefact.identity(self.storage, name)
        if cached is not None and cached.identity == identity:
            cached.trusted_until = now + self._ttl_s
            return cached
        published = artefact.get(self.storage, name)
        if published is None:
            return None
        fresh = self._documents[name] = Document(name, published.body, published.identity)
        return fresh

    def require(self, name: str) -> Document:
        """The document as it is stored now. Raises Problem 503 where it was never published."""
        published = self.get(name)
        if published is None:
            detail = f"{name.removesuffix('.json')} does not exist yet: nothing has been published for it so far."
            raise Problem("not-yet-available", detail, headers=[("Retry-After", "60")])
        return published

    @property
    def catalogue(self) -> Catalogue:
        """The newest catalogue. Raises NoCatalogue before the first start of the pipeline, and DamagedFile."""
        document = self.get(layout.CATALOGUE)
        if document is None:
            raise NoCatalogue("no catalogue was published yet; `emds serve` and every other start of emds publishes it")
        catalogue: Catalogue = document.derive("catalogue as read", Catalogue.parse)
        return catalogue


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

    def terms(self, zone_id: str, stored: str, codes: frozenset[str]) -> dict[str, str]:
        """{license, attribution} of the rows' sources; of all sources of the metric where there are no rows."""
        if self.simulated or not codes:
            entry = self.entry(zone_id, stored)
            return {name: entry.get(name, "") for name in ("license", "attribution")}
        carriers = [self.sources[code] for code in self.sources if code in codes]
        return {
            "license": "; ".join(dict.fromkeys(f"{s['name']}: {s['license']}" for s in carriers)),
            "attribution": "; ".join(dict.fromkeys(s["attribution"] for s in carriers)),
        }


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
        catalogue.require_carried(zone_id, stored, f"{metric}?kind=forecast")
    if stored is None:
        raise MetricNotAvailable(
            zone_id, "price?market=day_ahead", tuple(z.id for z in ZONES.values() if z.day_ahead_metric)
        )
    catalogue.require_rights(zone_id, stored, metric)
    return stored.value


def sources_of(feeds: Iterable[str]) -> frozenset[str]:
    """Return the codes of the sources of some feeds."""
    return frozenset(feed.partition(".")[0] for feed in feeds)
