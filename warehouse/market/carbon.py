"""Estimate carbon intensity: grams of CO2 per kWh generated inside a zone, from its generation mix.

The method (`production-direct-1`) divides the direct emissions of all fuels by their generation. Storage, rooftop solar
and imports are on neither side; a fuel below zero, which is own use, counts as zero. An interval is refused if the mix
cannot support an estimate: see `Reason`. docs/carbon.md explains the method and its limits.

A parser calls `estimate` over the rows of a response, because the response shows more than the rows: how much of `gas`
is coal-derived, and what unknown codes generate. The API calls it over stored rows to explain a gap.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from warehouse.market.clock import DAY, RESOLUTIONS
from warehouse.market.vocabulary import Fuel

Reason = Literal["fuel_missing", "other_share", "wide"]
"""Why an interval has no estimate.

`fuel_missing`: a usual fuel is missing, there are fewer than three fuels, or two resolutions are mixed. `other_share`:
too much of the generation has no known fuel. `wide`: the bounds are too far apart.
"""

CURRENT_SET = "emds-direct-1"
"""The set for newly parsed rows. A published set never changes: other factors need another ID."""
UNIT = "gCO2/kWh"
UNCOUNTED = frozenset({Fuel.PUMPED_STORAGE, Fuel.BATTERY, Fuel.SOLAR_ROOFTOP, Fuel.IMPORTS})
"""Fuels on neither side of the fraction."""
FEWEST_FUELS = 3
USUAL_SHARE = 0.8
"""A fuel with rows in this share of a response's intervals is expected in all of them, except solar at night."""
MOST_OTHER = 0.15
WIDEST_GRAMS, WIDEST_SHARE = 80.0, 0.35

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


class Factor(NamedTuple):
    """Grams of direct CO2 per kWh generated, with lower and upper bounds of the true factor."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FactorSet:
    """One published set of factors."""

    id: str
    method: str
    attribution: str
    fuels: Mapping[str, Factor]
    inside: Mapping[str, tuple[str, Factor]]
    """By name, what a parser can distinguish inside a stored fuel: that fuel, and its factor."""
    zones: Mapping[tuple[str, str], Factor]
    """By zone and fuel, if more is known about what is burnt."""

    def factor(self, zone: str, fuel: str) -> Factor:
        """Return a fuel's factor in a zone. Raises KeyError for a fuel that is not counted."""
        return self.zones.get((zone, fuel)) or self.fuels[fuel]


class FuelReadings(NamedTuple):
    """Mean MW of one fuel at one resolution: unique interval starts (Unix seconds UTC), and values."""

    fuel: str
    resolution: str
    ts: Sequence[int] | _Ints
    mw: Sequence[float] | _Floats


@dataclass(frozen=True, slots=True)
class Unstored:
    """The parts of a zone's generation in a response that are not stored as rows, in MW by interval start."""

    inside: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Generation inside a stored fuel that has its own factor, by its name in the set of factors."""
    unknown: Mapping[int, float] = field(default_factory=dict)
    """Generation of codes that this service does not know."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Parallel columns: one entry per interval of a response or market day, ascending."""

    ts: _Ints
    seconds: _Ints
    """Length of each interval; of the shortest if two resolutions are mixed."""
    value: _Floats
    low: _Floats
    high: _Floats
    """All three in gCO2/kWh, to two decimals; NaN if the interval is refused."""
    reasons: tuple[Reason | None, ...]

    @property
    def is_given(self) -> npt.NDArray[np.bool_]:
        """Return, by interval, whether there is an estimate."""
        return ~np.isnan(self.value)


def estimate(
    zone: str, readings: Iterable[FuelReadings], unstored: Unstored | None = None, set_id: str = CURRENT_SET
) -> Estimates:
    """Return the estimate, or the reason to refuse it, for each interval in which any counted fuel has a value."""
    factors, unstored = factor_set(set_id), unstored or Unstored()
    mix = _Mix.from_readings([each for each in readings if each.fuel not in UNCOUNTED and len(each.ts)])
    generated = np.clip(np.nan_to_num(mix.mw), 0, None)
    total = generated.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, low, high = _emissions(zone, factors, mix, generated, unstored) / total
        other = generated[mix.row(Fuel.OTHER)].sum(axis=0) + _values_at(mix.ts, unstored.unknown).clip(0)
        is_wide = high - low > np.maximum(WIDEST_GRAMS, WIDEST_SHARE * value)
        is_other = other / total > MOST_OTHER
    refused: list[tuple[Reason, npt.NDArray[np.bool_]]] = [
        ("fuel_missing", mix.is_partial() | ~(total > 0)),
        ("other_share", is_other),
        ("wide", is_wide),
    ]
    reasons: list[Reason | None] = [None] * len(mix.ts)
    for reason, where in reversed(refused):
        for at in np.flatnonzero(where).tolist():
            reasons[at] = reason
    is_refused = np.array([reason is not None for reason in reasons], np.bool_)
    value, low, high = (np.where(is_refused, np.nan, np.round(column, 2)) for column in (value, low, high))
    return Estimates(mix.ts, mix.seconds, value, low, high, tuple(reasons))


