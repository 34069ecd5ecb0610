"""Simulate Energi Data Service: prices with a float32's tail, flows and carbon intensity of both Danish areas.

Values come from the model grid. The original: https://www.energidataservice.dk.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer
from assets.simulated.day_ahead import QUARTER_HOURLY_SINCE, auction, is_out
from assets.sources.energinet import AREAS, BORDERS, CARBON, CARBON_FORECAST, FLOWS, HOST, PRICES, TZ
from warehouse.market.clock import MarketDay, market_days, utc
from warehouse.market.feeds import Request

OUT_AT = time(13, 30)
LAG = 4 * 60


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/dataset/NAME?start=&end=&filter=&limit=0`, the end excluded."""
    name, params = request.url.removeprefix(f"https://{HOST}/dataset/"), dict(request.params)
    if name not in (*PRICES, FLOWS, CARBON, CARBON_FORECAST):
        return json_answer({"message": "not found"}, 404)
    first, last = date.fromisoformat(params["start"]), date.fromisoformat(params["end"]) - timedelta(days=1)
    areas = orjson.loads(params["filter"])["PriceArea"]
    days = market_days(first, last, TZ)
    records = [record for day in days for record in _records(name, areas, day, now)]
    return json_answer({"total": len(records), "limit": 0, "dataset": name, "records": records})


def _records(name: str, areas: list[str], day: MarketDay, now: int) -> list[dict[str, Any]]:
    if name in (CARBON, CARBON_FORECAST):
        return _carbon(name, day, now)
    return _flows(day, now) if name == FLOWS else _prices(name, areas, day, now)


def _carbon(name: str, day: MarketDay, now: int) -> list[dict[str, Any]]:
    """Return actual values up to now, or the forecast until the end of the day."""
    ahead = name == CARBON_FORECAST
    first, end = (max(day.start, now - now % 300), day.end) if ahead else (day.start, min(day.end, now - LAG))
    ts = np.arange(first, end, 300, dtype=np.int64)
    grams = grid.carbon("DK-1", ts, 300)
    if ahead:
        grams = grid.as_forecast(grams, ts, now - now % 3600, "energinet.carbon_forecast", 0.15)
    return [
        {"Minutes5UTC": _stamp(at), "Minutes5DK": _stamp(at), "PriceArea": area, "CO2Emission": round(value * factor)}
        for at, value in zip(ts.tolist(), grams.tolist(), strict=True)
        for area, factor in (("DK1", 1.0), ("DK2", 1.3))
    ]


def _prices(name: str, areas: list[str], day: MarketDay, now: int) -> list[dict[str, Any]]:
    stamp, price, _, resolution = PRICES[name]
    if not is_out(day, now, OUT_AT) or (resolution == "15m") != (day.day >= QUARTER_HOURLY_SINCE):
        return []
    return [
        {stamp: _stamp(ts), "PriceArea": area, price: _single(value)}
        for area in areas
        for ts, value in zip(*auction(AREAS[area], day), strict=True)
    ]


def _flows(day: MarketDay, now: int) -> list[dict[str, Any]]:
    ts = np.arange(day.start, min(day.end, now - LAG), 300, dtype=np.int64)
    flows = {column: grid.border("DK-1", area, ts, 300).round(2).tolist() for column, area in BORDERS.items()}
    records = []
    for i, at in enumerate(ts.tolist()):
        here = {column: _single(values[i]) for column, values in flows.items()}
        there = dict.fromkeys(BORDERS) | {"ExchangeGreatBelt": -here["ExchangeGreatBelt"]}
        for area, values in (("DK1", here), ("DK2", there)):
            records.append({"Minutes5UTC": _stamp(at), "PriceArea": area, **values})
    return records


def _stamp(ts: int) -> str:
    return f"{utc(ts):%Y-%m-%dT%H:%M:%S}"


def _single(value: float) -> float:
    """Return a number as float32 stores it, rounded to six decimals."""
    return round(float(np.float32(value)), 6)
