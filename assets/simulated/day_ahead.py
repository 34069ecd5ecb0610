"""Compute the day-ahead auction of the model grid for every European publisher: intervals and prices of civil days."""

from __future__ import annotations

from datetime import date, datetime, time

import numpy as np

from assets.simulated import grid
from assets.simulated.grid.noise import Ints
from warehouse.market.clock import HOUR, MarketDay, zone_of

QUARTER = 900
QUARTER_HOURLY_SINCE = date(2025, 10, 1)


def step_of(zone: str, day: date) -> int:
    """Return the seconds of an auction's interval: an hour for CH, a quarter hour for SDAC since October 2025."""
    return QUARTER if zone != "CH" and day >= QUARTER_HOURLY_SINCE else HOUR


def is_out(day: MarketDay, now: int, out_at: time) -> bool:
    """Return whether a publisher of tomorrow's prices at `out_at` (in the day's own zone) has published this day's."""
    moment = datetime.fromtimestamp(now, zone_of(day.tz))
    ahead = (day.day - moment.date()).days
    return ahead <= 0 or (ahead == 1 and moment.time() >= out_at)


def auction(zone: str, day: MarketDay) -> tuple[Ints, list[float]]:
    """Return interval starts of a civil day and prices in EUR/MWh, to the cent."""
    step = step_of(zone, day.day)
    ts = np.arange(day.start, day.end, step, dtype=np.int64)
    return ts, (grid.price(zone, ts, step, "day_ahead").round(2) + 0.0).tolist()  # no -0.0
