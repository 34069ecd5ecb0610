"""Write a line of JSON to the access log for each request, and count the request and its seconds for Prometheus."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import orjson
from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
ANSWERS = Counter("emds_answers_total", "Responses by route and status.", ("route", "status"))
SECONDS = Histogram("emds_answer_seconds", "Seconds to a response, by route.", ("route",), buckets=_BUCKETS)
# prometheus_client finds a child by a lock and a dictionary of tuples; these caches are faster.
_answers, _seconds = lru_cache(2048)(ANSWERS.labels), lru_cache(512)(SECONDS.labels)

_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def write_line(line: bytes) -> None:
    """Write a line to standard output in a single call."""
    with contextlib.suppress(OSError):  # a log reader that has gone must not affect the response
        os.write(sys.stdout.fileno(), line)


def count(environ: WSGIEnvironment, status: int, seconds: float) -> None:
    """Count a response and its seconds by route."""
    route = environ.get("emds.endpoint", "none")
    _seconds(route).observe(seconds)
    _answers(route, status).inc()


def log_line(environ: WSGIEnvironment, status: int, seconds: float) -> bytes:
    """Return a line of JSON without query, path and headers, which may contain keys and addresses."""
    method, trace = environ["REQUEST_METHOD"], environ.get("HTTP_TRACEPARENT", "")
    fields = {
        "at": round(time.time(), 3),
        "id": environ["emds.request_id"],
        "method": method if len(method) < 10 else "?",
        "route": environ.get("emds.endpoint", "none"),
        "zone": environ.get("emds.zone"),
        "status": status,
        "ms": round(seconds * 1000, 2),
    }
    if trace and _TRACE.fullmatch(trace):
        fields["trace"] = trace
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
