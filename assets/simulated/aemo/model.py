"""The Australian market of the model grid in AEMO's terms: regions, interconnectors, trading intervals, exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np

from assets.simulated import grid
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.aemo.files import FIVE_MINUTES, MARKET_TZ
from assets.sources.aemo.rows import HALF_HOUR, REGIONS, TIES
from warehouse.market.clock import MarketDay

FIVE_MINUTE_TRADING = date(2021, 10, 1)
"""The first day of five-minute trading intervals; before it they lasted half an hour."""

Columns = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Block:
    """Contiguous intervals: their ends (Unix seconds), with columns in MW or AUD/MWh by region or interconnector."""

    ends: Ints
    step: int
    price: Columns
    demand: Columns
    export: Columns
    flow: Columns
    """From an interconnector's first region to its second, as targeted for the interval."""
    metered: Columns
    """The same as measured at its start."""


def block(start: int, end: int, step: int = FIVE_MINUTES) -> Block:
    """The intervals of `[start, end)`; regions and interconnectors by name."""
    ts = np.arange(start, end, step, dtype=np.int64)
    regions = sorted(REGIONS.items())
    lines = {name: grid.line(link) for name, (_, _, link) in sorted(TIES.items())}
    flow = {name: grid.flow(line, ts, step) for name, line in lines.items() if line.since <= start}
    return Block(
        ts + step,
        step,
        {region: grid.price(zone, ts, step) for region, zone in regions},
        {region: grid.demand(zone, ts, step) for region, zone in regions},
        {region: -grid.interchange(zone, ts, step) for region, zone in regions},
        flow,
        {name: np.concatenate([values[:1], values[:-1]]) for name, values in flow.items()},
    )


@lru_cache(maxsize=48)
def day_block(day: date) -> Block:
    """The five-minute intervals of a market day."""
    window = MarketDay(day, MARKET_TZ).window
    return block(window.start, window.end)


def trading_step(day: date) -> int:
    """Seconds of a trading interval on a market day."""
    return FIVE_MINUTES if day >= FIVE_MINUTE_TRADING else HALF_HOUR
