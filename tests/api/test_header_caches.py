"""What callers write into headers fills no memory: caches by them are bounded in bytes."""

from __future__ import annotations

import tracemalloc

import pytest

from api.http import responses
from api.mcp import endpoint
from api.settings import Settings

TYPES = ("application/json", "text/csv")
ADMITS = endpoint._origin_policy(Settings())
MOST_BYTES = 2_500_000
"""All of them together, after any calls (of 8 kB, the longest header, urlsplit itself keeps 128)."""


@pytest.mark.parametrize("length", [100, 400, 8000])
def test_distinct_headers_fill_no_memory(length: int) -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(3000):
            text = f"{i:06};q=0.5,".ljust(length, "x")
            responses.choose(text)
            responses.accepted(text, TYPES)
            ADMITS(text, text)
            endpoint._http_fault(text, text)
        assert tracemalloc.get_traced_memory()[0] - before < MOST_BYTES
    finally:
        tracemalloc.stop()
