"""Simulated ERCOT dashboards: prices, five-minute demand, hourly demand, DC ties.

Each page holds the running day (the hourly one also yesterday and tomorrow). Quirks that are kept: epochs of interval
ends, a first row at midnight that ends yesterday, forecasts among the readings, minus for import. The originals:
https://www.ercot.com/gridmktinfo/dashboards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.ercot.prices import DAM_AT, DAY_AHEAD, OUT_AFTER, QUARTER, REAL_TIME, prices
from assets.simulated.format import local, plain
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.sources.ercot import TIES
from assets.sources.ercot.prices import TZ, ZONE
from warehouse.clock import DAY, HOUR, MarketDay, local_date

FIVE, TEN_SECONDS = 300, 10
LOAD_AFTER, HOUR_AFTER, TIES_AFTER = 120, 10 * 60, 150
"""Seconds from an interval's end (of the ties: from the instant) until it is on the page."""
OUTLOOK_DAYS = 6
IN_PAGE = {
    "HB_BUSAVG": "hbBusAvg",
    "HB_HUBAVG": "hbHubAvg",
    "HB_HOUSTON": "hbHouston",
    "HB_NORTH": "hbNorth",
    "HB_PAN": "hbPan",
    "HB_SOUTH": "hbSouth",
    "HB_WEST": "hbWest",
    "LZ_AEN": "lzAen",
    "LZ_CPS": "lzCps",
    "LZ_HOUSTON": "lzHouston",
    "LZ_LCRA": "lzLcra",
    "LZ_NORTH": "lzNorth",
    "LZ_RAYBN": "lzRaybn",
    "LZ_SOUTH": "lzSouth",
    "LZ_WEST": "lzWest",
}
"""Settlement point -> its name on the page of prices, in the page's order."""
LINES = {name: link for name, (_, link) in TIES.items() if name != "dcS"}
"""Column -> the grid's line; Eagle Pass is no longer there."""


def page(name: str, now: int) -> bytes:
    """The page of that name as it stands at `now`; empty where there is none."""
    write = _PAGES.get(name)
    return write(now) if write else b""


def _prices_page(now: int) -> bytes:
    newest = (now - OUT_AFTER) // QUARTER * QUARTER
    day = MarketDay.at(newest - 1, TZ)
    ends = [ts for ts in range(day.start + QUARTER, day.end + QUARTER, QUARTER) if ts <= newest]
    hours = [*range(day.start + HOUR, day.end + HOUR, HOUR)]
    return render_prices(
        newest + OUT_AFTER - 1, (ends, prices(REAL_TIME, day.day)), (hours, prices(DAY_AHEAD, day.day))
    )


Stated = tuple[Sequence[int], Mapping[str, Sequence[float]]]
"""Interval ends, and the prices by settlement point (of these intervals, and perhaps of later ones)."""


def render_prices(updated: int, real_time: Stated, day_ahead: Stated) -> bytes:
    """`system-wide-prices.json`."""
    return orjson.dumps(
        {
            "lastUpdated": _stamp(updated),
            "rtSppData": [
                {"intervalEnding": _ending(end), **_priced(real_time, i, end)} for i, end in enumerate(real_time[0])
            ],
            "damSppData": [
                {"hourEnding": int(_ending(end)[:2]), **_priced(day_ahead, i, end)}
                for i, end in enumerate(day_ahead[0])
            ],
        }
    )


def _priced(stated: Stated, place: int, end: int) -> dict[str, Any]:
    figures = {name: plain(stated[1][point][place], 2) for point, name in IN_PAGE.items()}
    return {"dstFlag": _flag(end - 1), **figures, "timestamp": _stamp(end), "interval": 1000 * end}


def _ending(end: int) -> str:
    """`00:15`..`24:00`: the wall clock at an interval's end, counted from the hour in which it lies."""
    last = local(end - 1, TZ)
    minutes = last.hour * 60 + last.minute + 1
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _supply_and_demand(now: int) -> bytes:
    newest = (now - LOAD_AFTER) // FIVE * FIVE
    day = MarketDay.at(newest, TZ)
    stamps = np.arange(day.start, day.end + FIVE, FIVE)
    outlook = np.arange(day.end + HOUR, MarketDay.at(day.end + OUTLOOK_DAYS * DAY, TZ).start + HOUR, HOUR)
    return render_supply_and_demand(newest, stamps.tolist(), _five_minutes(stamps), outlook.tolist(), _outlook(outlook))


