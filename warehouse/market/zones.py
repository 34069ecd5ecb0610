"""Define the zones: IDs, names, clocks, currencies, sizes, and the metrics that each publishes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NamedTuple

from warehouse.errors import UnknownZone
from warehouse.market import further_zones
from warehouse.market.vocabulary import Metric
from warehouse.market.zone_names import OTHER_COUNTRY_NAMES, RESEMBLING, names_elsewhere


class Limits(NamedTuple):
    """The lowest and the highest plausible value, both included, in the row's own unit.

    Wider than every record and cap, so that no true value is refused.
    """

    low: float
    high: float


class PublishedCarbon(NamedTuple):
    """The carbon intensity that an operator publishes for a zone."""

    metric: Metric
    """The stored series."""
    includes_imports: bool


@dataclass(frozen=True, slots=True)
class Zone:
    """A bidding zone, balancing authority or region: `tz` is civil time, `market_tz` the market's clock."""

    id: str
    name: str
    tz: str
    market_tz: str
    currency: str
    metrics: frozenset[Metric]
    """The metrics that the API serves for the zone under their own path."""
    headline: str
    """The meaning of `price` in the zone, in words: the hub or region, and the market."""
    peak_mw: float
    """The highest demand ever published, roughly: bounds and tolerances are shares of it."""
    place: tuple[float, float]
    """Latitude and longitude of a point near its centre."""
    price_limits: Mapping[str, Limits]
    """By currency: the market's floor and cap, with a margin."""
    day_ahead: str = ""
    """The meaning of `price?market=day_ahead` in the zone, in words; empty if the zone has none."""
    day_ahead_metric: Metric | None = None
    """The stored series of `market=day_ahead`: separate in the US, the headline's in Europe, none in GB and AU.
    """
    least_demand: float = 0.01
    """The lowest plausible demand as a share of the peak: a value near nothing is a missing value spelt 0."""
    generation_unit: str = "MW"
    aliases: tuple[str, ...] = ()
    """Other names of the zone: the country that is the whole zone, a region's code."""
    part_of: tuple[str, ...] = ()
    """The country that contains it, by name and code, if it is only a part: never a name of the zone."""
    published_carbon: PublishedCarbon | None = None
    """None if the zone's carbon intensity is an estimate."""

    @property
    def stored_metrics(self) -> frozenset[Metric]:
        """Return the stored series; `price_day_ahead` and `carbon_estimate` are served under other paths."""
        day_ahead = {self.day_ahead_metric} if self.day_ahead_metric is not None else set()
        return self.metrics - {Metric.CARBON} | {self.carbon_metric, Metric.CARBON_ESTIMATE} | day_ahead

    @property
    def carbon_metric(self) -> Metric:
        """Return the stored series of `/v1/carbon/{zone}`: the published one if there is one, else the estimate."""
        return Metric.CARBON_ESTIMATE if self.published_carbon is None else self.published_carbon.metric

    def describe_carbon(self, stored: str) -> dict[str, str | bool]:
        """Return `basis` and `includes_imports` of a stored carbon intensity, as documents spell them."""
        if stored == Metric.CARBON_ESTIMATE or self.published_carbon is None:
            return {"basis": "estimate", "includes_imports": False}
        return {"basis": "published", "includes_imports": self.published_carbon.includes_imports}

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names of the zone; for `Texas (ERCOT)`, also both halves."""
        place, _, market = self.name.removesuffix(")").partition(" (")
        return (self.id, self.name, place, *((market,) if market else ()), *self.aliases, *names_elsewhere(self.id))


_ALL = frozenset({Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE, Metric.CARBON})
_USD = {"USD": Limits(-2_500, 15_000)}
"""ERCOT's cap was 9000."""
_AUD = {"AUD": Limits(-1_100, 40_000)}
"""AEMO's cap rises every July."""
_EUR = {"EUR": Limits(-1_000, 10_000)}
"""SDAC's floor is -600 from delivery day 2026-05-29, and was -500 before."""
Place = tuple[float, float]
"""Latitude and longitude."""


def _us(zone: str, name: str, tz: str, hub: str, peak_mw: float, place: Place, step: str = "5-minute") -> Zone:
    return Zone(
        zone,
        name,
        tz,
        tz,
        "USD",
        _ALL | {Metric.MIX},
        f"real-time {step} LMP at {hub}",
        peak_mw,
        place,
        _USD,
        f"day-ahead hourly LMP at {hub}",
        Metric.PRICE_DAY_AHEAD,
        aliases=(zone.removeprefix("US-"),),
        part_of=("United States", "US", "USA"),
    )


def _eu(zone: str, name: str, tz: str, peak_mw: float, place: Place, auction: str = "day-ahead auction (SDAC)") -> Zone:
    metrics = _ALL | {Metric.CAPACITY, Metric.MIX}
    return Zone(zone, name, tz, "Europe/Brussels", "EUR", metrics, auction, peak_mw, place, _EUR, auction, Metric.PRICE)


