"""Find AEMO's files of rooftop solar: two weeks of half hours, then weekly bundles, then the monthly archive.

A file is named by the time when it is due, half an hour after the end of its half hour: `..._20230902183000_<id>.zip`
contains the half hour that ends at 18:00. A bundle is named by the Thursday on which its week begins or ends, so the
bundles on both sides of a day are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from assets.parsing.body import text_of
from assets.parsing.days import age, months
from assets.parsing.stamps import wall_stamp
from assets.sources.aemo.files import MARKET_TZ, NEMWEB, is_archived, monthly_url
from warehouse.errors import FeedChanged
from warehouse.market import clock
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Request

FEED = "aemo.mix"
DIRECTORY = "ROOFTOP_PV/ACTUAL"
PREFIX = "PUBLIC_ROOFTOP_PV_ACTUAL_MEASUREMENT"
TABLE = "ROOFTOP_PV_ACTUAL"
CURRENT_DAYS = 12
"""A `Current` directory covers two weeks."""
LABEL_AFTER_START = HOUR
"""Seconds from the start of a half hour to the time in the name of its file."""
WEEK = timedelta(days=7)
_NAME = re.compile(rf'({PREFIX}_(\d{{14}}|\d{{8}})(?:_\d+)?)\.zip(?=")', re.IGNORECASE | re.ASCII)


def requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the listings and monthly tables for these days as of the time `now`."""
    today = clock.local_date(now, MARKET_TZ)
    recent = [day for day in days if age(day, now) <= CURRENT_DAYS]
    monthly = [day for day in days if day not in recent and is_archived(day.day, today)]
    between = [day for day in days if day not in recent and day not in monthly]
    return [
        *(
            Request(FEED, monthly_url(TABLE, month[0].year, month[0].month), days=month, part=TABLE, ext="zip")
            for month in months(monthly)
        ),
        *_listing("ARCHIVE", between),
        *_listing("Current", recent),
    ]


def _listing(place: str, days: Sequence[MarketDay]) -> list[Request]:
    requested = tuple(sorted({day.day for day in days}))
    url = f"{NEMWEB}/Reports/{place}/{DIRECTORY}/"
    return [Request(FEED, url, days=requested, kind="listing", ext="html")] if days else []


def follow(body: bytes, request: Request) -> list[Request]:
    """Return the listed files that may contain half hours of the request's days. Raises FeedChanged for other pages."""
    if request.kind != "listing":
        return []
    text = text_of(body)
    names = {match[2]: match[1] for match in sorted(_NAME.finditer(text), key=lambda match: match[1])}
    if not names or not text.rstrip().lower().endswith("</html>"):
        raise FeedChanged(f"not a listing of {PREFIX} files, or truncated")
    files = []
    for stamp, name in sorted(names.items()):
        first, last = _days_of(stamp)
        if days := tuple(day for day in request.days if first <= day <= last):
            once = len(stamp) > 8
            files.append(Request(FEED, f"{request.url}{name}.zip", days=days, part=name, ext="zip", once=once))
    return files


def _days_of(stamp: str) -> tuple[date, date]:
    """Return the first and last market day that a file of that time or date may contain."""
    day = f"{stamp[:4]}/{stamp[4:6]}/{stamp[6:8]}"
    if len(stamp) == 8:
        named = clock.utc(wall_stamp(f"{day} 00:00")).date()
        return named - WEEK, named + WEEK
    start = clock.utc(wall_stamp(f"{day} {stamp[8:10]}:{stamp[10:12]}") - LABEL_AFTER_START).date()
    return start, start