def _five_minutes(stamps: Ints) -> Mapping[str, Sequence[int]]:
    """Whole MW; what is still ahead is foreseen, as `foreseen`."""
    demand = grid.demand(ZONE, stamps)
    capacity = demand * (1.16 + 0.05 * smooth("capacity/ercot", stamps, 5 * HOUR))
    columns = {
        "demand": demand,
        "foreseen": _foreseen(demand, stamps),
        "capacity": capacity,
        "available": 1.05 * capacity,
    }
    return {name: column.round().astype(int).tolist() for name, column in columns.items()}


def _foreseen(demand: Floats, stamps: Ints) -> Floats:
    forecast: Floats = demand * (1.0 + 0.015 * smooth("foreseen/ercot", stamps, 9 * HOUR))
    return forecast


def _outlook(ends: Ints) -> Mapping[str, Sequence[int]]:
    demand = _foreseen(grid.demand(ZONE, ends - HOUR, HOUR), ends)
    return {"foreseen": demand.round().astype(int).tolist(), "available": (1.4 * demand).round().astype(int).tolist()}


def render_supply_and_demand(
    newest: int,
    stamps: Sequence[int],
    five: Mapping[str, Sequence[int]],
    hours: Sequence[int],
    outlook: Mapping[str, Sequence[int]],
) -> bytes:
    """`supply-demand.json`: the day's instants, readings up to `newest` and forecasts after it; hours of later days."""
    day = local_date(stamps[0], TZ)
    return orjson.dumps(
        {
            "lastUpdated": _stamp(newest),
            "data": [_five_minute_row(i, stamp, stamp > newest, day, five) for i, stamp in enumerate(stamps)],
            "forecast": [
                _outlook_row(end, outlook["available"][i], outlook["foreseen"][i]) for i, end in enumerate(hours)
            ],
        }
    )