def _nem(zone: str, name: str, tz: str, region: str, peak_mw: float, place: Place) -> Zone:
    return Zone(
        zone,
        name,
        tz,
        "Australia/Brisbane",
        "AUD",
        _ALL | {Metric.MIX},
        f"5-minute dispatch price of region {region}",
        peak_mw,
        place,
        _AUD,
        aliases=(region, zone.removeprefix("AU-")),
        part_of=("Australia", "AU"),
    )


_RECORDS = (
    replace(
        _us("US-CAISO", "California (CAISO)", "America/Los_Angeles", "hub TH_SP15_GEN-APND", 52_100, (36.5, -119.5)),
        metrics=_ALL | {Metric.GENERATION, Metric.MIX},
    ),
    _us("US-ERCOT", "Texas (ERCOT)", "America/Chicago", "hub average HB_HUBAVG", 85_500, (31.0, -98.0), "15-minute"),
    _us("US-PJM", "Mid-Atlantic and Ohio Valley (PJM)", "America/New_York", "PJM-RTO", 165_600, (40.0, -78.0)),
    replace(
        _us("US-MISO", "Midcontinent (MISO)", "America/Chicago", "hub INDIANA.HUB", 127_100, (42.0, -90.0)),
        market_tz="Etc/GMT+5",
    ),
    _us("US-NYISO", "New York (NYISO)", "America/New_York", "zone N.Y.C.", 34_000, (42.5, -75.0)),
    _us("US-ISONE", "New England (ISO-NE)", "America/New_York", "internal hub 4000", 28_200, (42.7, -71.8)),
    _us(
        "US-SPP",
        "Southwest Power Pool, eastern balancing area (SPP)",
        "America/Chicago",
        "hub SPPSOUTH_HUB",
        56_200,
        (38.0, -97.0),
    ),
    Zone(
        "GB",
        "Great Britain",
        "Europe/London",
        "Europe/London",
        "GBP",
        _ALL | {Metric.GENERATION, Metric.MIX, Metric.CARBON_INTENSITY},
        "half-hourly market index price (MID, APXMIDP)",
        62_000,
        (53.0, -1.5),
        {"GBP": Limits(-1_000, 10_000)},
        generation_unit="%",
        aliases=("Britain", "UK", "United Kingdom"),
        published_carbon=PublishedCarbon(Metric.CARBON_INTENSITY, includes_imports=True),
    ),
    _nem("AU-NSW", "New South Wales", "Australia/Sydney", "NSW1", 14_800, (-33.0, 149.5)),
    _nem("AU-QLD", "Queensland", "Australia/Brisbane", "QLD1", 11_200, (-25.0, 150.0)),
    _nem("AU-VIC", "Victoria", "Australia/Melbourne", "VIC1", 10_600, (-37.5, 145.0)),
    # Rooftop solar has driven its demand below zero since 2023.
    replace(_nem("AU-SA", "South Australia", "Australia/Adelaide", "SA1", 3_500, (-34.5, 138.6)), least_demand=-0.3),
    _nem("AU-TAS", "Tasmania", "Australia/Hobart", "TAS1", 1_900, (-42.0, 146.8)),
    replace(
        _eu("DE-LU", "Germany and Luxembourg", "Europe/Berlin", 85_000, (51.0, 10.0)),
        aliases=("Germany", "DE", "Deutschland"),
    ),
    replace(
        _eu("FR", "France", "Europe/Paris", 102_100, (46.5, 2.5)),
        published_carbon=PublishedCarbon(Metric.CARBON, includes_imports=False),
    ),
    _eu("ES", "Spain", "Europe/Madrid", 45_500, (40.0, -3.7)),
    replace(
        _eu("IT-NO", "Northern Italy", "Europe/Rome", 33_000, (45.3, 9.8)),
        metrics=_ALL | {Metric.MIX},
        aliases=("IT-NORD", "IT-North", "North Italy"),
        part_of=("Italy", "IT", "Italia"),
    ),
    replace(_eu("NL", "Netherlands", "Europe/Amsterdam", 20_500, (52.2, 5.3)), aliases=("The Netherlands", "Holland")),
    _eu("BE", "Belgium", "Europe/Brussels", 14_500, (50.7, 4.6)),
    # Its prices of 2017 to 2019 are in zloty.
    replace(
        _eu("PL", "Poland", "Europe/Warsaw", 29_000, (52.0, 19.2)),
        price_limits=_EUR | {"PLN": Limits(-4_500, 45_000)},
    ),
    replace(
        _eu("SE-3", "Sweden, Stockholm (SE3)", "Europe/Stockholm", 17_500, (59.5, 15.5)),
        metrics=_ALL | {Metric.MIX},
        part_of=("Sweden", "SE"),
    ),
    replace(_eu("NO-2", "Norway, Kristiansand (NO2)", "Europe/Oslo", 7_500, (58.7, 7.5)), part_of=("Norway", "NO")),
    replace(
        _eu("DK-1", "Denmark, Jutland and Funen (DK1)", "Europe/Copenhagen", 4_500, (56.0, 9.2)),
        part_of=("Denmark", "DK"),
        published_carbon=PublishedCarbon(Metric.CARBON, includes_imports=True),
    ),
    _eu("AT", "Austria", "Europe/Vienna", 13_000, (47.5, 14.0)),
    _eu("CH", "Switzerland", "Europe/Zurich", 13_000, (46.8, 8.2), "day-ahead auction (EPEX SPOT, not coupled)"),
)


