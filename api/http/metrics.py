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
def _children(route: str, status: int) -> tuple[Counter, Histogram]:
    return ANSWERS.labels(route, status), SECONDS.labels(route)


def count(route: str, status: int, seconds: float) -> None:
    """Counts one answer."""
    answers, took = _children(route, status)
    answers.inc()
    took.observe(seconds)


def exposition() -> bytes:
    """All counts in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
