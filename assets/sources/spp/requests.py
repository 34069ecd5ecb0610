"""Build the requests to SPP: charts of the current days, and files per interval, day or month.

Names of files are stamped with local time by the interval's end. A stamp is the wall clock at the end of the interval.
Both passes of the repeated autumn hour end at 02:00, and the files of the second pass (0105..0200) carry a `d`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from assets.parsing.columns import FIVE_MINUTES as FIVE
from assets.parsing.days import age, months
from warehouse.errors import BadWindow, FeedChanged
from warehouse.market.clock import HOUR, MarketDay, local_date, local_instant, zone_of
from warehouse.market.feeds import Request

ZONE = "US-SPP"
TZ = "America/Chicago"
HOST = "portal.spp.org"
IN_TURN = 6
"""The number of older intervals of the current day that each poll also requests. Within four hours all are fetched."""
DAILY_AFTER = 5
"""Days until the file of a day's real-time prices exists (https://github.com/gridstatus/gridstatus/issues/667)."""
AREAS_PARTED = (2026, 3)
"""The first month whose tie flows name their area."""
_HOURLY = re.compile(r"OP-MTLF-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(d?)\.csv", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per interval: the newest and some older ones of a current day in turn, and all of a past day."""
    ends = sorted({end for day in days for end in _interval_ends(day, now)})
    return [
        _file("spp.lmp_rt", "rtbm-lmp-by-location", interval(end - FIVE, end), local_date(end - FIVE, TZ))
        for end in ends
    ]


def _interval_ends(day: MarketDay, now: int) -> list[int]:
    every = range(day.start + FIVE, day.end + FIVE, FIVE)
    if age(day, now) > 0:
        return list(every)
    newest = now // FIVE * FIVE - FIVE  # a file is published some minutes after its interval
    turn = newest // FIVE % -(-len(every) // IN_TURN) * IN_TURN
    return [end for end in every[turn : turn + IN_TURN] if end < newest] + list(
        range(newest - 2 * FIVE, newest + FIVE, FIVE)
    )


def lmp_rt_daily_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request for one file of 40 MB per day that is old enough."""
    return [
        _file("spp.lmp_rt_daily", "rtbm-lmp-by-location", daily(d.day), d.day)
        for d in days
        if age(d, now) >= DAILY_AFTER
    ]


def lmp_da_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request for one file per day."""
    return [_file("spp.lmp_da", "da-lmp-by-settlement-location", day_ahead(d.day), d.day) for d in days]


def load_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for the chart of the last 24 hours."""
    return _chart("spp.load", "load-forecast", days, now)


def load_hourly_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the requests for the file of the midnight after each past day, or the newest file of the current day."""
    hours = [(d.day, d.end if age(d, now) > 0 else (now - 15 * 60) // HOUR * HOUR) for d in days]
    return [_file("spp.load_hourly", "mtlf-vs-actual", hourly(hour), day) for day, hour in hours]


def interchange_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for the chart of today and yesterday, and a request per earlier month."""
    old = months([d for d in days if age(d, now) > 1])
    files = [_file("spp.interchange", "historical-tie-flow", monthly(m[0].year, m[0].month), *m) for m in old]
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


def interval(start: int, end: int) -> str:
    """Return the path of the real-time prices of one interval. Its folder is the day on which the interval starts."""
    on = local_date(start, TZ)
    return f"/{on:%Y/%m}/By_Interval/{on:%d}/RTBM-LMP-SL-{_stamp(end)}.csv"


def daily(day: date) -> str:
    """Return the path of the real-time prices of one day."""
    return f"/{day:%Y/%m}/By_Day/RTBM-LMP-DAILY-SL-{day:%Y%m%d}.csv"


def day_ahead(day: date) -> str:
    """Return the path of the day-ahead prices of one day."""
    return f"/{day:%Y/%m}/By_Day/DA-LMP-SL-{day:%Y%m%d}0100.csv"


def hourly(hour: int) -> str:
    """Return the path of the mid-term load file that is written when an hour begins."""
    stamp = _stamp(hour)
    return f"/{stamp[:4]}/{stamp[4:6]}/{stamp[6:8]}/OP-MTLF-{stamp}.csv"


def written_at(path: str) -> int | None:
    """Return the time in a mid-term load file's name, or None for any other name. Raises FeedChanged for a bad time."""
    match = _HOURLY.search(path)
    if match is None:
        return None
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    try:
        last = datetime(year, month, day, hour, minute) - timedelta(seconds=1)  # noqa: DTZ001  placed by the next line
        return local_instant(last, TZ, second_pass=bool(match[6])) + 1
    except (ValueError, OverflowError, BadWindow):
        raise FeedChanged(f"{match[0][:40]!r} contains no time") from None


def monthly(year: int, month: int) -> str:
    """Return the path of the tie flows of one month, minute by minute."""
    area = "SPP_" if (year, month) >= AREAS_PARTED else ""
    return f"/TieFlows_{area}{_MONTHS[month - 1]}{year}.csv"


def _stamp(end: int) -> str:
    last = datetime.fromtimestamp(end - 1, zone_of(TZ))
    return f"{last.replace(tzinfo=None) + timedelta(seconds=1):%Y%m%d%H%M}{'d' if last.fold else ''}"
