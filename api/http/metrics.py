"""Counts for Prometheus: answers and seconds by route, summed over all workers on request."""

from __future__ import annotations

import os
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Answers by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to an answer, by route.", ("route",), buckets=_BUCKETS)


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


def exposition() -> bytes:
    """Return all counts in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
