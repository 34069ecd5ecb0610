"""Whether this process runs and can read its warehouse, and its counts. How fresh figures are, `/v1/status` says."""

from __future__ import annotations

import hmac
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY

from api.http.messages import Request, Response, View
from api.http.problems import Problem

if TYPE_CHECKING:
    from api.service import Service

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Answers by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to an answer, by route.", ("route",), buckets=_BUCKETS)
_NO_STORE = ("Cache-Control", "no-store")
_JSON = ("Content-Type", "application/json")
_TEXT = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")


@lru_cache(maxsize=2048)
def _answers(route: str, status: int) -> Counter:
    return ANSWERS.labels(route, status)


@lru_cache(maxsize=512)
def _seconds(route: str) -> Histogram:
    return SECONDS.labels(route)


def count(route: str, status: int, seconds: float) -> None:
    """Count an answer."""
    _seconds(route).observe(seconds)
    _answers(route, status).inc()


def _exposition() -> bytes:
    """Return all counts in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _healthz(_service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    return Response(200, [_NO_STORE, _JSON], b'{"status":"ok"}')


def _readyz(service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    body = orjson.dumps({"status": "ready", "catalogue": service.catalogue.generated})
    return Response(200, [_NO_STORE, _JSON], body)


def _metrics(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    token = service.settings.metrics_token
    scheme, _, token_sent = request.header("HTTP_AUTHORIZATION").partition(" ")
    if not token or scheme.lower() != "bearer" or not hmac.compare_digest(token_sent.strip().encode(), token.encode()):
        raise Problem(
            "invalid-key",
            "The metrics take the bearer token of EMDS_METRICS_TOKEN.",
            headers=[("WWW-Authenticate", "Bearer")],
        )
    return Response(200, [_NO_STORE, _TEXT], _exposition())


VIEWS: dict[str, View] = {"healthz": _healthz, "readyz": _readyz, "metrics": _metrics}
