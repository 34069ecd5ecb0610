"""What is counted, for Prometheus: answers and seconds by route. The numbers of all workers are put together when asked for."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Answers by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to an answer, by route.", ("route",), buckets=_BUCKETS)


def exposition() -> bytes:
    """All counts in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
