"""Whether this process runs and can read its warehouse; and `/metrics`: counts, what runs, how fresh each feed is."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector

from api.documents.status import feed_freshness
from api.http.messages import Request, Response, View
from api.http.problems import Problem
from api.service import Service
from warehouse.errors import StorageError

_NO_STORE = ("Cache-Control", "no-store")
_TEXT = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
_JSON = ("Content-Type", "application/json")
_ROOT = Path(__file__).parents[2]
_GAUGES = (
    ("newest_row_end", "End of the newest interval that the feed gave of the zone."),
    ("expected_by", "When its next row is due, grace included."),
    ("last_success", "When an answer last gave rows, or showed that there are none yet."),
)


class _Feeds(Collector):
    """Freshness by feed and zone, in Unix seconds; a feed that never gave anything has no line."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("emds_build", "What runs.", {"version": version("emds"), "build": _build()})
        gauges = [GaugeMetricFamily(f"emds_feed_{n}_timestamp_seconds", w, labels=["feed", "zone"]) for n, w in _GAUGES]
        try:
            freshness = [*feed_freshness(self._service.documents, self._service.catalogue)]
        except StorageError:  # the counts do not need the warehouse
            freshness = []
        for feed, zone, *instants in freshness:
            for gauge, instant in zip(gauges, instants, strict=True):
                if instant:
                    gauge.add_metric([feed, zone], instant)
        yield from gauges


@cache
def _build() -> str:
    """Return a hash of the code that answers: hosts that run the same code say the same."""
    files = sorted(file for room in ("api", "warehouse") for file in (_ROOT / room).rglob("*.py"))
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()


def _metrics(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    token = service.settings.metrics_token
    scheme, _, token_sent = request.header("HTTP_AUTHORIZATION").partition(" ")
    if not token or scheme.lower() != "bearer" or not hmac.compare_digest(token_sent.strip().encode(), token.encode()):
        raise Problem(
            "invalid-key",
            "The metrics take the bearer token of EMDS_METRICS_TOKEN.",
            headers=[("WWW-Authenticate", "Bearer")],
        )
    counts = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        counts = CollectorRegistry()
        multiprocess.MultiProcessCollector(counts)  # type: ignore[no-untyped-call]
    feeds = CollectorRegistry()
    feeds.register(_Feeds(service))
    return Response(200, [_NO_STORE, _TEXT], generate_latest(counts) + generate_latest(feeds))


def _healthz(_service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    return Response(200, [_NO_STORE, _JSON], b'{"status":"ok"}')


def _readyz(service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    body = orjson.dumps({"status": "ready", "catalogue": service.catalogue.generated})
    return Response(200, [_NO_STORE, _JSON], body)


VIEWS: dict[str, View] = {"healthz": _healthz, "readyz": _readyz, "metrics": _metrics}
