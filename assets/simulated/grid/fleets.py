"""Describe each zone's plants in round numbers, and how they share a zone's demand.

Steady plants run around their mean, and wind and solar generate what is available. Flexible plants share the rest, and
storage takes the difference. These are not measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assets.simulated.grid.noise import Floats, Ints, smooth
from warehouse.market.clock import DAY, HOUR
from warehouse.market.further_zones import ENABLED

_STEADY = """
zone     nuclear hydro biomass waste geothermal other
US-ERCOT    4800   100       -     -          -    60
US-PJM     31000  1700       -     -          -   700
US-MISO    11000  1200       -     -          -   900
US-NYISO    3300  3200       -     -          -   300
US-ISONE    3200   900       -     -          -   650
US-SPP      1900  1300       -     -          -    60
AU-NSW         -   500       -     -          -     -
AU-QLD         -   100      80     -          -     -
AU-VIC         -   350       -     -          -     -
AU-SA          -     -       -     -          -     -
AU-TAS         -     -       -     -          -     -
DE-LU          -  2000    4500   900         20   300
FR         36000  6500     600   300          -     -
ES          5600  3500     450   200          -   900
IT-NO          -  4500     900   250          -   300
NL           450     -     400   350          -  4000
BE          3200    30     250   250          -   350
PL             -   250     600   100          -   150
SE-3        5800     -       -     -          -   900
NO-2           -     -       -    20          -    10
DK-1           -     -     350   120          -    20
AT             -  4000     450    90          -    60
CH          2700  3700       -   250          -    40
"""
"""Mean MW; `-`: the zone has none."""

_FLEXIBLE = """
zone     coal lignite gas oil hydro
US-ERCOT   22       -  78   -     -
US-PJM     24       -  75   1     -
US-MISO    42       -  57   1     -
US-NYISO    -       -  97   3     -
US-ISONE    1       -  96   3     -
US-SPP     48       -  51   1     -
AU-NSW     93       -   6   1     -
AU-QLD     86       -  13   1     -
AU-VIC      -      92   8   -     -
AU-SA       -       -  97   3     -
AU-TAS      -       -   3   -    97
DE-LU      26      44  28   2     -
FR          3       -  92   5     -
ES          8       -  90   2     -
IT-NO       6       -  93   1     -
NL         20       -  80   -     -
BE          -       -  98   2     -
PL         58      28  13   1     -
SE-3        -       -   1   2    97
NO-2        -       -   -   -   100
DK-1       55       -  42   3     -
AT          -       -  98   2     -
CH          -       - 100   -     -
"""
"""Shares of the demand left by steady plants, wind and solar, in per cent."""

_STORES = """
zone     pumped_storage battery
US-ERCOT              -    5000
US-PJM             2500     300
US-MISO            1500     400
US-NYISO            800       -
US-ISONE           1000     300
US-SPP                -     200
AU-NSW              700       -
AU-QLD              500     700
AU-VIC                -     900
AU-SA                 -     500
AU-TAS                -       -
DE-LU              5500       -
FR                 2500     200
ES                 3000       -
IT-NO              1500       -
NL                    -       -
BE                  900     200
PL                 1000       -
SE-3                  -       -
NO-2                300       -
DK-1                  -       -
AT                 2500       -
CH                 2200       -
"""
"""The maximum MW of output in a usual evening."""

OFFSHORE = {
    "DE-LU": 0.18,
    "FR": 0.07,
    "ES": 0.0,
    "IT-NO": 0.0,
    "NL": 0.42,
    "BE": 0.42,
    "PL": 0.0,
    "SE-3": 0.04,
    "NO-2": 0.0,
    "DK-1": 0.3,
    "AT": 0.0,
    "CH": 0.0,
    "GB": 0.5,
    **{zone.id: 0.0 for zone in ENABLED},
}
"""The share of offshore wind, in zones whose publishers separate it; 0 if all wind is onshore."""

LEAST = 0.03
"""The minimum output of the flexible plants, as a share of mean demand."""


def _by_zone(table: str) -> dict[str, dict[str, float]]:
    """Return the lines of a table by zone. `-` means none."""
    (_, *names), *lines = (line.split() for line in table.strip().splitlines())
    return {
        zone: {name: float(cell) for name, cell in zip(names, cells, strict=True) if cell != "-"}
        for zone, *cells in lines
    }


@dataclass(frozen=True, slots=True)
class Fleet:
    """A zone's plants, from the tables."""

    steady: Mapping[str, float]
    flexible: Mapping[str, float]
    stores: Mapping[str, float]


_PLAIN = Fleet({"hydro": 400.0}, {"gas": 100.0}, {})
FLEETS = {
    zone: Fleet(steady, _by_zone(_FLEXIBLE)[zone], _by_zone(_STORES)[zone])
    for zone, steady in _by_zone(_STEADY).items()
}


def fleet_of(zone: str) -> Fleet:
    """Return a zone's plants; a default fleet if the zone is not described."""
    return FLEETS.get(zone, _PLAIN)


def dispatch(
    zone: str, ts: Ints, needed: Floats, wind: Floats, solar: Floats, evening: Floats, mean: float
) -> dict[str, Floats]:
    """Return MW by fuel that add up to `needed`, as far as the zone has storage to balance them.

    `wind` and `solar` are the available output, which is curtailed before other plants. `evening` is 1 at the maximum
    output of storage and negative while storage charges. `mean` is the zone's mean demand in MW.
    """
    fleet = fleet_of(zone)
    mix = {
        fuel: mw * (1.0 + 0.12 * smooth(f"{fuel}/{zone}", ts, 20 * DAY if fuel == "nuclear" else 9 * HOUR))
        for fuel, mw in fleet.steady.items()
    }
    stores = {fuel: mw * evening for fuel, mw in fleet.stores.items()}
    least = LEAST * mean
    rest = needed - sum(mix.values(), np.zeros(ts.shape)) - sum(stores.values(), np.zeros(ts.shape)) - least
    used = np.clip(rest / np.maximum(wind + solar, 1.0), 0.0, 1.0)
    wind, solar = wind * used, solar * used
    follows = np.maximum(0.0, rest - wind - solar) + least
    # If even the minimum is too much, all running plants are throttled by the same share.
    running = sum(mix.values(), np.zeros(ts.shape)) + wind + solar + follows
    wanted = np.maximum(needed - sum(stores.values(), np.zeros(ts.shape)), least)
    throttle = np.minimum(1.0, wanted / running)
    mix = {fuel: mw * throttle for fuel, mw in mix.items()}
    mix |= split_wind(zone, wind * throttle) | {"solar": solar * throttle}
    mix |= {fuel: follows * throttle * share / 100.0 for fuel, share in fleet.flexible.items()}
    if stores:
        first = next(iter(stores))
        stores[first] = stores[first] + needed - sum(mix.values(), np.zeros(ts.shape)) - sum(stores.values())
    return mix | stores


def split_wind(zone: str, wind: Floats) -> dict[str, Floats]:
    """Return onshore and offshore wind, in zones whose publishers separate them."""
    at_sea = OFFSHORE.get(zone)
    if at_sea is None:
        return {"wind": wind}
    return {"wind_onshore": (1.0 - at_sea) * wind} | ({"wind_offshore": at_sea * wind} if at_sea else {})
