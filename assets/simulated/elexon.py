"""Simulate Elexon Insights: market index, demand outturn, interconnector flows and generation by type per half hour.

Settlement dates are London's; timestamps are UTC. Values come from the model grid. The original:
https://bmrs.elexon.co.uk/api-documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer
from assets.simulated.grid.noise import Ints, smooth
from assets.sources.elexon import TIES
from assets.sources.elexon.bodies import BASE
from assets.sources.elexon.mix import PSR_TYPES
from assets.sources.elexon.mix_forecast import FUELS as FORECAST_FUELS
from warehouse.errors import BadWindow
from warehouse.market.clock import DAY, HOUR, MarketDay, instant, iso, local_date, local_midnight, market_days
from warehouse.market.feeds import Request

HALF_HOUR = 1800
LONDON = "Europe/London"
INDEX_LAG = 50 * 60
"""Seconds after a half hour's end until its market index is published. Demand and flows are published at the end."""
LONGEST_INDEX = 7 * DAY
"""The maximum range of the market index. Seven days of a London autumn are refused, since they last an hour more."""
TYPES_LAG = 60 * 60
"""Seconds after a half hour's end until its generation by type is published."""
DGWS_AT = 16 * HOUR + 45 * 60
"""Seconds after London midnight of the day before."""
NDF_AT = 17 * 60
"""Seconds after each half hour at which a demand forecast is published."""
NDF_OF_OLD_DAYS = 6 * HOUR
Entries = list[dict[str, Any]]


def simulate_response(request: Request, now: int) -> Answer:
    """Return the response by path. Parameters that cannot be read get a 400 problem document."""
    path = request.url.removeprefix(f"{BASE}/")
    if path not in _ENDPOINTS:
        return json_answer({"statusCode": 404, "message": "Resource not found"}, 404)
    entries, datasets = _ENDPOINTS[path]
    try:
        rows = entries(dict(request.params), now)
    except BadWindow:
        return json_answer({"title": "One or more validation errors occurred.", "status": 400}, 400)
    if path.endswith("/stream"):
        return json_answer(rows)
    return json_answer({**({"metadata": {"datasets": datasets}} if datasets else {}), "data": rows})


def _market_index(params: Mapping[str, str], now: int) -> Entries:
    """Return APXMIDP's half hours that start between two times, both included."""
    first, last = instant(params["from"]), instant(params["to"])
    if last - first > LONGEST_INDEX:
        raise BadWindow("from and to are too far apart")
    ts = _half_hours(first, last + 1, now - INDEX_LAG)[::-1]
    prices = grid.price("GB", ts, HALF_HOUR).round(2).tolist()
    volumes = (2200.0 + 1200.0 * smooth("elexon/market index volume", ts, 3 * HOUR)).round(2).tolist()
    return [
        {"dataset": "MID", "startTime": iso(start), "dataProvider": "APXMIDP", "price": price, "volume": volume}
        for start, price, volume in zip(ts.tolist(), prices, volumes, strict=True)
    ]


def _outturn(params: Mapping[str, str], now: int) -> Entries:
    """Return the national demand."""
    ts = _half_hours(*_dates(params), now)
    demand = grid.demand("GB", ts, HALF_HOUR).round().astype(int).tolist()
    return [{**_published(start), "initialDemandOutturn": mw} for start, mw in zip(ts.tolist(), demand, strict=True)]


