"""Simulate Energy-Charts: day-ahead prices of a bidding zone over local days, with the zone's licence.

A range without published prices returns 404. Values come from the model grid. The original:
https://api.energy-charts.info.
"""

from __future__ import annotations

from datetime import date, time

from assets.simulated.answer import Answer, json_answer
from assets.simulated.day_ahead import auction, is_out
from assets.sources.energy_charts import BIDDING_ZONES, HOST, TZ
from warehouse.market.clock import market_days
from warehouse.market.feeds import Request

OUT_AT = time(13, 40)
"""When tomorrow's prices are published, local time."""

FREE = "CC BY 4.0 (creativecommons.org/licenses/by/4.0) from Bundesnetzagentur | SMARD.de"
_ZONES = {name: zone for zone, name in BIDDING_ZONES.items()}


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/price?bzn=&start=&end=`, both days included."""
    params = dict(request.params)
    if request.url != f"https://{HOST}/price" or params.get("bzn") not in _ZONES:
        return _refused(404, "Not Found")
    first, last = (date.fromisoformat(params[name]) for name in ("start", "end"))
    stamps: list[int] = []
    prices: list[float] = []
    for day in market_days(first, last, TZ):
        if is_out(day, now, OUT_AT):
            ts, values = auction(_ZONES[params["bzn"]], day)
            stamps += ts.tolist()
            prices += values
    if not stamps:
        return _refused(404, "No content available")
    return json_answer({"license_info": FREE, "unix_seconds": stamps, "price": prices, "unit": "EUR / MWh"})


def _refused(status: int, detail: str) -> Answer:
    return json_answer({"detail": detail}, status)
