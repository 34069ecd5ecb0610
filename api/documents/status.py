"""Report the freshness of each source in each zone by its feeds' schedules, and serve `/metrics` and health checks."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector

from api.access.values import NO_STORE
from api.documents.catalogue_reader import Catalogue
from api.documents.document_cache import DocumentCache
from api.documents.machine_metrics import MachineMetrics
from api.http import responses
from api.http.document import Document
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.service import Service
from warehouse.documents import health
from warehouse.documents.catalogue_entries import CatalogueFeed
from warehouse.documents.health import Carrier, Health, HealthDocument
from warehouse.errors import DamagedFile, StorageError
from warehouse.market import clock
from warehouse.market.metrics import define
from warehouse.store import layout
from warehouse.version import __version__

_LOG = logging.getLogger("emds.api")
_UNREADABLE = "the record of this source's runs cannot be read; its next run writes it anew"
_TEXT = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
_JSON = ("Content-Type", "application/json")
_ROOT = Path(__file__).parents[2]
_GAUGES = (
    ("newest_row_end", "End of the newest interval of the feed in the zone."),
    ("expected_by", "When its next row is due, grace included."),
    ("last_success", "When a response last contained rows, or showed that there are none yet."),
)


def _status_view(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    with service.gate.enter(request) as entry:
        catalogue = service.documents.catalogue
        body = status(service.documents, catalogue, clock.now())
        return entry.json(body, catalogue.simulated, caching=responses.uncached())


def status(documents: DocumentCache, catalogue: Catalogue, now: int) -> dict[str, Any]:
    """Return, by source and zone, the time of the last success, the last error and the state at `now`."""
    known, unreadable = _healths(documents, catalogue)
    carriers: dict[tuple[str, str], list[CatalogueFeed]] = defaultdict(list)
    newest: dict[tuple[str, str], tuple[int, int, str]] = {}  # the feed that reaches furthest, by rank if several do
    for feed in catalogue.feeds.values():
        for zone in feed.zones:
            carriers[feed.source, zone].append(feed)
            own = known.get((feed.id, zone))
            for metric in feed.metrics if not feed.withheld else ():
                if own and (until := own.until(metric)):
                    if define(metric).due == "vintages":  # the best ranked serves up to the end of its newest vintage
                        until = min(until + feed.ahead_days * clock.DAY, now)
                    place = -until, feed.rank, feed.id
                    newest[zone, metric] = min(newest.get((zone, metric), place), place)
    serving = {pair: feed for pair, (_, _, feed) in newest.items()}
    return {
        "now": now,
        "sources": [
            _describe_source(source, zone, [(feed, known.get((feed.id, zone))) for feed in feeds], now, serving)
            | ({"last_error": _UNREADABLE} if source in unreadable else {})
            for (source, zone), feeds in sorted(carriers.items())
        ],
    }


def _healths(documents: DocumentCache, catalogue: Catalogue) -> tuple[dict[tuple[str, str], Health], set[str]]:
    """Return the known health by feed and zone, and the sources whose record cannot be read."""
    known: dict[tuple[str, str], Health] = {}
    unreadable = set[str]()
    for source in catalogue.sources:
        try:
            document = documents.get(layout.health(source))
            if document is not None:
                known |= document.derive("health", _by_feed_and_zone)
        except DamagedFile as fault:
            _LOG.error("%s", fault)
            unreadable.add(source)
    return known, unreadable


def _by_feed_and_zone(document: Document) -> dict[tuple[str, str], Health]:
    return {(one.feed, one.zone): one for one in document.decode(HealthDocument).feeds}


def _describe_source(
    source: str,
    zone: str,
    carriers: Sequence[tuple[CatalogueFeed, Health | None]],
    now: int,
    serving: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """Return the state of a source in a zone, which is that of its worst metric.

    Forecasts do not count, because clients that read actual values do not wait for them.
    """
    by_metric: dict[str, list[tuple[Carrier, Health | None]]] = defaultdict(list)
    for feed, own in carriers:
        for metric in feed.metrics:
            by_metric[metric].append((health.carrier(feed, configured=own is None or not own.unconfigured), own))
    standing = [
        health.standing(metric, known, now) for metric, known in by_metric.items() if define(metric).due != "vintages"
    ]
    healths = [own for _, own in carriers if own is not None]
    newest = max((h for h in healths if h.last_error), key=lambda h: h.last_error_at, default=None)
    errors = [f"{h.feed}: {h.last_error}" for h in healths if h.unknown_member or h is newest]
    return {
        "source": source,
        "zone": zone,
        "last_ok": max((h.last_ok for h in healths), default=0),
        "last_error": "; ".join(errors),
        "state": health.worst(s.state for s in standing),
        "expected_by": min((s.expected_by for s in standing if s.expected_by is not None), default=None),
        "served_by": {metric: serving[zone, metric] for metric in sorted(by_metric) if (zone, metric) in serving},
    }


class _Feeds(Collector):
    """The freshness by feed and zone, in Unix seconds. A feed that never returned rows has no line."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("emds_build", "Version and build.", {"version": __version__, "build": _build()})
        gauges = [GaugeMetricFamily(f"emds_feed_{n}_timestamp_seconds", w, labels=["feed", "zone"]) for n, w in _GAUGES]
        with suppress(StorageError):  # the counts do not need the warehouse
            feeds = self._service.documents.catalogue.feeds
            for (feed, zone), own in _healths(self._service.documents, self._service.documents.catalogue)[0].items():
                if feed not in feeds:
                    continue
                due = health.due([health.carrier(feeds[feed], configured=True)], own.whole_until)
                instants = own.data_until, due.at if due and own.whole_until else 0, own.last_ok
                for gauge, instant in zip(gauges, instants, strict=True):
                    if instant:
                        gauge.add_metric([feed, zone], instant)
        yield from gauges


@cache
def _build() -> str:
    """Return a hash of the running code. Hosts that run the same code return the same hash."""
    files = sorted(file for room in ("api", "warehouse") for file in (_ROOT / room).rglob("*.py"))
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()


def _metrics(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    token = service.settings.metrics_token
    scheme, _, token_sent = request.header("HTTP_AUTHORIZATION").partition(" ")
    if not token or scheme.lower() != "bearer" or not hmac.compare_digest(token_sent.strip().encode(), token.encode()):
        raise Problem(
            "invalid-key",
            "/metrics requires EMDS_METRICS_TOKEN as a bearer token. Send Authorization: Bearer <token>.",
            headers=[("WWW-Authenticate", "Bearer")],
        )
    counts = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        counts = CollectorRegistry()
        multiprocess.MultiProcessCollector(counts)  # type: ignore[no-untyped-call]
    feeds = CollectorRegistry()
    feeds.register(_Feeds(service))
    feeds.register(MachineMetrics(service))
    return Response(200, [NO_STORE, _TEXT], generate_latest(counts) + generate_latest(feeds))


def _healthz(_service: Service, _request: HttpRequest, _query: QueryValues) -> Response:
    return Response(200, [NO_STORE, _JSON], b'{"status":"ok"}')


def _readyz(service: Service, _request: HttpRequest, _query: QueryValues) -> Response:
    body = orjson.dumps({"status": "ready", "catalogue": service.documents.catalogue.generated})
    return Response(200, [NO_STORE, _JSON], body)


VIEWS: dict[str, View] = {"status": _status_view, "healthz": _healthz, "readyz": _readyz, "metrics": _metrics}
