"""Both directions of a border into its net flow, all borders of a zone into its net: only where every part is there.

A silent border is unknown: there is no net, and the run says which border it lacks. Only one that is a single cable may
be out of service, for nothing is published of a cable under repair: silent for 14 days, while most of its zone's
borders report, it carries nothing, and the net of that time is written without it. The two weeks before the days of a
run are asked for again; where the cable's figures come after all, they make these nets anew. A border of lines is
never taken for dead: operators have left out whole ones for weeks (DE-LU with NL in May 2024).

Works on the quarter hours of the hours that have a reading. Where parts differ in resolution, the finer are brought to
the coarser by their exact time-weighted mean, hour by hour; never the other way.
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
"""What a one-way row carries as `link` until it is combined."""

QUARTER = 900
SILENT_HOURS = 14 * 24
"""How long a cable says nothing until it counts as out of service."""
_LEVELS = {"1h": 4, "30m": 2, "15m": 1}
"""Quarter hours of each resolution, coarse ones first: finer readings are laid over them."""
_WATT_DECIMALS = 6
"""Decimals of a megawatt: publishers give two, a mean of four adds two; what is beyond is the floats' own noise."""

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Flow:
    """Quarter hours in rows of an hour: MW, NaN where nothing is known; and each hour's coarsest resolution."""

    values: _Floats
    level: _Ints


def combine(rows: Rows) -> Rows:
    """Canonical `interchange` rows of one-way readings: a row per border and interval, and the zone's net."""
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
    """The hours without a net, since an unknown border has a reading in them or an announced one may have."""
    for border in ANNOUNCED:
        if zone in border.zones and hours[-1] * HOUR >= border.since:
            quarters = np.add.outer(hours[hours * HOUR >= border.since] * HOUR, np.arange(0, HOUR, QUARTER))
            combined.refuse(zone, Metric.INTERCHANGE, quarters.flatten().tolist())
            combined.note_unknown(
                Member(zone, Metric.INTERCHANGE, f"announced border {border.name}"), quarters[:, 0].tolist()
            )
    return [ts // HOUR for ts in combined.refused.get((zone, Metric.INTERCHANGE), ())]


def _laid(series: dict[SeriesKey, Readings], hours: _Ints) -> _Flow:
    """One direction on the grid of quarter hours, the finer readings over the coarser."""
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
    """Each instant once; one with two values has none that a sum may use."""
    ts, first, place = np.unique(np.asarray(readings.ts, np.int64), return_index=True, return_inverse=True)
    values = np.asarray(readings.values, np.float64)
    agreed = values[first]
    agreed[np.unique(place[values != agreed[place]])] = np.nan
    return ts, agreed


def _before_its_time(flow: _Flow, border: Border, hours: _Ints) -> _Flow:
    """The flow as a part of the net: nothing, where its cable was not yet laid and no value has been given."""
    known = ~np.isnan(flow.values)
    unborn = (hours * HOUR < border.since)[:, None] & ~np.logical_or.accumulate(known.ravel()).reshape(known.shape)
    return _Flow(np.where(unborn, 0.0, flow.values), flow.level)


def _long(silent: _Flags, hours: _Ints) -> _Flags:
    """The hours in a silence of at least `SILENT_HOURS`, half of whose hours other borders report."""
    chosen = np.zeros(len(hours), np.bool_)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], silent, [False]])))
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        lasting = hours[after - 1] + 1 - hours[first]
        chosen[first:after] = lasting >= SILENT_HOURS and after - first >= lasting / 2
    return chosen


def _put(combined: Rows, key: SeriesKey, flow: _Flow, hours: _Ints) -> None:
    """Adds each hour's intervals of its resolution, where all their quarters are known."""
    for resolution, quarters in _LEVELS.items():
        chosen = flow.level == quarters
        parts = flow.values[chosen].reshape(-1, quarters)
        starts = (hours[chosen, None] * HOUR + np.arange(0, HOUR, RESOLUTIONS[resolution])).reshape(-1)
        values = _mean(parts)
        known = ~np.isnan(values)
        if known.any():
            rounded = np.round(values[known], _WATT_DECIMALS) + 0.0  # no -0.0
            combined.extend(key._replace(resolution=resolution), starts[known].tolist(), rounded.tolist())


def _mean(parts: _Floats) -> _Floats:
    """The mean of 1, 2 or 4 columns, by pairs: that of equal values is the value itself."""
    while parts.shape[1] > 1:
        parts = (parts[:, 0::2] + parts[:, 1::2]) / 2
    return parts[:, 0]
