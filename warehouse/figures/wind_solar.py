"""Compute wind and solar in percent of demand, from forecasts or from actual values. No files, no clock.

docs/windows.md defines the share. It is not a metric: `/v1/windows` searches it, and it is never stored.
"""

from __future__ import annotations

import numpy as np

from warehouse.figures.forecast_scores import means
from warehouse.market.clock import RESOLUTIONS
from warehouse.market.vocabulary import Fuel
from warehouse.rows.versions import Ints, RowLabels
from warehouse.series.row_columns import RowColumns, joined

WIND_SOLAR = "wind_solar"
"""The value of `metric` in `/v1/windows`."""
_FUELS = (Fuel.WIND, Fuel.WIND_ONSHORE, Fuel.WIND_OFFSHORE, Fuel.SOLAR)
SOLAR_ADDED = frozenset({"GB"})
"""Zones whose published demand excludes what embedded solar panels supply: their output is added to it."""


def shares(zone: str, generation: RowColumns, demand: RowColumns, least_step: int = 0) -> RowColumns:
    """Return wind and solar in percent of demand, to four decimals, as rows of the generation's source.

    All intervals are as long as the longest of all rows, at least `least_step` seconds; finer rows count by their
    means. An interval has a share if its demand and every fuel of wind and solar in `generation` fill it, and if demand
    is above 0. A share of forecasts was published when the last of its rows was.
    """
    fuels = {fuel: rows for fuel in _FUELS if len(rows := _of_fuel(generation, fuel))}
    if not fuels or not len(demand):
        return joined(())
    parts = [demand, *fuels.values()]
    of = parts[1].labels[parts[1].label[-1]]
    step = max(least_step, *(int(rows.seconds().max()) for rows in parts))
    ts = np.unique(demand.ts // step * step)
    load, *came = (means(rows, ts, step) for rows in parts)
    if zone in SOLAR_ADDED:
        load = load + dict(zip(fuels, came, strict=True)).get(Fuel.SOLAR, np.nan)
    known = np.isfinite(sum(came, load)) & (load > 0)
    ts, value = ts[known], (100 * sum(came, np.zeros(len(ts)))[known] / load[known]).round(4) + 0.0
    resolution = next(word for word, seconds in RESOLUTIONS.items() if seconds == step)
    label = RowLabels(None, None, None, "%", resolution, of.source, of.feed)
    published = None if generation.published_at is None else _published(parts, ts, step)
    return RowColumns((label,), np.zeros(len(ts), np.int32), ts, value, published_at=published)


def _of_fuel(rows: RowColumns, fuel: Fuel) -> RowColumns:
    return rows.take(np.array([label.fuel == fuel for label in rows.labels] or [False], np.bool_)[rows.label])


def _published(parts: list[RowColumns], ts: Ints, step: int) -> Ints:
    """Return when the last row inside each interval was published."""
    latest = np.zeros(len(ts), np.int64)
    for rows in parts:
        start = rows.ts // step * step
        inside = np.isin(start, ts)
        if rows.published_at is not None:
            np.maximum.at(latest, np.searchsorted(ts, start[inside]), rows.published_at[inside])
    return latest
