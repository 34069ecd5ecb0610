"""Combine both directions of a border into its flow, and all borders of a zone into its net, if all parts exist.

A border without data is unknown: there is no net, and the run reports the border. Only a border of a single cable may
be out of service, because publishers send no data for a cable under repair. If it has no data for 14 days, while most
of its zone's borders report, its flow is 0, and the net of that time is written without it. The two weeks before the
days of a run are fetched again. If the cable's values arrive later, these nets are rebuilt. A border of lines is never
assumed to be out of service: operators have left out whole ones for weeks (DE-LU with NL in May 2024).

The grid is the quarter hours of the hours that have a reading. If parts differ in resolution, the finer ones are
converted to the coarser by their exact time-weighted mean, hour by hour. The reverse never happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assets.parsing.outside_areas import ANNOUNCED
from assets.sources.entsoe.areas import BORDERS, NET_SINCE, Border
from warehouse.market.clock import HOUR, RESOLUTIONS
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Member, Readings, Rows, SeriesKey

INTO, OUT_OF = "in", "out"
"""The values of `link` in a one-way row until it is combined."""

QUARTER = 900
SILENT_HOURS = 14 * 24
"""Hours without data after which a cable counts as out of service."""
_LEVELS = {"1h": 4, "30m": 2, "15m": 1}
"""Quarter hours of each resolution, coarse ones first, so that finer readings overwrite them."""
_WATT_DECIMALS = 6
"""Decimals of a megawatt: publishers give two, and a mean of four adds two. Further decimals are float error."""

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Flow:
    """Quarter hours in rows of an hour: MW, with NaN for unknown values, and each hour's coarsest resolution."""

    values: _Floats
    level: _Ints


def combine(rows: Rows) -> Rows:
    """Return canonical `interchange` rows from one-way readings: a row per border and interval, and the zone's net."""
    combined = Rows()
    combined.merge_notes(rows)
    for zone, borders in BORDERS.items():
        series = {key: readings for key, readings in rows.readings.items() if key.zone == zone and readings.ts}
        if series:
            _combine_zone(combined, zone, borders, series)
    return combined


