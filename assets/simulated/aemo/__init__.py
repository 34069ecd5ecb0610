"""Simulated AEMO: NEMWEB's directories and files, the monthly price and demand files, the dashboard's POST.

Values come from the model grid. The originals: https://nemweb.com.au, https://aemo.com.au.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from assets.simulated import grid
from assets.simulated.aemo import nemweb
from assets.simulated.aemo.model import trading_step
from assets.simulated.aemo.reports import render_five_minute, render_price_and_demand
from assets.simulated.answer import Answer
from assets.sources.aemo.files import FIVE_MINUTES, MARKET_TZ, NEMWEB
from assets.sources.aemo.rows import REGIONS
from warehouse.market.clock import DAY, HOUR, MarketDay
from warehouse.market.market import Request

UPDATED_AT = 5 * HOUR
"""Seconds after midnight, market time, at which the price and demand of the day before are out."""
FIRST_MONTH = date(1998, 12, 1)
SCHEDULED = 0.7
"""The share of a region's generation that is not wind or sun."""

_PRICE_AND_DEMAND = re.compile(
    r"https://aemo\.com\.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_(\d{4})(0[1-9]|1[0-2])_(\w+)\.csv"
)
_DASHBOARD = "https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN"


def answer(request: Request, now: int) -> Answer:
    """The answer by host and path; the dashboard accepts POST only."""
    if request.url.startswith(f"{NEMWEB}/"):
        return nemweb.answer(request.url, now)
    if (month := _PRICE_AND_DEMAND.fullmatch(request.url)) is not None and month[3] in REGIONS:
        return _price_and_demand(date(int(month[1]), int(month[2]), 1), month[3], now)
    if request.url == _DASHBOARD:
        return _five_minute(now) if request.method == "POST" else Answer(405, b"", (("allow", "POST"),))
    return Answer(404, b"")


def _price_and_demand(month: date, region: str, now: int) -> Answer:
    """The published whole days of a month; 404 where none is out."""
    following = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    start, end = (MarketDay(day, MARKET_TZ).start for day in (month, following))
    ts = np.arange(
        start, min(end, MarketDay.at(now - UPDATED_AT, MARKET_TZ).start), trading_step(month), dtype=np.int64
    )
    if not len(ts) or month < FIRST_MONTH:
        return Answer(404, b"")
    zone, step = REGIONS[region], trading_step(month)
    demand, price = grid.demand(zone, ts, step), grid.price(zone, ts, step)
    body = render_price_and_demand(region, (ts + step).tolist(), demand.tolist(), price.tolist())
    return Answer(200, body, (("content-type", "text/csv"),))


def _five_minute(now: int) -> Answer:
    """The intervals of the last two days that have ended."""
    last = now // FIVE_MINUTES * FIVE_MINUTES
    ts = np.arange(last - 2 * DAY, last, FIVE_MINUTES, dtype=np.int64)
    rows = []
    for region, zone in sorted(REGIONS.items()):
        demand, export = grid.demand(zone, ts), -grid.interchange(zone, ts)
        generation = demand + export
        columns = grid.price(zone, ts), demand, export, SCHEDULED * generation, (1.0 - SCHEDULED) * generation
        figures = zip(*(column.tolist() for column in columns), strict=True)
        rows += [(end, region, *values) for end, values in zip((ts + FIVE_MINUTES).tolist(), figures, strict=True)]
    return Answer(200, render_five_minute(rows), (("content-type", "application/json"),))
