"""MISO's feeds and days of the tests, and how a feed reads a body."""

from __future__ import annotations

import json
from datetime import date

from assets import sources
from warehouse.market.market import Request

LMP_RT, LMP_RT_DAILY, LMP_DA, LOAD, LOAD_DAILY, NSI = (
    sources.feed(f"miso.{name}") for name in ("lmp_rt", "lmp_rt_daily", "lmp_da", "load", "load_daily", "nsi")
)
SPRING, AUTUMN, ORDINARY = date(2026, 3, 8), date(2026, 11, 1), date(2026, 9, 23)


def read(feed, body):
    """The rows that a feed reads from bytes, a text, or what becomes JSON."""
    body = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, ""))
