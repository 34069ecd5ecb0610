"""What simulated AEMO answers at an instant, for its tests."""

from __future__ import annotations

import re

from assets.simulated import aemo
from warehouse.market.clock import instant
from warehouse.market.market import Request

NOON = "2026-11-21T12:02:00+10:00"


def answered(path, now=NOON, method="GET"):
    url = path if path.startswith("https") else f"https://nemweb.com.au{path}"
    return aemo.answer(Request("aemo.dispatch", url, method=method), instant(now))


def names(body):
    return re.findall(r'HREF="[^"]*/([^/"]+)"', body.decode())
