"""Model the grid: demand, prices, mix, intensity, capacities and flows of the covered zones at any time.

Every value depends only on zone and time. Values are the same in every process and continuous over days and clock
changes. Functions take `ts`, interval starts in Unix seconds (numpy int64), and `step`, the interval's length in
seconds. They return the mean over the interval's five-minute points, in the shape of `ts`. The modules of the sources
add rounding, timestamps and publication times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from assets.simulated.grid.fleets import dispatch, split_wind
from assets.simulated.grid.noise import Floats, Ints, mixed, smooth
from assets.simulated.grid.sites import CAPACITY_2025, GROWTH, site_of
from assets.simulated.grid.sky import season, sun, week_hour
from assets.simulated.grid.ties import TIES, GridTie
from warehouse.errors import FeedUnavailable
from warehouse.market.clock import DAY, HOUR
from warehouse.market.zones import ZONES

FIVE = 300
MINUTE = 60

_WORKDAY, _DAY_OFF = (
    np.array(text.split(), np.float64)
    for text in (
        "0.8 0.77 0.755 0.75 0.76 0.81 0.91 1.02 1.07 1.08 1.085 1.09"
        " 1.085 1.075 1.065 1.065 1.085 1.13 1.16 1.145 1.1 1.04 0.95 0.86",
        "0.86 0.82 0.8 0.785 0.78 0.79 0.82 0.88 0.96 1.03 1.07 1.09"
        " 1.09 1.07 1.05 1.05 1.08 1.14 1.18 1.17 1.13 1.07 0.99 0.92",
    )
)
"""Demand by the hour of the day, relative to the mean."""
_GB_INTENSITY = {"gas": 394.0, "coal": 937.0, "biomass": 120.0, "imports": 130.0, "other": 300.0}
"""gCO2 per kWh by fuel, as the publisher weights fuels. Other fuels have no emissions."""
_GRAMS = {"gas": 429.0, "coal": 986.0, "oil": 777.0, "biomass": 494.0, "waste": 494.0}
"""gCO2 per kWh by fuel, as RTE weights fuels. Other fuels have no emissions."""


def demand(zone: str, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW used in a zone, minus its rooftop solar."""
    return _mean(lambda at: _demand(zone, at), ts, step)


def price(zone: str, ts: Ints, step: int = FIVE, market: str = "real_time") -> Floats:
    """Return the price in the zone's currency per MWh, `real_time` or `day_ahead` (the expected real-time price)."""
    if market not in ("day_ahead", "real_time"):
        raise ValueError(f"unknown market {market!r}")
    site = site_of(zone)
    expected = _mean(lambda at: _expected(zone, at), ts, step)
    came = expected if market == "day_ahead" else expected + _mean(lambda at: _surprise(zone, at), ts, step)
    result: Floats = np.clip(came, site.floor, site.cap)
    return result


def generation(zone: str, ts: Ints, step: int = FIVE) -> Mapping[str, Floats]:
    """Return the mix by fuel: GB in per cent of NESO's nine fuels (sum 100), US-CAISO in MW (charging batteries
    negative).

    California's fuels and its interchange add up to its demand.
    """
    mix = {"GB": _mix_of_gb, "US-CAISO": _mix_of_california}[zone]
    fuels = tuple(mix(np.zeros(1, np.int64)))
    stacked = _mean(lambda at: np.stack([*mix(at).values()]), ts, step)
    return dict(zip(fuels, stacked, strict=True))


def mix(zone: str, ts: Ints, step: int = FIVE) -> Mapping[str, Floats]:
    """Return MW by fuel, without imports. Storage that charges is negative. `rooftop` returns rooftop solar separately.

    The fuels and the interchange of a zone add up to its demand, as far as it has storage to balance them.
    """
    at_instants = {"GB": _generation_of_gb, "US-CAISO": _mix_of_california}.get(zone, lambda at: _mix(zone, at))
    fuels = tuple(at_instants(np.zeros(1, np.int64)))
    stacked = _mean(lambda at: np.stack([*at_instants(at).values()]), ts, step)
    return dict(zip(fuels, stacked, strict=True))


