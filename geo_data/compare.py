"""Differences between the European plants and a newer list of powerplantmatching, for review. Changes nothing.

The list needs judgement: about a third of its closing dates are wrong or only announced, some rows are river basins,
some plants are listed twice (README.md, "Plants"). Decisions go into tables/plants.csv, their reasons into
tables/plant_mends.csv.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from geo_data.checks import FLOOR_MW
from geo_data.records import Mend, Plant
from geo_data.review import Change, of

URL = "https://raw.githubusercontent.com/PyPSA/powerplantmatching/master/powerplants.csv"
COUNTRIES = {
    "Austria": "AT",
    "Belgium": "BE",
    "Denmark": "DK",
    "France": "FR",
    "Germany": "DE",
    "Italy": "IT",
    "Luxembourg": "LU",
    "Netherlands": "NL",
    "Norway": "NO",
    "Poland": "PL",
    "Spain": "ES",
    "Sweden": "SE",
    "Switzerland": "CH",
    "United Kingdom": "GB",
}
FUELS: dict[str, set[str]] = {
    "Nuclear": {"nuclear"},
    "Hard Coal": {"coal"},
    "Lignite": {"lignite"},
    "Natural Gas": {"gas"},
    "Oil": {"oil"},
    "Solar": {"solar"},
    "Hydro": {"hydro", "pumped_storage"},
    "Wind": {"wind_onshore", "wind_offshore"},
    "Solid Biomass": {"biomass"},
    "Biogas": {"biomass"},
    "Bioenergy": {"biomass"},
    "Waste": {"waste"},
    "Geothermal": {"geothermal"},
    "Battery": {"battery"},
    "Other": {"other"},
    "Heat Storage": set(),
    "Mechanical Storage": set(),
    "Hydrogen Storage": set(),
    "Marine": set(),
}
"""Fuel type -> our words for it; types without one are no plants of ours."""
_ID = re.compile(r"'([^']+)'")
SOURCE = "powerplantmatching"
NEAR_KM = 5.0
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of powerplants.csv that could be a plant of plants."""

    name: str
    country: str
    fuels: frozenset[str]
    capacity_mw: float
    closes: float | None
    """The year in which it closes or closed: of a site the first unit's, at times one that was only announced."""
    lon: float
    lat: float
    ids: frozenset[str]
    """EIC, MaStR, GEM and other numbers of its units."""


def read(path: Path) -> list[Listed]:
    """The rows of 250 MW and above in our countries that have a point. Raises KeyError for an unknown fuel type."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            Listed(
                row["Name"],
                COUNTRIES[row["Country"]],
                frozenset(FUELS[row["Fueltype"]]),
                float(row["Capacity"]),
                float(row["DateOut"]) if row["DateOut"] else None,
                float(row["lon"]),
                float(row["lat"]),
                frozenset(
                    name.removeprefix("MASTR-") for name in _ID.findall(f"{row.get('EIC')} {row.get('projectID')}")
                ),
            )
            for row in csv.DictReader(stream)
            if row["Country"] in COUNTRIES and row["lat"] and float(row["Capacity"] or 0) >= FLOOR_MW
        ]


def differences(
    table: Iterable[Plant], listed: Sequence[Listed], year: float, mends: Iterable[Mend] = ()
) -> list[Change]:
    """For review: other capacities, closed plants, and plants that only one side has. `year` is the present one."""
    plants = [plant for plant in table if plant.country in COUNTRIES.values()]
    found: list[Change] = []
    matched: set[Listed] = set()
    for plant in plants:
        row = _match(plant, listed)
        if row is None:
            found.append(of("gone", SOURCE, plant, "not in the list"))
            continue
        matched.add(row)
        if row.closes is not None and row.closes < year:
            found.append(of("gone", SOURCE, plant, f"closed in {row.closes:.0f} by the list"))
        elif abs(row.capacity_mw - plant.capacity_mw) > TOLERANCE * plant.capacity_mw:
            found.append(of("changed", SOURCE, plant, f"capacity_mw {plant.capacity_mw:g} -> {row.capacity_mw:g}"))
    dropped = {mend.id: mend.reason for mend in mends if mend.field == "drop"}
    lacking = [row for row in listed if row not in matched and (row.closes is None or row.closes >= year)]
    return found + [_lacking(row, dropped) for row in lacking]


def _lacking(row: Listed, dropped: Mapping[str, str]) -> Change:
    """A plant that is not in our table; one that was left out before says why."""
    why = next((dropped[name] for fuel in sorted(row.fuels) if (name := _id(row, fuel)) in dropped), None)
    what = f"{row.capacity_mw:g} MW {'/'.join(sorted(row.fuels))}"
    return Change("new", SOURCE, row.country, None, None, row.name, f"{what}; left out before: {why}" if why else what)


def _id(row: Listed, fuel: str) -> str:
    """The id that our table gave to a row of the list."""
    words = re.sub("[^a-z0-9]+", "-", f"{row.name} {fuel}".lower()).strip("-")
    return f"ppm-{row.country.lower()}-{words}"


def _match(plant: Plant, listed: Sequence[Listed]) -> Listed | None:
    """The row with an id of the plant, else the nearest one of its fuel."""
    alike = [row for row in listed if row.country == plant.country and plant.fuel in row.fuels]
    own = [row for row in alike if {plant.eic, plant.source_id} & row.ids]
    if own:
        return max(own, key=lambda row: row.capacity_mw)
    near = min(alike, key=lambda row: _km(plant, row), default=None)
    return near if near is not None and _km(plant, near) <= NEAR_KM else None


def _km(plant: Plant, row: Listed) -> float:
    """Good to a percent over a few kilometres."""
    east = (plant.lon - row.lon) * math.cos(math.radians(plant.lat))
    return 111.2 * math.hypot(east, plant.lat - row.lat)