def _further(added: further_zones.FurtherZone) -> Zone:
    zone = _eu(added.id, added.name, added.tz, added.peak_mw, added.place, added.auction)
    metrics = zone.metrics if added.has_capacity else zone.metrics - {Metric.CAPACITY}
    return replace(zone, metrics=metrics, aliases=(*added.aliases, added.eic), part_of=added.part_of)


DEFAULT_SET = tuple(zone.id for zone in _RECORDS)
"""The IDs that every service covers."""
further_zones.require_known(further_zones.SETTING, DEFAULT_SET)
EVERY_ZONE: dict[str, Zone] = {zone.id: zone for zone in (*_RECORDS, *map(_further, further_zones.TABLE))}
"""The default set in the specification's order, then the zones that EMDS_ZONES can add."""
_COVERED = {*DEFAULT_SET, *(zone.id for zone in further_zones.ENABLED)}
ZONES = {name: zone for name, zone in EVERY_ZONE.items() if name in _COVERED}
"""The zones that this process covers, in that order."""


def zone(name: str) -> Zone:
    """Return the zone with that ID. Raises UnknownZone."""
    try:
        return ZONES[name]
    except KeyError:
        raise _unknown(name) from None


def _plain(name: str) -> str:
    """Return a name without what people write differently: case, accents, blanks, hyphens."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[ _.,()\u0300-\u036f-]+", "", letters)


_BY_NAME = {_plain(name): zone.id for zone in ZONES.values() for name in zone.names}


def _zones_by_country() -> dict[str, list[str]]:
    by_country: dict[str, list[str]] = {}
    for zone in ZONES.values():
        further = (other for name in zone.part_of for other in OTHER_COUNTRY_NAMES.get(name, ()))
        for name in {_plain(name) for name in (*zone.part_of, *further)}:
            by_country.setdefault(name, []).append(zone.id)
    return by_country


_BY_COUNTRY = _zones_by_country()
"""Countries that are covered only in part, by plain name."""
_LEAST_OF_A_TYPO = 5
"""A shorter name is a code, and so is one that starts with a digit (EIC). The nearest code is another country."""


def find_zone(name: str) -> str:
    """Return the ID of the zone with that ID, name or alias, in any spelling. Raises UnknownZone."""
    found = _BY_NAME.get(_plain(name[:80]))
    if found is None:
        raise _unknown(name[:40])
    return found


def _unknown(name: str) -> UnknownZone:
    """Return the error for an unknown name, with the zones of a country that has several, or the nearest zone."""
    plain = _plain(name)
    if parts := _BY_COUNTRY.get(plain):
        detail = f"{name} has several zones; this service covers {', '.join(parts)}."
        return UnknownZone(name, f"{detail}{_uncovered(parts)}")
    words = [word for word in (*_BY_NAME, *_BY_COUNTRY) if len(word) >= _LEAST_OF_A_TYPO]
    is_a_typo = len(plain) >= _LEAST_OF_A_TYPO and plain[0].isalpha() and plain not in map(_plain, RESEMBLING)
    nearest = get_close_matches(plain, words, 1, 0.8) if is_a_typo else []
    meant = [_BY_NAME[word]] if (word := next(iter(nearest), "")) in _BY_NAME else _BY_COUNTRY.get(word, [])
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    return UnknownZone(name, f"Zone {name!r} does not exist.{hint}")


def _uncovered(parts: Collection[str]) -> str:
    """Return a sentence about the zones of a country that EMDS_ZONES does not add to its covered `parts`, if any."""
    countries = {country for part in parts for country in ZONES[part].part_of}
    others = [one.id for one in further_zones.TABLE if one.id not in ZONES and not countries.isdisjoint(one.part_of)]
    return f" Not covered: {', '.join(others)}." if others else ""


def zones_with(metric: Metric) -> tuple[str, ...]:
    """Return the IDs of the zones that publish a metric."""
    return tuple(z.id for z in ZONES.values() if metric in z.metrics)