def rooftop(zone: str, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW of solar behind the meter, which demand already excludes."""
    return _mean(lambda at: site_of(zone).rooftop * _sunshine(zone, at), ts, step)


def carbon_intensity(ts: Ints, step: int = FIVE) -> Floats:
    """Return gCO2/kWh of the electricity used in GB, from its mix."""
    mix = generation("GB", ts, step)
    return sum((mix[fuel] / 100.0 * grams for fuel, grams in _GB_INTENSITY.items()), np.zeros(np.shape(ts)))


def carbon(zone: str, ts: Ints, step: int = FIVE) -> Floats:
    """Return gCO2/kWh of the generation in a zone as its operator publishes it. Storage is not counted."""
    of_zone = {
        fuel: np.clip(mw, 0, None)
        for fuel, mw in mix(zone, ts, step).items()
        if fuel not in ("pumped_storage", "battery")
    }
    total = sum(of_zone.values(), np.zeros(np.shape(ts)))
    grams: Floats = sum((mw * _GRAMS.get(fuel, 0.0) for fuel, mw in of_zone.items()), np.zeros(np.shape(ts))) / total
    return grams


def capacity(zone: str, year: int) -> dict[str, float]:
    """Return the installed MW by fuel at the start of a year; a gas and wind estimate if the zone is not described."""
    plain = {"gas": 0.8 * ZONES[zone].peak_mw, "wind_onshore": site_of(zone).wind}
    return {
        fuel: float(round(mw * (1.0 + GROWTH.get(fuel, 0.0)) ** (year - 2025)))
        for fuel, mw in CAPACITY_2025.get(zone, plain).items()
    }


def ties(zone: str) -> tuple[GridTie, ...]:
    """Return the lines that end in a zone."""
    return _TIES_OF.get(zone, ())


def neighbours(zone: str) -> dict[str, tuple[GridTie, ...]]:
    """Return the lines by the area beyond them."""
    by_area: dict[str, tuple[GridTie, ...]] = {}
    for tie in ties(zone):
        area = tie.b if tie.a == zone else tie.a
        by_area[area] = (*by_area.get(area, ()), tie)
    return by_area


def ties_between(zone: str, area: str) -> tuple[GridTie, ...]:
    """Return the lines between a zone and an area. Raises FeedUnavailable if the grid has none."""
    if found := neighbours(zone).get(area):
        return found
    raise FeedUnavailable(
        f"the model grid has no tie between {zone} and {area}: add one to assets/simulated/grid/ties.py",
        kind="rejected",
    )


def line(name: str) -> GridTie:
    """Return the line with this ID."""
    return _TIE_BY_ID[name]


def flow(tie: GridTie, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW over a line, + from its `a` to its `b`."""
    return _mean(lambda at: _flow(tie, at), ts, step)


def inflow(zone: str, tie: GridTie, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW over a line, + into the zone."""
    return flow(tie, ts, step) if tie.b == zone else -flow(tie, ts, step)


def border(zone: str, area: str, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW over all lines between a zone and an area, + into the zone."""
    return sum((inflow(zone, tie, ts, step) for tie in ties_between(zone, area)), np.zeros(np.shape(ts)))


def interchange(zone: str, ts: Ints, step: int = FIVE) -> Floats:
    """Return MW of net import: the sum of all lines."""
    return sum((inflow(zone, tie, ts, step) for tie in ties(zone)), np.zeros(np.shape(ts)))


def as_published(
    values: Floats, ts: Ints, now: int, series: str, settles: int = 2 * DAY, share: float = 0.004
) -> Floats:
    """Return values as first published and later revised. Values younger than `settles` seconds err by up to `share`.

    `series` (`eia.demand/US-PJM`) seeds the errors. Each series has its own errors, which do not change until it
    settles.
    """
    first = values * (1.0 + share * smooth(f"first estimate/{series}", ts, 3 * HOUR))
    published: Floats = np.where(ts + settles > now, first, values)
    return published


def as_forecast(values: Floats, ts: Ints, published_at: int, series: str, share: float = 0.04) -> Floats:
    """Return values as forecast at a time (Unix seconds). Errors grow with the lead, up to `share`.

    `series` (`aemo.predispatch/AU-NSW`) seeds the errors, which each vintage has partly for itself.
    """
    days = np.clip((ts - published_at) / DAY, 0.02, 1.0)
    shared = smooth(f"forecast/{series}", ts, 6 * HOUR)
    own = smooth(f"forecast/{series}/{published_at}", ts, 4 * HOUR)
    expected: Floats = values * (1.0 + share * np.sqrt(days) * (0.6 * shared + 0.4 * own))
    return expected


def _mean(value: Callable[[Ints], Floats], ts: Ints, step: int) -> Floats:
    """Return the mean of an interval over its five-minute points. `value` may add axes in front."""
    starts = np.asarray(ts, np.int64)
    count = max(1, step // FIVE)
    if count == 1:
        return value(starts)
    points = (starts[..., None] + FIVE * np.arange(count)).reshape(-1)
    values = value(points)
    mean: Floats = values.reshape(*values.shape[:-1], *starts.shape, count).mean(axis=-1)
    return mean


def _demand(zone: str, ts: Ints) -> Floats:
    site, place, tz = site_of(zone), ZONES[zone].place, ZONES[zone].tz
    summer_day, winter_day = (205, 15) if place[0] > 0 else (20, 200)
    rhythm = np.interp(week_hour(ts, tz), _WEEK, _rhythm(site.weekend, site.swing))
    weather = 1.0 + site.winter * season(ts, winter_day) + site.summer * season(ts, summer_day)
    weather += (site.winter + site.summer) * mixed(f"weather/{zone}", ts, (0.25, 4 * DAY), (0.10, DAY))
    wobble = 1.0 + mixed(f"demand/{zone}", ts, (0.008, 3 * HOUR), (0.002, 20 * MINUTE))
    level = site.mean / (1.0 + 0.25 * (site.winter + site.summer))
    megawatts: Floats = level * weather * rhythm * wobble
    return megawatts - site.rooftop * _sunshine(zone, ts) if site.rooftop else megawatts


_WEEK = np.arange(169.0)


@lru_cache(maxsize=64)
def _rhythm(weekend: float, swing: float) -> Floats:
    """Return the demand over the hours of a week, mean 1."""
    days = [_WORKDAY] * 5 + [_DAY_OFF * weekend * 1.01, _DAY_OFF * weekend * 0.97]
    hours = np.concatenate(days)
    hours /= hours.mean()
    spread = 1.0 + swing * (hours - 1.0)
    return np.append(spread, spread[0])


def _sunshine(zone: str, ts: Ints) -> Floats:
    """Return solar output as a share of its installed power."""
    clouds = np.clip(0.70 + mixed(f"clouds/{zone}", ts, (0.28, DAY), (0.10, 2 * HOUR)), 0.12, 1.0)
    share: Floats = sun(ts, *ZONES[zone].place) ** 1.15 * clouds
    return share


def _breeze(zone: str, ts: Ints) -> Floats:
    """Return wind output as a share of its installed power."""
    gusts = mixed(f"wind/{zone}", ts, (0.33, 60 * HOUR), (0.18, 14 * HOUR), (0.04, 90 * MINUTE))
    share: Floats = np.clip(0.34 + gusts, 0.01, 0.93)
    return share


def _tightness(zone: str, ts: Ints) -> Floats:
    """Return the demand left for other plants than wind and solar, 1 on average. Neighbours take a part of a glut."""
    site = site_of(zone)
    green = site.wind * _breeze(zone, ts) + site.solar * _sunshine(zone, ts)
    ratio: Floats = (_demand(zone, ts) - site.taken(green)) / site.residual
    return ratio


def _expected(zone: str, ts: Ints) -> Floats:
    """Return a price by merit order: flat while cheap plants run, steep for the last plants, negative in a glut."""
    site, tight = site_of(zone), _tightness(zone, ts)
    order = 0.08 + 0.84 * np.maximum(tight, 0.12 * tight) + 0.06 * np.exp(np.minimum(4.5 * (tight - 1.2), 3.5))
    glut = 0.6 * np.tanh(2.2 * np.maximum(0.0, 0.5 - tight))
    fuel = 1.0 + mixed(f"fuel price/{zone}", ts, (0.20, 60 * DAY), (0.08, 6 * DAY))
    expected: Floats = site.price * (order - glut) * fuel * (1.0 + 0.05 * smooth(f"bids/{zone}", ts, HOUR))
    return expected


def _surprise(zone: str, ts: Ints) -> Floats:
    """Return the deviation of real time from the forecast: small swings, and now and then a spike or a glut."""
    site = site_of(zone)
    swings = mixed(f"real time/{zone}", ts, (0.14, 2 * HOUR), (0.10, 20 * MINUTE), (0.04, 8 * MINUTE))
    rare = smooth(f"spikes/{zone}", ts, 50 * MINUTE) * (0.6 + 0.4 * smooth(f"nervous/{zone}", ts, 2 * DAY))
    spike = 40.0 * site.spikes * np.maximum(0.0, rare - 0.88) - 14.0 * np.maximum(0.0, -rare - 0.85)
    surprise: Floats = site.price * (swings + spike)
    return surprise


def _flow(tie: GridTie, ts: Ints) -> Floats:
    push = 1.6 * tie.bias + mixed(f"flow/{tie.id}", ts, (0.75, 2 * DAY), (0.55, 7 * HOUR), (0.12, 40 * MINUTE))
    if tie.sunny:
        push += 2.5 * tie.sunny * (sun(ts, *ZONES[tie.a].place) - 0.3)
    share = np.tanh(push)
    megawatts: Floats = np.where(share > 0, share * tie.forward, share * tie.backward)
    return np.where(ts >= tie.since, megawatts, 0.0) if tie.since else megawatts


def _mix(zone: str, ts: Ints) -> dict[str, Floats]:
    """Return MW by fuel of a zone, from its plants."""
    site, height = site_of(zone), sun(ts, *ZONES[zone].place)
    hours = week_hour(ts, ZONES[zone].tz) % 24.0
    evening = np.interp(hours, [0, 5, 8, 16, 19, 21, 24], [-0.1, -0.2, 0.2, 0.0, 1.0, 0.7, -0.1]) - 0.9 * height**2
    wind, solar = site.wind * _breeze(zone, ts), site.solar * _sunshine(zone, ts)
    return dispatch(zone, ts, _demand(zone, ts) - interchange(zone, ts), wind, solar, evening, site.mean)


def _generation_of_gb(ts: Ints) -> dict[str, Floats]:
    """Return MW of generation in Great Britain, with onshore and offshore wind separate."""
    mix = _megawatts_of_gb(ts)
    return {fuel: mw for fuel, mw in mix.items() if fuel not in ("imports", "wind")} | split_wind("GB", mix["wind"])


def _mix_of_gb(ts: Ints) -> dict[str, Floats]:
    """Return per cent by NESO's fuels."""
    mix = _megawatts_of_gb(ts)
    total = sum(mix.values(), np.zeros(ts.shape))
    return {fuel: 100.0 * mw / total for fuel, mw in mix.items()}


def _megawatts_of_gb(ts: Ints) -> dict[str, Floats]:
    """Return MW by NESO's fuels. Gas follows the demand. If its minimum is too much, wind is curtailed."""
    used, net = _demand("GB", ts), interchange("GB", ts)
    imports, needed = np.maximum(0.0, net), used + np.maximum(0.0, -net)
    mix = {
        "biomass": 2_000.0 + 900.0 * smooth("biomass/GB", ts, 18 * HOUR),
        "coal": np.zeros(ts.shape),
        "imports": imports,
        "gas": imports,
        "nuclear": 4_300.0 + 500.0 * smooth("nuclear/GB", ts, 20 * DAY),
        "other": np.full(ts.shape, 350.0),
        "hydro": 450.0 + 300.0 * smooth("hydro/GB", ts, 2 * DAY),
        "solar": 9_000.0 * _sunshine("GB", ts),
        "wind": site_of("GB").wind * _breeze("GB", ts),
    }
    rest = needed - sum(mix[name] for name in ("biomass", "imports", "nuclear", "other", "hydro", "solar"))
    mix["wind"] = np.minimum(mix["wind"], np.maximum(0.0, rest - 1_000.0))
    mix["gas"] = np.maximum(1_000.0, rest - mix["wind"])
    return mix


def _mix_of_california(ts: Ints) -> dict[str, Floats]:
    """Return MW by fuel. Gas follows. If its minimum is too much, solar is curtailed, and then batteries charge."""
    site = site_of("US-CAISO")
    height = sun(ts, *ZONES["US-CAISO"].place)
    evening = np.interp(
        week_hour(ts, ZONES["US-CAISO"].tz) % 24.0, [0, 5, 8, 16, 19, 21, 24], [0.1, 0.15, 0.1, 0.0, 1.0, 0.8, 0.1]
    )
    mix = {
        "solar": site.solar * _sunshine("US-CAISO", ts),
        "wind": site.wind * _breeze("US-CAISO", ts),
        "geothermal": 850.0 + 40.0 * smooth("geothermal/CAISO", ts, DAY),
        "biomass": 480.0 + 60.0 * smooth("biomass/CAISO", ts, DAY),
        "hydro": 2_300.0 + 1_200.0 * season(ts, 140) + 500.0 * smooth("hydro/CAISO", ts, 9 * HOUR),
        "coal": np.full(ts.shape, 4.0),
        "nuclear": 2_240.0 + 20.0 * smooth("nuclear/CAISO", ts, 6 * DAY),
        "gas": np.zeros(ts.shape),
        "battery": 6_500.0 * evening - 6_000.0 * height**2,
        "other": np.zeros(ts.shape),
    }
    rest = (
        _demand("US-CAISO", ts) - interchange("US-CAISO", ts) - sum(mw for fuel, mw in mix.items() if fuel != "solar")
    )
    mix["solar"] = np.minimum(mix["solar"], np.maximum(0.0, rest - 1_500.0))
    mix["gas"] = np.maximum(1_500.0, rest - mix["solar"])
    mix["battery"] -= mix["gas"] + mix["solar"] - rest
    return mix


_TIE_BY_ID = {tie.id: tie for tie in TIES}
_TIES_OF = {zone: tuple(tie for tie in TIES if zone in (tie.a, tie.b)) for zone in ZONES}
