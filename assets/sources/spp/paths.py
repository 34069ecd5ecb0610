"""Where SPP's files lie: paths in its file browser, stamped with local time by the interval's end.

A stamp is the wall clock as the interval leaves it: both passes of the repeated autumn hour end at 02:00, and the files
of the second pass (0105..0200) carry a `d`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from warehouse.errors import BadWindow, FeedChanged
from warehouse.market.clock import local_date, local_instant, zone_of

TZ = "America/Chicago"
AREAS_PARTED = (2026, 3)
"""The first month whose tie flows name their area."""
_HOURLY = re.compile(r"OP-MTLF-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(d?)\.csv", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def interval(start: int, end: int) -> str:
    """Real-time prices of one interval; its folder is that of the day it starts on."""
    on = local_date(start, TZ)
    return f"/{on:%Y/%m}/By_Interval/{on:%d}/RTBM-LMP-SL-{_stamp(end)}.csv"


def daily(day: date) -> str:
    """Real-time prices of one day."""
    return f"/{day:%Y/%m}/By_Day/RTBM-LMP-DAILY-SL-{day:%Y%m%d}.csv"


def day_ahead(day: date) -> str:
    """Day-ahead prices of one day."""
    return f"/{day:%Y/%m}/By_Day/DA-LMP-SL-{day:%Y%m%d}0100.csv"


def hourly(hour: int) -> str:
    """The mid-term load file written as an hour begins."""
    stamp = _stamp(hour)
    return f"/{stamp[:4]}/{stamp[4:6]}/{stamp[6:8]}/OP-MTLF-{stamp}.csv"


def written_at(path: str) -> int | None:
    """The instant that a mid-term load file's name states; None for any other name. Raises FeedChanged for no time."""
    match = _HOURLY.search(path)
    if match is None:
        return None
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    try:
        last = datetime(year, month, day, hour, minute) - timedelta(seconds=1)  # noqa: DTZ001  placed by the next line
        return local_instant(last, TZ, second_pass=bool(match[6])) + 1
    except (ValueError, OverflowError, BadWindow):
        raise FeedChanged(f"{match[0][:40]!r} names no time") from None


def monthly(year: int, month: int) -> str:
    """Tie flows of one month, minute by minute."""
    area = "SPP_" if (year, month) >= AREAS_PARTED else ""
    return f"/TieFlows_{area}{_MONTHS[month - 1]}{year}.csv"


def _stamp(end: int) -> str:
    last = datetime.fromtimestamp(end - 1, zone_of(TZ))
    return f"{last.replace(tzinfo=None) + timedelta(seconds=1):%Y%m%d%H%M}{'d' if last.fold else ''}"
