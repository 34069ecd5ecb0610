"""Simulated Energy-Charts: day-ahead prices of a bidding zone over local days, with the zone's licence.

A range without any published price answers 404. Values come from the model grid. The original:
https://api.energy-charts.info.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time

from assets.simulated.answer import Answer, json_answer
from assets.simulated.day_ahead import auction, is_out
from assets.sources.energy_charts import BIDDING_ZONES, HOST, TZ
from warehouse.market.clock import MarketDay, market_days
from warehouse.market.market import Request

OUT_AT = time(13, 40)
"""When tomorrow's prices are out, local time."""
LONGEST = 366
"""Days an answer."""

FREE = "CC BY 4.0 (creativecommons.org/licenses/by/4.0) from Bundesnetzagentur | SMARD.de"
_ZONES = {name: zone for zone, name in BIDDING_ZONES.items()}


def answer(request: Request, now: int) -> Answer:
    """`/price?bzn=&start=&end=`, both days included."""
    params = dict(request.params)
    if request.url != f"https://{HOST}/price" or params.get("bzn") not in _ZONES:
        return _refused(404, "Not Found")
    try:
        first, last = (date.fromisoformat(params[name]) for name in ("start", "end"))
    except (KeyError, ValueError):
        return _refused(400, "Invalid date format")
    if not 0 <= (last - first).days < LONGEST:
        return _refused(400, "Invalid date range")
    stamps, prices = _prices(
        _ZONES[params["bzn"]], [day for day in market_days(first, last, TZ) if is_out(day, now, OUT_AT)]
    )
    if not stamps:
        return _refused(404, "No content available")
    return json_answer({"license_info": FREE, "unix_seconds": stamps, "price": prices, "unit": "EUR / MWh"})


def _refused(status: int, detail: str) -> Answer:
    return json_answer({"detail": detail}, status)


def _prices(zone: str, days: Sequence[MarketDay]) -> tuple[list[int], list[float]]:
    stamps: list[int] = []
    prices: list[float] = []
    for day in days:
        ts, values = auction(zone, day)
        stamps += ts.tolist()
        prices += values
    return stamps, prices
