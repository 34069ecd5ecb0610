"""Simulate ERCOT dashboards: prices, five-minute demand, hourly demand, DC ties.

Each page contains the current day (the hourly page also yesterday and tomorrow). Quirks: epochs of interval ends, a
first row at midnight that ends yesterday, forecasts among the actual values, minus for import. The originals:
https://www.ercot.com/gridmktinfo/dashboards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import local, plain
from assets.simulated.ercot.reports import DAY_AHEAD, OUT_AFTER, QUARTER, REAL_TIME, prices
from assets.simulated.grid.noise import Floats, smooth
from assets.sources.ercot import HUB, TIES
from assets.sources.ercot.prices import TZ, ZONE
from warehouse.market.clock import HOUR, MarketDay

Page = dict[str, Any]
FIVE, TEN_SECONDS = 300, 10
LOAD_AFTER, HOUR_AFTER, TIES_AFTER = 120, 10 * 60, 150
"""Seconds from an interval's end (for the ties: from the timestamp) until the page contains it."""
LINES = {name: link for name, (_, link) in TIES.items() if name != "dcS"}
"""The grid's line by column. Eagle Pass no longer exists."""


def page(name: str, now: int) -> Page | None:
    """Return the page of that name as of `now`."""
    return _PAGES[name](now) if name in _PAGES else None


def _prices_page(now: int) -> Page:
    newest = (now - OUT_AFTER) // QUARTER * QUARTER
    day = MarketDay.at(newest - 1, TZ)
    quarters = range(day.start + QUARTER, min(newest, day.end) + 1, QUARTER)
    hours = range(day.start + HOUR, day.end + HOUR, HOUR)
    return {
        "lastUpdated": _stamp(newest + OUT_AFTER - 1),
        "rtSppData": _priced(quarters, prices(REAL_TIME, day.day)[HUB]),
        "damSppData": _priced(hours, prices(DAY_AHEAD, day.day)[HUB]),
    }


def _priced(ends: range, values: list[float]) -> list[Page]:
    return [{"hbHubAvg": plain(value, 2), "interval": 1000 * end} for end, value in zip(ends, values, strict=False)]


def _supply_and_demand(now: int) -> Page:
    """Return the day's timestamps with actual values up to the newest, then forecasts. Whole MW."""
    newest = (now - LOAD_AFTER) // FIVE * FIVE
    day = MarketDay.at(newest, TZ)
    stamps = np.arange(day.start, day.end + FIVE, FIVE)
    demand = grid.demand(ZONE, stamps)
    foreseen = demand * (1.0 + 0.015 * smooth("foreseen/ercot", stamps, 9 * HOUR))
    columns = zip(stamps.tolist(), _whole(np.where(stamps > newest, foreseen, demand)), strict=True)
    rows = [{"demand": mw, "forecast": int(ts > newest), "epoch": 1000 * ts} for ts, mw in columns]
    return {"lastUpdated": _stamp(newest), "data": rows}


def _whole(values: Floats) -> list[int]:
    whole: list[int] = values.round().astype(int).tolist()
    return whole


def _hourly_demand(now: int) -> Page:
    newest = (now - HOUR_AFTER) // HOUR * HOUR
    today = MarketDay.at(newest, TZ)
    days = {name: today.next(i) for name, i in (("previousDay", -1), ("currentDay", 0), ("nextDay", 1))}
    pages = {name: {"data": _hours(day, newest)} for name, day in days.items()}
    return {"lastUpdated": _stamp(newest + HOUR_AFTER), **pages}


@lru_cache(maxsize=8)
def _hours(day: MarketDay, newest: int) -> list[Page]:
    """Return the hours of a day with their forecast, and the demand of past hours."""
    ends = np.arange(day.start + HOUR, day.end + HOUR, HOUR)
    demand = grid.demand(ZONE, ends - HOUR, HOUR)
    foreseen = grid.as_forecast(demand, ends, newest, "ercot.load_hourly")
    columns = zip(ends.tolist(), demand.round(2).tolist(), foreseen.round(2).tolist(), strict=True)
    return [
        {"currentLoadForecast": ahead, "epoch": 1000 * end, **({"systemLoad": load} if end <= newest else {})}
        for end, load, ahead in columns
    ]


def _dc_ties(now: int) -> Page:
    """Return whole MW by tie, minus for import."""
    newest = (now - TIES_AFTER) // TEN_SECONDS * TEN_SECONDS
    stamps = np.arange(MarketDay.at(newest, TZ).start, newest + TEN_SECONDS, TEN_SECONDS)
    flows = {name: _whole(-grid.inflow(ZONE, grid.line(link), stamps)) for name, link in LINES.items()}
    columns = zip(stamps.tolist(), *flows.values(), strict=True)
    rows = [{**dict(zip(flows, row, strict=True)), "epoch": 1000 * ts} for ts, *row in columns]
    return {"lastUpdated": _stamp(newest), "data": rows}


def _stamp(ts: int) -> str:
    return f"{local(ts, TZ):%Y-%m-%d %H:%M:%S%z}"


_PAGES: dict[str, Callable[[int], Page]] = {
    "system-wide-prices": _prices_page,
    "supply-demand": _supply_and_demand,
    "system-wide-demand": _hourly_demand,
    "dc-tie-flows": _dc_ties,
}
