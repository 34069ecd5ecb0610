"""Simulated ERCOT dashboards: prices, five-minute demand, hourly demand, DC ties.

Each page holds the running day (the hourly one also yesterday and tomorrow). Quirks that are kept: epochs of interval
ends, a first row at midnight that ends yesterday, forecasts among the readings, minus for import. The originals:
https://www.ercot.com/gridmktinfo/dashboards.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.ercot.prices import DAM_AT, DAY_AHEAD, OUT_AFTER, POINTS, QUARTER, REAL_TIME, Prices, prices
from assets.simulated.format import local, plain
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.sources.ercot import TIES
from assets.sources.ercot.prices import TZ, ZONE
from warehouse.market.clock import DAY, HOUR, MarketDay

Page = dict[str, Any]
FIVE, TEN_SECONDS = 300, 10
LOAD_AFTER, HOUR_AFTER, TIES_AFTER = 120, 10 * 60, 150
"""Seconds from an interval's end (of the ties: from the instant) until it is on the page."""
OUTLOOK_DAYS = 6
LINES = {name: link for name, (_, link) in TIES.items() if name != "dcS"}
"""Column -> the grid's line; Eagle Pass is no longer there."""


def page(name: str, now: int) -> Page | None:
    """The page of that name as it stands at `now`."""
    return _PAGES[name](now) if name in _PAGES else None


def _prices_page(now: int) -> Page:
    newest = (now - OUT_AFTER) // QUARTER * QUARTER
    day = MarketDay.at(newest - 1, TZ)
    ends = [ts for ts in range(day.start + QUARTER, day.end + QUARTER, QUARTER) if ts <= newest]
    hours = range(day.start + HOUR, day.end + HOUR, HOUR)
    real_time, day_ahead = prices(REAL_TIME, day.day), prices(DAY_AHEAD, day.day)
    return {
        "lastUpdated": _stamp(newest + OUT_AFTER - 1),
        "rtSppData": [{"intervalEnding": _ending(end), **_priced(real_time, i, end)} for i, end in enumerate(ends)],
        "damSppData": [{"hourEnding": _hour(end), **_priced(day_ahead, i, end)} for i, end in enumerate(hours)],
    }


def _priced(by_point: Prices, place: int, end: int) -> Page:
    figures = {name: plain(by_point[point][place], 2) for point, (_, _, name) in POINTS.items() if name}
    return {"dstFlag": _flag(end - 1), **figures, "timestamp": _stamp(end), "interval": 1000 * end}


def _ending(end: int) -> str:
    """`00:15`..`24:00`: the wall clock at an interval's end, counted from the hour in which it lies."""
    last = local(end - 1, TZ)
    minutes = last.hour * 60 + last.minute + 1
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _hour(end: int) -> int:
    return int(_ending(end)[:2])


def _supply_and_demand(now: int) -> Page:
    """The day's instants, readings up to the newest and forecasts after it; hours of later days. Whole MW."""
    newest = (now - LOAD_AFTER) // FIVE * FIVE
    day = MarketDay.at(newest, TZ)
    stamps = np.arange(day.start, day.end + FIVE, FIVE)
    demand = grid.demand(ZONE, stamps)
    capacity = demand * (1.16 + 0.05 * smooth("capacity/ercot", stamps, 5 * HOUR))
    demand_or_forecast = np.where(stamps > newest, _foreseen(demand, stamps), demand)
    columns = zip(stamps.tolist(), _whole(demand_or_forecast), _whole(capacity), _whole(1.05 * capacity), strict=True)
    ends = np.arange(day.end + HOUR, MarketDay.at(day.end + OUTLOOK_DAYS * DAY, TZ).start + HOUR, HOUR)
    ahead = _foreseen(grid.demand(ZONE, ends - HOUR, HOUR), ends)
    outlook = zip(ends.tolist(), _whole(1.4 * ahead), _whole(ahead), strict=True)
    return {
        "lastUpdated": _stamp(newest),
        "data": [_five_minute_row(day, stamp, stamp > newest, *figures) for stamp, *figures in columns],
        "forecast": [_outlook_row(*row) for row in outlook],
    }


def _foreseen(demand: Floats, stamps: Ints) -> Floats:
    forecast: Floats = demand * (1.0 + 0.015 * smooth("foreseen/ercot", stamps, 9 * HOUR))
    return forecast


def _whole(values: Floats) -> list[int]:
    whole: list[int] = values.round().astype(int).tolist()
    return whole


def _five_minute_row(day: MarketDay, stamp: int, ahead: bool, demand: int, capacity: int, available: int) -> Page:
    moment = local(stamp, TZ)
    return {
        "capacity": capacity,
        "demand": demand,
        "forecast": int(ahead),
        "dstFlag": moment.fold,
        "interval": moment.minute,
        "hourEnding": moment.hour if moment.date() == day.day else 24,
        **({"available": available} if ahead else {}),
        "timestamp": _stamp(stamp),
        "epoch": 1000 * stamp,
    }


