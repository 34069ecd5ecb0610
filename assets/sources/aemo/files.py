"""Find AEMO's reports by the age of their day, and select files from a directory listing.

Today and yesterday are single five-minute files with unpredictable sequence numbers, so their directory is read.
Earlier days are bundles. Months in the monthly archive are requested there, with a file per table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from assets.parsing.body import text_of
from assets.parsing.days import months
from assets.parsing.stamps import wall_stamp
from warehouse.errors import FeedChanged
from warehouse.market import clock
from warehouse.market.clock import DAY, MarketDay
from warehouse.market.feeds import Request

NEMWEB = "https://nemweb.com.au"
MARKET_TZ = "Australia/Brisbane"
FIVE_MINUTES = 300
CURRENT_DAYS = 1
"""A `Current` directory covers two days, so the whole of yesterday. Its DUPLICATE/ folder is skipped."""
BUNDLES_KEPT_DAYS = 390
"""`ARCHIVE` has bundles for thirteen months."""
MONTHLY_OUT = 12
"""The day of the next month from which a month's archive is certain to exist. It appears about the 8th."""
MONTHLY_TABLES_SINCE = date(2015, 1, 1)
"""The first month with a file per table in the archive.

Earlier months have one zip of all tables each (https://github.com/UNSW-CEEM/NEMOSIS/issues/66).
"""
AHEAD_OF_UTC = 10 * clock.HOUR
_PREDISPATCH = re.compile(r"PREDISPATCH_\d{12}_(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)_LEGACY", re.IGNORECASE | re.ASCII)
"""The run's nominal time, then the time of publication, half an hour earlier."""
RENAMED = (2024, 8)
"""Since this month the archive's files are named with `#`, stored as a literal %23 and requested as %2523."""


@dataclass(frozen=True, slots=True)
class Report:
    """One of AEMO's reports, and the monthly tables with the same rows."""

    feed: str
    directory: str
    prefix: str
    weekly: bool
    """Whether the `ARCHIVE` bundles weeks (found by its listing) or days."""
    tables: tuple[str, ...]
    """If empty, days that only the monthly archive may have are not requested."""

    def requests(self, days: Sequence[MarketDay], now: int) -> list[Request]:
        """Return the requests for these days as of the time `now`: listing, bundles, or monthly tables."""
        today = clock.local_date(now, MARKET_TZ)
        recent = [d for d in days if d.day >= today - timedelta(days=CURRENT_DAYS)]
        monthly = [d for d in days if self.tables and d not in recent and is_archived(d.day, today)]
        between = [d for d in days if d not in recent and d not in monthly]
        return [*self._monthly(monthly), *self._bundles(between), *self._listing("Current", recent)]

    def follow(self, body: bytes, request: Request) -> list[Request]:
        """Return the listed files that contain rows of the request's days. Raises FeedChanged for any other page."""
        if request.kind != "listing":
            return []
        text = text_of(body)
        names = set(re.findall(rf"{self.prefix}_\d{{8,12}}_\d+(?:_LEGACY)?\.zip(?=\")", text, re.IGNORECASE | re.ASCII))
        if not names or not text.rstrip().lower().endswith("</html>"):
            raise FeedChanged(f"not a listing of {self.prefix} files, or truncated")
        chosen: dict[tuple[date, ...], dict[str, str]] = {}
        for name in sorted(names):
            covered = _days_in(name)
            days = tuple(day for day in request.days if day in covered)
            if days:
                # If two files cover one interval, the greater name is the newer.
                chosen.setdefault(days, {})[name.split("_")[-2]] = name
        return [self._file(request, days, name) for days, named in chosen.items() for name in named.values()]

    def _file(self, request: Request, days: tuple[date, ...], name: str) -> Request:
        part = name.rsplit(".", 1)[0]
        of_one_interval = len(part.split("_")[-2]) != 8
        return Request(self.feed, request.url + name, days=days, part=part, ext="zip", once=of_one_interval)

    def _listing(self, place: str, days: Sequence[MarketDay]) -> list[Request]:
        url = f"{NEMWEB}/Reports/{place}/{self.directory}/"
        asked = tuple(sorted({d.day for d in days}))
        return [Request(self.feed, url, days=asked, kind="listing", ext="html")] if days else []

    def _bundles(self, days: Sequence[MarketDay]) -> Iterator[Request]:
        if self.weekly:
            # The week that is not yet bundled may still be among the single files.
            yield from self._listing("ARCHIVE", days)
            yield from self._listing("Current", days)
            return
        for day in days:
            name = f"{self.prefix}_{day.day:%Y%m%d}"
            yield Request(
                self.feed,
                f"{NEMWEB}/Reports/ARCHIVE/{self.directory}/{name}.zip",
                days=(day.day,),
                part=name,
                ext="zip",
            )

    def _monthly(self, days: Sequence[MarketDay]) -> Iterator[Request]:
        for month in months(days):
            for table in self.tables:
                yield Request(
                    self.feed, monthly_url(table, month[0].year, month[0].month), days=month, part=table, ext="zip"
                )


def monthly_url(table: str, year: int, month: int) -> str:
    """Return the URL of a month's table in the monthly archive (MMSDM)."""
    archive = f"{NEMWEB}/Data_Archive/Wholesale_Electricity/MMSDM"
    folder = f"{archive}/{year}/MMSDM_{year}_{month:02d}/MMSDM_Historical_Data_SQLLoader/DATA"
    stamp = f"{year}{month:02d}010000"
    if (year, month) < RENAMED:
        return f"{folder}/PUBLIC_DVD_{table}_{stamp}.zip"
    return f"{folder}/PUBLIC_ARCHIVE%2523{table}%2523FILE01%2523{stamp}.zip"


def published_at(name: str) -> int | None:
    """Return the publication time in a pre-dispatch file's name (Unix seconds), else None. Raises FeedChanged."""
    stamp = _PREDISPATCH.search(name)
    if stamp is None:
        return None
    year, month, day, hour, minute, second = stamp.groups()
    return wall_stamp(f"{year}/{month}/{day} {hour}:{minute}:{second}") - AHEAD_OF_UTC


def is_archived(day: date, today: date) -> bool:
    """Check whether the monthly archive is certain to have a day."""
    following = (day.replace(day=1) + timedelta(days=31)).replace(day=MONTHLY_OUT)
    return today >= following


def _days_in(name: str) -> tuple[date, ...]:
    """Return the market days in a file, by its name.

    A file of one interval is named by its end, a bundled week by its first and last day. A forecast counts for the day
    of its publication.
    """
    if published := published_at(name):
        return (clock.local_date(published, MARKET_TZ),)
    first, last = name.rsplit(".", 1)[0].split("_")[-2:]
    if len(first) == 12:
        end = wall_stamp(f"{first[:4]}/{first[4:6]}/{first[6:8]} {first[8:10]}:{first[10:]}")
        return (clock.utc(end - FIVE_MINUTES).date(),)
    start, end = (wall_stamp(f"{day[:4]}/{day[4:6]}/{day[6:8]} 00:00") for day in (first, last))
    return tuple(clock.utc(ts).date() for ts in range(start, min(end, start + 31 * DAY) + 1, DAY))