def _demand_forecast(params: Mapping[str, str], now: int) -> Entries:
    """Return the vintages published in a range: each half hour today, and each six hours on past days."""
    first, last = (instant(params[name]) for name in ("publishDateTimeFrom", "publishDateTimeTo"))
    rows: Entries = []
    for published in range(-(-(first - NDF_AT) // HALF_HOUR) * HALF_HOUR + NDF_AT, min(last, now + 1), HALF_HOUR):
        day = MarketDay.at(published, LONDON)
        if day.end <= now and (published - day.start) % NDF_OF_OLD_DAYS >= HALF_HOUR:
            continue
        ts = np.arange(published - NDF_AT + HALF_HOUR, day.next().end, HALF_HOUR, dtype=np.int64)
        expected = grid.as_forecast(grid.demand("GB", ts, HALF_HOUR), ts, published, "elexon.demand_forecast")
        rows += [
            {
                "dataset": "NDF",
                "demand": megawatts,
                "publishTime": iso(published),
                "startTime": iso(start),
            }
            for start, megawatts in zip(ts.tolist(), expected.round().astype(int).tolist(), strict=True)
        ]
    return rows


def _mix_forecast(params: Mapping[str, str], now: int) -> Entries:
    """Return the forecast of wind and solar published in the afternoon before each settlement date."""
    first, last = _dates(params, "from", "to")
    rows: Entries = []
    for day in market_days(local_date(first, LONDON), local_date(last - 1, LONDON), LONDON):
        published = day.next(-1).start + DGWS_AT
        if published > now:
            continue
        ts = np.arange(day.start, day.end, HALF_HOUR, dtype=np.int64)
        mix = grid.mix("GB", ts, HALF_HOUR)
        for name, fuel in FORECAST_FUELS.items():
            expected = grid.as_forecast(mix[fuel], ts, published, f"elexon.mix_forecast/{fuel}", 0.15)
            rows += [
                {
                    "publishTime": iso(published),
                    "processType": "Day Ahead",
                    "businessType": _business(name),
                    "psrType": name,
                    "startTime": iso(start),
                    "quantity": megawatts,
                }
                for start, megawatts in zip(ts.tolist(), expected.round().tolist(), strict=True)
            ]
    return rows


def _interconnectors(params: Mapping[str, str], now: int) -> Entries:
    """Return MW by interconnector, + = into GB."""
    ts = _half_hours(*_dates(params), now)[::-1]
    ties = {tie.id: grid.inflow("GB", tie, ts, HALF_HOUR) for tie in grid.ties("GB")}
    flows = {link: flow.round().astype(int).tolist() for link, flow in ties.items()}
    return [
        {
            "dataset": "INTOUTHH",
            **_published(start),
            "interconnectorName": name,
            "generation": flows[TIES[name].link][i],
        }
        for i, start in enumerate(ts.tolist())
        for name in TIES
    ]


def _by_type(params: Mapping[str, str], now: int) -> Entries:
    """Return MW by type, the newest half hour first. The order of the types varies."""
    ts = _half_hours(*_dates(params, "from", "to"), now - TYPES_LAG)[::-1]
    mix = {fuel: mw.round().astype(int).tolist() for fuel, mw in grid.mix("GB", ts, HALF_HOUR).items()}
    types = [(name, mix[fuel]) for name, fuel in PSR_TYPES.items() if fuel in mix and name not in _NOT_IN_THE_GRID]
    entries: Entries = []
    for i, start in enumerate(ts.tolist()):
        period = (start - MarketDay.at(start, LONDON).start) // HALF_HOUR + 1
        parts = [{"businessType": _business(name), "psrType": name, "quantity": mw[i]} for name, mw in types]
        turn = period % len(parts)
        entries.append({"startTime": iso(start), "settlementPeriod": period, "data": parts[turn:] + parts[:turn]})
    return entries


def _business(psr_type: str) -> str:
    word = psr_type.partition(" ")[0]
    return f"{word} generation" if word in ("Solar", "Wind") else "Production"


_NOT_IN_THE_GRID = ("Hydro Water Reservoir", "Other renewable")


def _dates(
    params: Mapping[str, str], start: str = "settlementDateFrom", end: str = "settlementDateTo"
) -> tuple[int, int]:
    """Return the window of settlement dates, both included."""
    first, last = (date.fromisoformat(params[name]) for name in (start, end))
    return local_midnight(first, LONDON), MarketDay(last, LONDON).end


def _half_hours(start: int, end: int, until: int) -> Ints:
    """Return the starts of the half hours of `[start, end)` that have ended by `until`."""
    return np.arange(-(-start // HALF_HOUR) * HALF_HOUR, min(end, until - HALF_HOUR + 1), HALF_HOUR, dtype=np.int64)


def _published(ts: int) -> dict[str, str]:
    return {"publishTime": iso(ts + HALF_HOUR), "startTime": iso(ts)}


_ENDPOINTS: Mapping[str, tuple[Callable[[Mapping[str, str], int], Entries], tuple[str, ...]]] = {
    "balancing/pricing/market-index": (_market_index, ()),
    "datasets/NDF/stream": (_demand_forecast, ()),
    "demand/outturn": (_outturn, ("INDO",)),
    "forecast/generation/wind-and-solar/day-ahead": (_mix_forecast, ("DGWS",)),
    "generation/actual/per-type": (_by_type, ("AGPT",)),
    "generation/outturn/interconnectors": (_interconnectors, ("INTOUTHH",)),
}
"""By path: the function that lists the entries, and the names of the data sets."""
