"""Simulate AEMO: NEMWEB's directories and files, the monthly price and demand files, the dashboard's POST.

Values come from the model grid. The originals: https://nemweb.com.au, https://aemo.com.au.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from assets.simulated import grid
from assets.simulated.aemo import nemweb
from assets.simulated.aemo.reports import market_time, next_month, stamp, trading_step
from assets.simulated.answer import NOTHING, Answer, json_answer, lines, shorts, typed
from assets.sources.aemo.files import FIVE_MINUTES, MARKET_TZ, NEMWEB
from assets.sources.aemo.rows import REGIONS
from warehouse.market.clock import DAY, HOUR, MarketDay
from warehouse.market.feeds import Request

UPDATED_AT = 5 * HOUR
"""Seconds after midnight, market time, at which the price and demand of the day before are published."""
FIRST_MONTH = date(1998, 12, 1)

_PRICE_AND_DEMAND = re.compile(
    r"https://aemo\.com\.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_(\d{4})(0[1-9]|1[0-2])_(\w+)\.csv"
)
_DASHBOARD = "https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN"


def simulate_response(request: Request, now: int) -> Answer:
    """Return the response by host and path. The dashboard accepts POST only."""
    if request.url.startswith(f"{NEMWEB}/"):
        return nemweb.simulate_nemweb(request.url, now)
    if (month := _PRICE_AND_DEMAND.fullmatch(request.url)) is not None and month[3] in REGIONS:
        return _price_and_demand(date(int(month[1]), int(month[2]), 1), month[3], now)
    if request.url == _DASHBOARD:
        return json_answer({"5MIN": _five_minute(now)}) if request.method == "POST" else Answer(405, b"")
    return NOTHING


def _price_and_demand(month: date, region: str, now: int) -> Answer:
    """Return the published complete days of a month, MW to two decimals and AUD/MWh to cents; 404 if there are none."""
    zone, step = REGIONS[region], trading_step(month)
    start, end = (MarketDay(day, MARKET_TZ).start for day in (month, next_month(month)))
    ts = np.arange(start, min(end, MarketDay.at(now - UPDATED_AT, MARKET_TZ).start), step, dtype=np.int64)
    if not len(ts) or month < FIRST_MONTH:
        return NOTHING
    columns = map(stamp, (ts + step).tolist()), *(shorts(f(zone, ts, step), 2) for f in (grid.demand, grid.price))
    rows = [f"{region},{end},{mw},{aud},TRADE" for end, mw, aud in zip(*columns, strict=True)]
    return typed(lines(["REGION,SETTLEMENTDATE,TOTALDEMAND,RRP,PERIODTYPE", *rows], "\n"), "text/csv")


def _five_minute(now: int) -> list[dict[str, object]]:
    """Return the intervals of the last two days that have ended."""
    last = now // FIVE_MINUTES * FIVE_MINUTES
    ts = np.arange(last - 2 * DAY, last, FIVE_MINUTES, dtype=np.int64)
    return [
        {
            "SETTLEMENTDATE": f"{market_time(start + FIVE_MINUTES):%Y-%m-%dT%H:%M:%S}",
            "REGIONID": region,
            "RRP": round(price, 5),
            "TOTALDEMAND": round(demand, 5),
            "PERIODTYPE": "ACTUAL",
            "NETINTERCHANGE": round(-net_import, 5),
        }
        for region, zone in sorted(REGIONS.items())
        for start, price, demand, net_import in zip(
            *(column.tolist() for column in (ts, *(f(zone, ts) for f in (grid.price, grid.demand, grid.interchange)))),
            strict=True,
        )
    ]
