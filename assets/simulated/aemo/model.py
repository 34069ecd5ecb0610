"""The Australian market of the model grid in AEMO's terms: regions, interconnectors, trading intervals, exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

import numpy as np

from assets.simulated import grid
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.aemo.files import FIVE_MINUTES, MARKET_TZ
from assets.sources.aemo.rows import HALF_HOUR, REGIONS, TIES
from warehouse.clock import MarketDay

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

    def with_intervention(self) -> Block:
        """The intervention run of a dispatch: targets that differ from those the prices imply."""
        price = {region: values + 20.0 for region, values in self.price.items()}
        demand, export = (
            {region: values + 5.0 for region, values in part.items()} for part in (self.demand, self.export)
        )
        return replace(
            self,
            price=price,
            demand=demand,
            export=export,
            flow={name: values * 0.9 for name, values in self.flow.items()},
        )


def block(start: int, end: int, step: int = FIVE_MINUTES) -> Block:
    """The intervals of `[start, end)`; regions and interconnectors by name."""
    ts = np.arange(start, end, step, dtype=np.int64)
    regions = sorted(REGIONS.items())
    flow = {name: grid.flow(link, ts, step) for name, (_, _, link) in sorted(TIES.items())}
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