def _five_minute_row(i: int, stamp: int, ahead: bool, day: date, five: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    moment = local(stamp, TZ)
    return {
        "capacity": five["capacity"][i],
        "demand": five["foreseen" if ahead else "demand"][i],
        "forecast": int(ahead),
        "dstFlag": moment.fold,
        "interval": moment.minute,
        "hourEnding": moment.hour if moment.date() == day else 24,
        **({"available": five["available"][i]} if ahead else {}),
        "timestamp": _stamp(stamp),
        "epoch": 1000 * stamp,
    }


def _outlook_row(end: int, available: int, demand: int) -> dict[str, Any]:
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


def _hourly_demand(now: int) -> bytes:
    newest = (now - HOUR_AFTER) // HOUR * HOUR
    today = MarketDay.at(newest, TZ)
    days = {name: today.next(i) for name, i in (("previousDay", -1), ("currentDay", 0), ("nextDay", 1))}
    known = now >= today.next().start + DAM_AT + HOUR
    return render_hourly_demand(
        newest + HOUR_AFTER, {name: _hourly_rows(day, newest, known) for name, day in days.items()}
    )


Hour = Mapping[str, float | int]
"""An hour's `end` and the figures that are known of it, by their names and in the order of the page."""


@lru_cache(maxsize=8)
def _hourly(day: MarketDay) -> tuple[list[int], list[float], list[float], list[float]]:
    """Interval ends, demand, and two forecasts of it."""
    ends = np.arange(day.start + HOUR, day.end + HOUR, HOUR)
    demand = grid.demand(ZONE, ends - HOUR, HOUR)
    foreseen = _foreseen(demand, ends).round(2)
    return ends.tolist(), demand.round(2).tolist(), foreseen.tolist(), (1.01 * foreseen).round(4).tolist()


def _hourly_rows(day: MarketDay, newest: int, known: bool) -> list[Hour]:
    """`known`: whether the day-ahead forecast of the days after today is there."""
    rows: list[Hour] = []
    published = known or day.start <= newest
    for end, demand, foreseen, ahead in zip(*_hourly(day), strict=True):
        over = end <= newest
        rows.append(
            {
                "end": end,
                "currentLoadForecast": foreseen,
                **({"dayAheadForecast": ahead} if published else {}),
                **({"currentDayHsl": round(1.15 * foreseen, 1)} if over else {}),
                **({"dayAheadHsl": round(1.15 * ahead, 1)} if published else {}),
                **({"systemLoad": demand} if over else {}),
            }
        )
    return rows


def render_hourly_demand(updated: int, days: Mapping[str, Sequence[Hour]]) -> bytes:
    """`system-wide-demand.json` from its three days by name."""
    return orjson.dumps({"lastUpdated": _stamp(updated), **{name: _hourly_day(hours) for name, hours in days.items()}})


def _hourly_day(hours: Sequence[Hour]) -> dict[str, Any]:
    first = {"dayDate": _stamp(int(hours[0]["end"]) - HOUR)}
    loads, ahead = ([h[name] for h in hours if name in h] for name in ("systemLoad", "dayAheadForecast"))
    peaks = {"forecastPeak": max(h["currentLoadForecast"] for h in hours), "systemLoad": max(loads)} if loads else {}
    return {
        **first,
        **peaks,
        "dayAheadForecastPeak": max(ahead, default=0),
        "data": [_hourly_row(hour) for hour in hours],
    }


def _hourly_row(hour: Hour) -> dict[str, Any]:
    end = int(hour["end"])
    figures = {name: plain(value, 4) for name, value in hour.items() if name != "end"}
    head = {"hourEnding": int(_ending(end)[:2]), "dstFlag": _flag(end - 1)}
    return {**head, **figures, "timestamp": _stamp(end), "epoch": 1000 * end}


def _dc_ties(now: int) -> bytes:
    newest = (now - TIES_AFTER) // TEN_SECONDS * TEN_SECONDS
    stamps = np.arange(MarketDay.at(newest, TZ).start, newest + TEN_SECONDS, TEN_SECONDS)
    flows = {name: (-_inflow(link, stamps)).round().astype(int).tolist() for name, link in LINES.items()}
    frequency = (60.0 + 0.025 * smooth("frequency/ercot", stamps, 40)).round(3).tolist()
    inertia = (320_000 + 40_000 * smooth("inertia/ercot", stamps, 3 * HOUR)).round().astype(int).tolist()
    return render_dc_ties(stamps.tolist(), flows, frequency, inertia)


def _inflow(link: str, stamps: Ints) -> Floats:
    return grid.inflow(ZONE, next(tie for tie in grid.ties(ZONE) if tie.id == link), stamps)


def render_dc_ties(
    stamps: Sequence[int],
    flows: Mapping[str, Sequence[int]],
    frequency: Sequence[float],
    inertia: Sequence[int],
) -> bytes:
    """`dc-tie-flows.json` from instants and whole MW by tie, minus for import."""
    rows = []
    for i, ts in enumerate(stamps):
        moment = local(ts, TZ)
        rows.append(
            {
                "currentFrequency": plain(frequency[i], 3),
                "currentSystemInertia": inertia[i],
                **{name: flow[i] for name, flow in flows.items()},
                "timestamp": f"{moment:%Y-%m-%d %H:%M:%S%z}",
                "epoch": 1000 * ts,
                "interval": f"{moment:%H:%M:%S}",
                "dstFlag": "NY"[moment.fold],
            }
        )
    return orjson.dumps({"lastUpdated": rows[-1]["timestamp"], "data": rows})


def _stamp(ts: int) -> str:
    return f"{local(ts, TZ):%Y-%m-%d %H:%M:%S%z}"


def _flag(ts: int) -> str:
    return "NY"[local(ts, TZ).fold]


_PAGES: dict[str, Callable[[int], bytes]] = {
    "system-wide-prices": _prices_page,
    "supply-demand": _supply_and_demand,
    "system-wide-demand": _hourly_demand,
    "dc-tie-flows": _dc_ties,
}
