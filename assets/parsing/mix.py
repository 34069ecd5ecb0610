"""Build the rows of `mix` and `carbon_estimate` from the readings by code of one response, for every mix.

A publisher's codes that share a fuel are added up. The sum has a row only if every code of this fuel in the response
has a value. Storage is the exception: output and consumption are codes of one fuel, and the caller negates consumption.
If one side has no value, the other is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assets.parsing.columns import FIVE_MINUTES, drop
from assets.parsing.totals import Part, extend_total, summed, undisputed
from warehouse.market import carbon
from warehouse.market.clock import RESOLUTIONS
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.rows.schema import Readings, Rows, SeriesKey

STORAGE = frozenset({Fuel.PUMPED_STORAGE, Fuel.BATTERY})


class Code(NamedTuple):
    """One column of a mix: the publisher's code, and the fuel that it counts towards."""

    zone: str
    fuel: Fuel
    name: str
    resolution: str


class MixByCode:
    """The readings of one response by code, in MW: output is positive, consumption of storage is negative."""

    __slots__ = ("readings", "unknown")

    def __init__(self) -> None:
        self.readings: dict[Code, Readings] = defaultdict(lambda: Readings([], []))
        self.unknown: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        """The generation of codes that are not in the list, by zone and interval start. It is for the estimate only."""

    def add(self, code: Code, ts: int, megawatts: float) -> None:
        """Add one reading of a code."""
        self.extend(code, [ts], [megawatts])

    def extend(self, code: Code, ts: Sequence[int], megawatts: Sequence[float]) -> None:
        """Add the readings of a code as parallel columns. Empty columns mean that the response has the code without a
        value.
        """
        readings = self.readings[code]
        readings.ts.extend(ts)
        readings.values.extend(megawatts)


def extend_mix(rows: Rows, by_code: MixByCode, inside: Mapping[str, str] | None = None) -> None:
    """Add the rows of `mix` and `carbon_estimate` of a response, and count the intervals at which a sum lacks a code.

    A code that is stated in another resolution counts as missing in this one. `inside` names, by code, the sources that
    have a factor of their own but are stored as part of a fuel: `coal_derived_gas`.
    """
    partial: dict[str, set[int]] = defaultdict(set)
    by_fuel: dict[tuple[str, Fuel], list[Code]] = defaultdict(list)
    for code in by_code.readings:
        by_fuel[code.zone, code.fuel].append(code)
    for (zone, fuel), codes in by_fuel.items():
        names = dict.fromkeys(code.name for code in codes)
        resolutions = dict.fromkeys(code.resolution for code in codes)
        for resolution in resolutions:
            key = SeriesKey(zone, Metric.MIX, "MW", resolution, fuel.value)
            parts = [by_code.readings.get(Code(zone, fuel, name, resolution), Readings([], [])) for name in names]
            if fuel in STORAGE:
                apart = _overlaps(by_code, codes, resolution) if len(resolutions) > 1 else set()
                _extend_net(rows, key, parts, apart)
            else:
                extend_total(rows, key, [Part(part.ts, part.values) for part in parts])
                summed_ts = rows.readings[key].ts if key in rows.readings else []
                partial[zone] |= {ts for part in parts if len(part.ts) != len(summed_ts) for ts in part.ts}.difference(
                    summed_ts
                )
    for zone in sorted({code.zone for code in by_code.readings}):
        _extend_estimate(rows, zone, _unstored(by_code, zone, inside or {}), partial[zone])


def _extend_net(rows: Rows, key: SeriesKey, sides: list[Readings], apart: set[int]) -> None:
    """Add output minus consumption of a storage fuel. An interval that one side states twice has no row.

    The times in `apart` have no row either.
    """
    by_side = [undisputed(side.ts, side.values) for side in sides]
    torn = {at for known, side in zip(by_side, sides, strict=True) for at in side.ts if at not in known}
    instants = sorted(set().union(*by_side) - torn - apart)
    if instants:
        rows.extend(key, instants, [summed(known[at] for known in by_side if at in known) for at in instants])
    drop(rows, "sum of contradicting parts", len(torn))
    drop(rows, "storage in two resolutions", len(apart))


def _overlaps(by_code: MixByCode, codes: list[Code], resolution: str) -> set[int]:
    """Return the starts of the intervals of a resolution that overlap one that the codes state in another."""
    step = RESOLUTIONS[resolution]
    cells = {
        cell
        for code in codes
        if code.resolution != resolution
        for ts in by_code.readings[code].ts
        for cell in range(ts, ts + RESOLUTIONS[code.resolution], FIVE_MINUTES)
    }
    starts = {ts for code in codes if code.resolution == resolution for ts in by_code.readings[code].ts}
    return {ts for ts in starts if any(cell in cells for cell in range(ts, ts + step, FIVE_MINUTES))}


def _extend_estimate(rows: Rows, zone: str, unstored: carbon.Unstored, partial: set[int]) -> None:
    """Add the estimates of a zone, and withdraw earlier ones of the intervals that are refused now.

    At the times in `partial`, a fuel has no row though one of its codes has a value: they are refused too.
    """
    mix = [
        carbon.FuelReadings(str(key.fuel), key.resolution, readings.ts, readings.values)
        for key, readings in rows.readings.items()
        if (key.zone, key.metric) == (zone, Metric.MIX)
    ]
    found = carbon.estimate(zone, mix, unstored)
    is_given = found.is_given & ~np.isin(found.ts, list(partial))
    rows.refuse(zone, Metric.CARBON_ESTIMATE, found.ts[~is_given].tolist())
    for resolution in {each.resolution for each in mix}:
        chosen = is_given & (found.seconds == RESOLUTIONS[resolution])
        key = SeriesKey(zone, Metric.CARBON_ESTIMATE, carbon.UNIT, resolution, factors=carbon.CURRENT_SET)
        bounds = list(zip(found.low[chosen].tolist(), found.high[chosen].tolist(), strict=True))
        if bounds:
            rows.extend(key, found.ts[chosen].tolist(), found.value[chosen].tolist(), bounds)


def _unstored(by_code: MixByCode, zone: str, inside: Mapping[str, str]) -> carbon.Unstored:
    """Return what the codes of a response report about a zone in addition to its rows."""
    parts: dict[str, dict[int, float]] = defaultdict(dict)
    for code, readings in by_code.readings.items():
        if code.zone == zone and code.name in inside:
            parts[inside[code.name]].update(zip(readings.ts, readings.values, strict=True))
    return carbon.Unstored(parts, by_code.unknown.get(zone, {}))
