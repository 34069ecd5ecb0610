"""Where SPP's files lie: charts of the running days, a file an interval, a day or a month before. No parsing here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from assets.parsing.columns import FIVE_MINUTES as FIVE
from assets.parsing.days import age, months
from assets.sources.spp import paths
from warehouse.market.clock import HOUR, MarketDay, local_date
from warehouse.market.market import Request

ZONE = "US-SPP"
TZ = paths.TZ
HOST = "portal.spp.org"
IN_TURN = 6
"""Older intervals of the running day that each poll asks for besides: within four hours every missed one is there."""
DAILY_AFTER = 5
"""Days until the file of a day's real-time prices is there (https://github.com/gridstatus/gridstatus/issues/667)."""


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """One file an interval: of a running day the newest ones and some older ones in turn, of a past one all."""
    ends = sorted({end for day in days for end in _interval_ends(day, now)})
    return [
        _file("spp.lmp_rt", "rtbm-lmp-by-location", paths.interval(end - FIVE, end), local_date(end - FIVE, TZ))
        for end in ends
    ]


def _interval_ends(day: MarketDay, now: int) -> list[int]:
    every = range(day.start + FIVE, day.end + FIVE, FIVE)
    if age(day, now) > 0:
        return list(every)
    newest = now // FIVE * FIVE - FIVE  # a file is out some minutes after its interval
    turn = newest // FIVE % -(-len(every) // IN_TURN) * IN_TURN
    return [end for end in every[turn : turn + IN_TURN] if end < newest] + list(
        range(newest - 2 * FIVE, newest + FIVE, FIVE)
    )


def lmp_rt_daily_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """One file of 40 MB for each day that is long enough over."""
    return [
        _file("spp.lmp_rt_daily", "rtbm-lmp-by-location", paths.daily(d.day), d.day)
        for d in days
        if age(d, now) >= DAILY_AFTER
    ]


def lmp_da_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """One file a day."""
    return [_file("spp.lmp_da", "da-lmp-by-settlement-location", paths.day_ahead(d.day), d.day) for d in days]


def load_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """The chart of the last 24 hours for today and yesterday; the hourly file for days that it no longer holds."""
    old = [_hourly_file("spp.load", d, now) for d in days if age(d, now) > 1]
    return _chart("spp.load", "load-forecast", days, now) + old


def load_hourly_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """One file a day."""
    return [_hourly_file("spp.load_hourly", d, now) for d in days]


def _hourly_file(feed: str, day: MarketDay, now: int) -> Request:
    """The file of the midnight after, which holds the day whole; for a running day the newest one."""
    hour = day.end if age(day, now) > 0 else (now - 15 * 60) // HOUR * HOUR
    return _file(feed, "mtlf-vs-actual", paths.hourly(hour), day.day)


def interchange_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """The chart of two days for today and yesterday, a file a month before."""
    old = months([d for d in days if age(d, now) > 1])
    files = [_file("spp.interchange", "historical-tie-flow", paths.monthly(m[0].year, m[0].month), *m) for m in old]
    return _chart("spp.interchange", "interchange-trend", days, now) + files


def _chart(feed: str, name: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    recent = tuple(d.day for d in days if age(d, now) <= 1)
    return (
        [Request(feed, f"https://{HOST}/chart-api/{name}/asFile", days=recent, zone=ZONE, ext="csv")] if recent else []
    )


def _file(feed: str, product: str, path: str, *days: date) -> Request:
    return Request(
        feed, f"https://{HOST}/file-browser-api/download/{product}", (("path", path),), days, zone=ZONE, ext="csv"
    )
