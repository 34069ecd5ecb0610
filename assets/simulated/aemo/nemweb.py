"""Simulate nemweb.com.au: the files in each directory at a time, their names, listings and bundles.

Single reports are in `Current` for two days (dispatch) or until their week is bundled (trading, pre-dispatch).
`ARCHIVE` keeps bundles for thirteen months. The monthly archive keeps tables permanently. A file's name never changes.
Pre-dispatch has a run every half hour, and its file is published half an hour before the run's nominal time. All runs
of today are listed, and four of each past day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial
from itertools import chain

import numpy as np

from assets.simulated import grid
from assets.simulated.aemo import reports, rooftop
from assets.simulated.aemo.reports import market_time, next_month, render_report, stamp, trading_step
from assets.simulated.answer import NOTHING, Answer, typed, zipped
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES, MARKET_TZ, NEMWEB, monthly_url
from assets.sources.aemo.rows import HALF_HOUR, REGIONS
from warehouse.market.clock import DAY, HOUR, MarketDay, local_date

WRITTEN = 11
"""Seconds after its start at which an interval's report is written."""
CURRENT = 2 * DAY
KEPT = timedelta(days=400)
"""The time for which `ARCHIVE` keeps bundles."""
BUNDLED_AT = HOUR + 2 * 60
"""Seconds after midnight, market time. A day's bundle is published the day after, a week's eight days after
its last Saturday.
"""
AHEAD_OF_RUN = 27 * 60 + 20
"""Seconds before a run's nominal time at which its file is published."""
OF_OLD_DAYS = 6 * HOUR
LONGER_FROM = 13 * HOUR
"""Since this run, market time, runs reach to the end of the next trading day, at 04:00."""
MONTHLY = (
    *(reports.PRICE, reports.REGIONSUM, reports.INTERCONNECTORRES, reports.TRADING_PRICE),
    *(reports.UNIT_SCADA, rooftop.MONTHLY),
)
ZIP = "application/x-zip-compressed"
_MONTH = re.compile(r"/MMSDM/(\d{4})/MMSDM_\d{4}_(\d\d)/")
Files = Mapping[str, Callable[[], bytes]]
"""The function that creates the content, by file name."""


@dataclass(frozen=True, slots=True, eq=False)
class Directory:
    """A report, bundled by weeks, Sunday to Saturday, or by days."""

    kind: str
    weekly: bool
    tables: tuple[reports.Table, ...] = ()
    """The tables of the report; empty for pre-dispatch, which has runs instead of intervals."""

    def last_bundled(self, now: int) -> date:
        """Return the last day that is in a bundle."""
        today = local_date(now - BUNDLED_AT, MARKET_TZ)
        return today - timedelta(days=(today.weekday() + 1) % 7 + 8 if self.weekly else 1)

    def archive(self, now: int) -> Files:
        """Return the bundles in `ARCHIVE`, each a zip of the zips of its days."""
        bundles: dict[str, Callable[[], bytes]] = {}
        last, length = self.last_bundled(now), 7 if self.weekly else 1
        while last >= local_date(now, MARKET_TZ) - KEPT:
            days = [last - timedelta(days=back) for back in reversed(range(length))]
            span = f"{days[0]:%Y%m%d}_{last:%Y%m%d}" if self.weekly else f"{last:%Y%m%d}"
            bundles[f"PUBLIC_{self.kind}_{span}.zip"] = partial(self._bundle, days, now)
            last -= timedelta(days=length)
        return bundles

    def _bundle(self, days: Iterable[date], now: int) -> bytes:
        windows = [MarketDay(day, MARKET_TZ).window for day in days]
        if self.tables:
            at = [ts for window in windows for ts in range(window.start, window.end, FIVE_MINUTES)]
        else:
            at = [ts for window in windows for ts in published(window.start, window.end, now)]
        return zipped([(f"{self.name(ts)}.zip", self.file(ts)) for ts in at], market_time(windows[-1].end), 1)

    def current(self, now: int) -> Files:
        """Return the single files in `Current`."""
        first = MarketDay(self.last_bundled(now), MARKET_TZ).end
        if self.tables:
            last = (now - WRITTEN) // FIVE_MINUTES * FIVE_MINUTES
            at = range(first if self.weekly else last - CURRENT, last + 1, FIVE_MINUTES)
            return _named(self, at.start, at.stop)
        midnights = range(first, now + 1, DAY)
        return {
            f"{self.name(ts)}.zip": partial(self.file, ts)
            for start in midnights
            for ts in published(start, start + DAY, now)
        }

    def name(self, at: int) -> str:
        """Return the file name, without extension, for an interval's start or a run's publication time."""
        if self.tables:
            return f"PUBLIC_{self.kind}_{market_time(at + FIVE_MINUTES):%Y%m%d%H%M}_{at // FIVE_MINUTES:016d}"
        return f"PUBLIC_{self.kind}_{market_time(at + AHEAD_OF_RUN):%Y%m%d%H%M}_{market_time(at):%Y%m%d%H%M%S}_LEGACY"

    def file(self, at: int) -> bytes:
        """Return the zip of this file."""
        day = market_time(at).date()
        place = (at - MarketDay(day, MARKET_TZ).start) // FIVE_MINUTES
        body = _reports(self, day)[place] if self.tables else predispatch(at)
        return zipped([(f"{self.name(at)}.CSV", body)], market_time(at), 1)


