"""Whether this process runs and can read its warehouse, and counts of its answers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from prometheus_client import Counter, Histogram

from api.http.messages import Request, Response, View

if TYPE_CHECKING:
    from api.service import Service

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Answers by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to an answer, by route.", ("route",), buckets=_BUCKETS)
_NO_STORE = ("Cache-Control", "no-store")
_JSON = ("Content-Type", "application/json")


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


def _healthz(_service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    return Response(200, [_NO_STORE, _JSON], b'{"status":"ok"}')


def _readyz(service: Service, _request: Request, _query: dict[str, Any]) -> Response:
    body = orjson.dumps({"status": "ready", "catalogue": service.catalogue.generated})
    return Response(200, [_NO_STORE, _JSON], body)


VIEWS: dict[str, View] = {"healthz": _healthz, "readyz": _readyz}
