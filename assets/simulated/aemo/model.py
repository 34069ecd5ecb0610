"""The Australian market of the model grid in AEMO's terms: regions, interconnectors, trading intervals, exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def at(self, places: Sequence[int]) -> Block:
        """Some of the intervals, by their places."""
        chosen = list(places)
        price, demand, export, flow, metered = (
            {name: values[chosen] for name, values in columns.items()}
            for columns in (self.price, self.demand, self.export, self.flow, self.metered)
        )
        return Block(self.ends[chosen], self.step, price, demand, export, flow, metered)

    def pricing_run(self) -> Block:
        """Of a market intervention, the run that sets prices: its flows are those without the intervention."""
        flow = {name: values * 0.9 for name, values in self.flow.items()}
        return replace(self, export=_shifted(self.export, 5.0), flow=flow)

    def intervention_run(self) -> Block:
        """And the run that was dispatched: its flows are real, its prices and demand do not settle."""
        return replace(self, price=_shifted(self.price, 20.0), demand=_shifted(self.demand, 5.0))


def _shifted(columns: Columns, by: float) -> Columns:
    return {name: values + by for name, values in columns.items()}


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