@lru_cache(maxsize=8)
def _named(directory: Directory, start: int, stop: int) -> Files:
    """Return the reports of a range of intervals. They are cached, since each request lists thousands."""
    at = range(start, stop, FIVE_MINUTES)
    return {f"{directory.name(ts)}.zip": partial(directory.file, ts) for ts in at}


@lru_cache(maxsize=4)
def _reports(directory: Directory, day: date) -> list[bytes]:
    """Return the texts of a day's reports."""
    window = MarketDay(day, MARKET_TZ).window
    part = reports.block(window.start, window.end)
    headers = [table.header for table in directory.tables]
    by_interval = zip(*(table.rows(part, '"') for table in directory.tables), strict=True)
    return [
        render_report(directory.kind, start + WRITTEN, zip(headers, rows, strict=True))
        for start, rows in zip(part.ts.tolist(), by_interval, strict=True)
    ]


def published(start: int, end: int, now: int) -> Iterator[int]:
    """Yield the publication times of a day's runs that are still listed at `now`."""
    yield from range(start + HALF_HOUR - AHEAD_OF_RUN, min(end, now + 1), OF_OLD_DAYS if end <= now else HALF_HOUR)


def predispatch(at: int) -> bytes:
    """Return the CSV of the run that is published at a time."""
    run = at + AHEAD_OF_RUN
    clock = (run + AHEAD_OF_UTC) % DAY
    last = run - clock + 4 * HOUR + (DAY if clock > 4 * HOUR else 0) + (DAY if clock >= LONGER_FROM else 0)
    starts = np.arange(run - HALF_HOUR, last, HALF_HOUR, dtype=np.int64)
    rows = []
    for region, zone in REGIONS.items():
        price, demand = grid.price(zone, starts, HALF_HOUR, "day_ahead"), grid.demand(zone, starts, HALF_HOUR)
        prices = grid.as_forecast(price, starts, at, f"aemo.predispatch/{zone}/price", 0.25).round(5)
        demands = grid.as_forecast(demand, starts, at, f"aemo.predispatch/{zone}/demand").round(2)
        rows += [
            f'D,PDREGION,,5,1,{region},"{stamp(start + HALF_HOUR)}",{aud},{mw}'
            for start, aud, mw in zip(starts.tolist(), prices, demands, strict=True)
        ]
    return render_report("PREDISPATCH", at, [("I,PDREGION,,5,RUNNO,REGIONID,PERIODID,RRP,TOTALDEMAND", rows)])


DIRECTORIES: Mapping[str, Directory | rooftop.Directory] = {
    "Predispatch_Reports": Directory("PREDISPATCH", True),
    "Dispatch_SCADA": Directory("DISPATCHSCADA", False, (reports.UNIT_SCADA,)),
    "ROOFTOP_PV/ACTUAL": rooftop.Directory(),
    "DispatchIS_Reports": Directory("DISPATCHIS", False, MONTHLY[:3]),
    "TradingIS_Reports": Directory("TRADINGIS", True, (reports.TRADING_INTERCONNECTORRES, reports.TRADING_PRICE)),
}


def simulate_nemweb(url: str, now: int) -> Answer:
    """Return a directory, report, bundle or monthly table."""
    if (month := _MONTH.search(url)) is not None:
        return _monthly(url, int(month[1]), int(month[2]), now)
    match = re.fullmatch(r"/Reports/(Current|ARCHIVE)/(ROOFTOP_PV/ACTUAL|\w+)/(.*)", url.removeprefix(NEMWEB))
    directory = DIRECTORIES.get(match[2]) if match else None
    if match is None or directory is None:
        return NOTHING
    files = directory.current(now) if match[1] == "Current" else directory.archive(now)
    if not match[3]:
        entries = "".join(f'<A HREF="{match[0]}{name}">{name}</A><br>' for name in sorted(files))
        return typed(f"<html><body><pre>{entries}</pre></body></html>".encode(), "text/html")
    return typed(files[match[3]](), ZIP) if match[3] in files else NOTHING


def _monthly(url: str, year: int, month: int, now: int) -> Answer:
    """Return a table of a month, published on the eighth of the next month."""
    tables = {monthly_url(table.name, year, month): table for table in MONTHLY} if 1 <= month <= 12 else {}
    table = tables.get(url)
    if table is None:
        return NOTHING
    first = date(year, month, 1)
    start, end = (MarketDay(day, MARKET_TZ).start for day in (first, next_month(first)))
    written = end + 7 * DAY + 11 * HOUR
    if now < written:
        return NOTHING
    step = {reports.TRADING_PRICE.name: trading_step(first), rooftop.MONTHLY.name: HALF_HOUR}.get(
        table.name, FIVE_MINUTES
    )
    rows = list(chain.from_iterable(table.rows(reports.block(start, end, step))))
    body = render_report(f"DVD_{table.name}", written, [(table.header, rows)])
    return typed(zipped([(f"{table.name}.CSV", body)], market_time(written), 1), ZIP)