def _combine_zone(combined: Rows, zone: str, borders: Sequence[Border], series: dict[SeriesKey, Readings]) -> None:
    hours = np.unique(np.concatenate([np.asarray(readings.ts, np.int64) // HOUR for readings in series.values()]))
    flows: list[_Flow] = []
    silent: list[_Flags] = []
    for border in borders:
        into, out = (
            _laid({k: s for k, s in series.items() if (k.counterparty, k.link) == (border.neighbour, way)}, hours)
            for way in (INTO, OUT_OF)
        )
        flow = _Flow(into.values + out.values, np.maximum(into.level, out.level))
        nothing: _Flags = np.logical_and.reduce(np.isnan(np.hstack([into.values, out.values])), axis=1)
        silent.append(nothing)
        _put(
            combined,
            SeriesKey(zone, Metric.INTERCHANGE, "MW", "1h", counterparty=border.neighbour, link=border.link),
            flow,
            hours,
        )
        flows.append(_before_its_time(flow, border, hours))
    most: _Flags = np.asarray(np.mean(silent, axis=0) <= 0.5)
    for number, border in enumerate(borders):
        missing = silent[number] & most & np.isnan(flows[number].values).all(axis=1)
        resting = missing & _long(silent[number], hours) & border.is_cable
        if resting.any():
            combined.dropped[f"{zone} without {border.neighbour}, silent for 14 days (hours)"] += int(resting.sum())
            flows[number] = _Flow(np.where(resting[:, None], 0.0, flows[number].values), flows[number].level)
        if (lacking := missing & ~resting).any():
            combined.dropped[f"no net of {zone}: {border.neighbour} is silent (hours)"] += int(lacking.sum())
    values = np.sum([f.values for f in flows], axis=0)
    values[np.isin(hours, _withheld(combined, zone, hours))] = np.nan
    values[hours * HOUR < NET_SINCE.get(zone, 0)] = np.nan
    net = _Flow(values, np.max([f.level for f in flows], axis=0))
    _put(combined, SeriesKey(zone, Metric.INTERCHANGE, "MW", "1h"), net, hours)


def _withheld(combined: Rows, zone: str, hours: _Ints) -> list[int]:
    """Return the hours without a net: an unknown border has a reading in them, or an announced border may have."""
    for border in ANNOUNCED:
        if zone in border.zones and hours[-1] * HOUR >= border.since:
            quarters = np.add.outer(hours[hours * HOUR >= border.since] * HOUR, np.arange(0, HOUR, QUARTER))
            combined.refuse(zone, Metric.INTERCHANGE, quarters.flatten().tolist())
            combined.note_unknown(
                Member(zone, Metric.INTERCHANGE, f"announced border {border.name}"), quarters[:, 0].tolist()
            )
    return [ts // HOUR for ts in combined.refused.get((zone, Metric.INTERCHANGE), ())]


def _laid(series: dict[SeriesKey, Readings], hours: _Ints) -> _Flow:
    """Return one direction on the grid of quarter hours, with the finer readings over the coarser."""
    values = np.full(len(hours) * 4, np.nan)
    level = np.zeros(len(hours), np.int64)
    for resolution, quarters in _LEVELS.items():
        for key, readings in series.items():
            if key.resolution != resolution:
                continue
            ts, agreed = _agreed(readings)
            cells = np.searchsorted(hours, ts // HOUR) * 4 + ts % HOUR // QUARTER
            for quarter in range(quarters):
                values[cells + quarter] = agreed
            level[cells // 4] = np.maximum(level[cells // 4], quarters)
    return _Flow(values.reshape(-1, 4), level)


def _agreed(readings: Readings) -> tuple[_Ints, _Floats]:
    """Return each time once. A time with two values gets NaN, which a sum cannot use."""
    ts, first, place = np.unique(np.asarray(readings.ts, np.int64), return_index=True, return_inverse=True)
    values = np.asarray(readings.values, np.float64)
    agreed = values[first]
    agreed[np.unique(place[values != agreed[place]])] = np.nan
    return ts, agreed


def _before_its_time(flow: _Flow, border: Border, hours: _Ints) -> _Flow:
    """Return the flow as a part of the net: 0 before its cable existed, unless a value was published earlier."""
    known = ~np.isnan(flow.values)
    unborn = (hours * HOUR < border.since)[:, None] & ~np.logical_or.accumulate(known.ravel()).reshape(known.shape)
    return _Flow(np.where(unborn, 0.0, flow.values), flow.level)


def _long(silent: _Flags, hours: _Ints) -> _Flags:
    """Return the hours in a silence of at least `SILENT_HOURS`, if other borders report in half of its hours."""
    chosen = np.zeros(len(hours), np.bool_)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], silent, [False]])))
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        lasting = hours[after - 1] + 1 - hours[first]
        chosen[first:after] = lasting >= SILENT_HOURS and after - first >= lasting / 2
    return chosen


def _put(combined: Rows, key: SeriesKey, flow: _Flow, hours: _Ints) -> None:
    """Add each hour's intervals of its resolution, if all their quarters are known."""
    for resolution, quarters in _LEVELS.items():
        chosen = flow.level == quarters
        parts = flow.values[chosen].reshape(-1, quarters)
        starts = (hours[chosen, None] * HOUR + np.arange(0, HOUR, RESOLUTIONS[resolution])).reshape(-1)
        values = _mean(parts)
        known = ~np.isnan(values)
        if known.any():
            rounded = np.round(values[known], _WATT_DECIMALS) + 0.0  # avoids -0.0
            combined.extend(key._replace(resolution=resolution), starts[known].tolist(), rounded.tolist())


def _mean(parts: _Floats) -> _Floats:
    """Return the mean of 1, 2 or 4 columns, by pairs: the mean of equal values is exactly that value."""
    while parts.shape[1] > 1:
        parts = (parts[:, 0::2] + parts[:, 1::2]) / 2
    return parts[:, 0]