def _outlook_row(end: int, available: int, demand: int) -> Page:
    begin = local(end - HOUR, TZ)
    return {
        "deliveryDate": str(begin.date()),
        "dstFlag": "NY"[begin.fold],
        "hourEnding": begin.hour + 1,
        "deliveryDateHrBegin": f"{begin:%Y-%m-%d %H:%M:%S}",
        "deliveryDateHrEnd": f"{begin + timedelta(hours=1):%Y-%m-%d %H:%M:%S}",
        "availCapGen": available,
        "forecastedDemand": demand,
        "timestamp": _stamp(end),
        "epoch": 1000 * end,
    }


def _hourly_demand(now: int) -> Page:
    newest = (now - HOUR_AFTER) // HOUR * HOUR
    today = MarketDay.at(newest, TZ)
    known = now >= today.next().start + DAM_AT + HOUR
    days = {name: today.next(i) for name, i in (("previousDay", -1), ("currentDay", 0), ("nextDay", 1))}
    pages = {name: _hourly_day(day, newest, known or day.start <= newest) for name, day in days.items()}
    return {"lastUpdated": _stamp(newest + HOUR_AFTER), **pages}


@lru_cache(maxsize=8)
def _hourly(day: MarketDay, newest: int) -> tuple[list[int], list[float], list[float], list[float]]:
    """Interval ends, demand, and two forecasts of it, as they are at an hour."""
    ends = np.arange(day.start + HOUR, day.end + HOUR, HOUR)
    demand = grid.demand(ZONE, ends - HOUR, HOUR)
    foreseen = grid.as_forecast(demand, ends, newest, "ercot.load_hourly").round(2)
    return ends.tolist(), demand.round(2).tolist(), foreseen.tolist(), (1.01 * foreseen).round(4).tolist()


def _hourly_day(day: MarketDay, newest: int, published: bool) -> Page:
    """`published`: whether the day-ahead forecast of the day is there."""
    ends, demand, foreseen, ahead = _hourly(day, newest)
    loads = [load for end, load in zip(ends, demand, strict=True) if end <= newest]
    peaks = {"forecastPeak": max(foreseen), "systemLoad": max(loads)} if loads else {}
    return {
        "dayDate": _stamp(day.start),
        **peaks,
        "dayAheadForecastPeak": max(ahead) if published else 0,
        "data": [
            _hourly_row(row, row[0] <= newest, published) for row in zip(ends, demand, foreseen, ahead, strict=True)
        ],
    }


def _hourly_row(row: tuple[int, float, float, float], over: bool, published: bool) -> Page:
    end, demand, foreseen, ahead = row
    figures = {
        "currentLoadForecast": foreseen,
        **({"dayAheadForecast": ahead} if published else {}),
        **({"currentDayHsl": round(1.15 * foreseen, 1)} if over else {}),
        **({"dayAheadHsl": round(1.15 * ahead, 1)} if published else {}),
        **({"systemLoad": demand} if over else {}),
    }
    numbers = {name: plain(value, 4) for name, value in figures.items()}
    head = {"hourEnding": _hour(end), "dstFlag": _flag(end - 1)}
    return {**head, **numbers, "timestamp": _stamp(end), "epoch": 1000 * end}


def _dc_ties(now: int) -> Page:
    """Whole MW by tie, minus for import."""
    newest = (now - TIES_AFTER) // TEN_SECONDS * TEN_SECONDS
    stamps = np.arange(MarketDay.at(newest, TZ).start, newest + TEN_SECONDS, TEN_SECONDS)
    flows = {name: _whole(-grid.inflow(ZONE, grid.line(link), stamps)) for name, link in LINES.items()}
    frequency = (60.0 + 0.025 * smooth("frequency/ercot", stamps, 40)).round(3).tolist()
    inertia = _whole(320_000 + 40_000 * smooth("inertia/ercot", stamps, 3 * HOUR))
    rows = [
        {
            "currentFrequency": plain(frequency[i], 3),
            "currentSystemInertia": inertia[i],
            **{name: flow[i] for name, flow in flows.items()},
            "timestamp": _stamp(ts),
            "epoch": 1000 * ts,
            "interval": f"{local(ts, TZ):%H:%M:%S}",
            "dstFlag": _flag(ts),
        }
        for i, ts in enumerate(stamps.tolist())
    ]
    return {"lastUpdated": rows[-1]["timestamp"], "data": rows}


def _stamp(ts: int) -> str:
    return f"{local(ts, TZ):%Y-%m-%d %H:%M:%S%z}"


def _flag(ts: int) -> str:
    return "NY"[local(ts, TZ).fold]


_PAGES: dict[str, Callable[[int], Page]] = {
    "system-wide-prices": _prices_page,
    "supply-demand": _supply_and_demand,
    "system-wide-demand": _hourly_demand,
    "dc-tie-flows": _dc_ties,
}