@dataclass(frozen=True, slots=True)
class _Mix:
    """A zone's mix as a matrix: a row per counted fuel, a column per interval; NaN without a value."""

    ts: _Ints
    fuels: tuple[str, ...]
    mw: _Floats
    seconds: _Ints
    """Length of each interval's shortest value."""
    is_mixed: npt.NDArray[np.bool_]
    """By interval, whether a value covers it that is longer than another value there, or than the interval."""

    @classmethod
    def from_readings(cls, counted: Sequence[FuelReadings]) -> _Mix:
        """Return the matrix of some values."""
        ts = np.unique(np.concatenate([np.asarray(each.ts, np.int64) for each in counted] or [np.empty(0, np.int64)]))
        fuels = tuple(dict.fromkeys(each.fuel for each in counted))
        mw = np.full((len(fuels), len(ts)), np.nan)
        seconds = np.full(len(ts), DAY)
        for each in counted:
            at = np.searchsorted(ts, np.asarray(each.ts, np.int64))
            mw[fuels.index(each.fuel), at] = each.mw
            seconds[at] = np.minimum(seconds[at], RESOLUTIONS[each.resolution])
        is_mixed = np.zeros(len(ts), np.bool_)
        if len({each.resolution for each in counted}) > 1:
            for each in counted:
                _mark_mixed(is_mixed, ts, seconds, each)
        return cls(ts, fuels, mw, seconds, is_mixed)

    def row(self, fuel: str) -> list[int]:
        """Return the index of a fuel's row in a list; an empty list if no value is of this fuel."""
        return [self.fuels.index(fuel)] if fuel in self.fuels else []

    def is_partial(self) -> npt.NDArray[np.bool_]:
        """Return, by interval, whether the mix is incomplete."""
        there = ~np.isnan(self.mw)
        usual = there.mean(axis=1) >= USUAL_SHARE if there.size else np.zeros(len(self.fuels), np.bool_)
        usual &= np.array([fuel != Fuel.SOLAR for fuel in self.fuels], np.bool_)
        lacks = (usual[:, None] & ~there).any(axis=0)
        partial: npt.NDArray[np.bool_] = lacks | (there.sum(axis=0) < FEWEST_FUELS) | self.is_mixed
        return partial


def _mark_mixed(is_mixed: npt.NDArray[np.bool_], ts: _Ints, seconds: _Ints, readings: FuelReadings) -> None:
    """Mark the intervals that a value covers together with shorter ones."""
    step = RESOLUTIONS[readings.resolution]
    starts = np.asarray(readings.ts, np.int64)
    for first, last in zip(np.searchsorted(ts, starts), np.searchsorted(ts, starts + step), strict=True):
        if seconds[first] < step or last - first > 1:
            is_mixed[first:last] = True


def _emissions(zone: str, factors: FactorSet, mix: _Mix, generated: _Floats, unstored: Unstored) -> _Floats:
    """Return kilograms of CO2 per hour by the factors' value, low and high, for each interval."""
    of_fuels = np.array([factors.factor(zone, fuel) for fuel in mix.fuels], np.float64).reshape(-1, 3)
    emitted: _Floats = of_fuels.T @ generated
    for name, by_start in unstored.inside.items():
        fuel, own = factors.inside[name]
        for row in mix.row(fuel):
            part = np.clip(_values_at(mix.ts, by_start), 0, generated[row])
            emitted += np.outer(np.subtract(own, factors.factor(zone, fuel)), part)
    return emitted


def _values_at(ts: _Ints, by_start: Mapping[int, float]) -> _Floats:
    """Return the values of a mapping at these starts; 0 if it has none."""
    return np.array([by_start.get(start, 0.0) for start in ts.tolist()], np.float64)


def credit(attribution: str, set_ids: Iterable[str] = (CURRENT_SET,)) -> str:
    """Return the attribution of a mix, joined with those of the sets of factors behind its estimates.

    A set of a newer release, whose rows this warehouse may contain, is named by its ID.
    """
    known = _published_sets()
    sets = (known[each].attribution if each in known else f"Emission factors {each}" for each in set_ids)
    return "; ".join(filter(None, [attribution, *sets]))


def factor_set(set_id: str) -> FactorSet:
    """Return a published set of factors. Raises KeyError for an ID that was never published."""
    return _published_sets()[set_id]


@cache
def _published_sets() -> dict[str, FactorSet]:
    stored = json.loads(files("warehouse.market").joinpath("carbon_factors.json").read_bytes())
    return {each["id"]: _decoded(each) for each in stored["sets"]}


def _decoded(stored: Mapping[str, Any]) -> FactorSet:
    return FactorSet(
        stored["id"],
        stored["method"],
        stored["attribution"],
        {fuel: _factor(each) for fuel, each in stored["fuels"].items()},
        {name: (each["fuel"], _factor(each)) for name, each in stored["inside"].items()},
        {(zone, each["fuel"]): _factor(each) for each in stored["zones"] for zone in each["zones"]},
    )


def _factor(stored: Mapping[str, Any]) -> Factor:
    value = float(stored["value"])
    return Factor(value, float(stored.get("low", value)), float(stored.get("high", value)))
