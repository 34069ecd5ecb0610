"""Simulated Energy-Charts: day-ahead prices of a bidding zone over local days, with the zone's licence.

A range without any published price answers 404. Values come from the model grid. The original:
https://api.energy-charts.info.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.sources.energy_charts import BIDDING_ZONES, HOST, TZ
from warehouse.clock import HOUR, MarketDay, market_days, zone_of
from warehouse.market import Request

QUARTER = 900
OUT_AT = time(13, 40)
"""When tomorrow's prices are out, local time."""
QUARTER_HOURLY_SINCE = date(2025, 10, 1)
LONGEST = 366
"""Days an answer."""

FREE = "CC BY 4.0 (creativecommons.org/licenses/by/4.0) from Bundesnetzagentur | SMARD.de"
RESTRICTED = (
    "The data provided herein is for private and internal use only. "
    "The utilization of any data, whether in its raw or derived "
    "form, for external or commercial purposes is expressly prohibited. "
    "Should you require licensing for market-related data, please "
    "direct your inquiries to the original data providers, including but not limited to EPEX SPOT SE."
)
_ZONES = {name: (zone, FREE) for zone, name in BIDDING_ZONES.items()} | {
    "ES": ("ES", RESTRICTED),
    "SE3": ("SE-3", RESTRICTED),
}
_JSON = (("content-type", "application/json"),)


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
    zone, licence = _ZONES[params["bzn"]]
    stamps, prices = _prices(zone, [day for day in market_days(first, last, TZ) if _is_out(day, now)])
    if not stamps:
        return _refused(404, "No content available")
    return Answer(200, render_prices(licence, stamps, prices), _JSON)


def _refused(status: int, detail: str) -> Answer:
    return Answer(status, orjson.dumps({"detail": detail}), _JSON)


def _is_out(day: MarketDay, now: int) -> bool:
    moment = datetime.fromtimestamp(now, zone_of(TZ))
    ahead = (day.day - moment.date()).days
    return ahead <= 0 or (ahead == 1 and moment.time() >= OUT_AT)


def _prices(zone: str, days: Sequence[MarketDay]) -> tuple[list[int], list[float]]:
    stamps: list[int] = []
    prices: list[float] = []
    for step in (HOUR, QUARTER):
        chosen = [day for day in days if _step(zone, day) == step]
        ts = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(day.start, day.end, step, dtype=np.int64) for day in chosen)]
        )
        stamps += ts.tolist()
        prices += (grid.price(zone, ts, step, "day_ahead").round(2) + 0.0).tolist()  # no -0.0
    return stamps, prices


def _step(zone: str, day: MarketDay) -> int:
    return QUARTER if zone != "CH" and day.day >= QUARTER_HOURLY_SINCE else HOUR


def render_prices(licence: str, stamps: Sequence[int], prices: Sequence[float]) -> bytes:
    """The answer for interval starts (Unix seconds) and prices in EUR/MWh."""
    return orjson.dumps(
        {
            "license_info": licence,
            "unix_seconds": stamps,
            "price": prices,
            "unit": "EUR / MWh",
            "deprecated": False,
        }
    )
