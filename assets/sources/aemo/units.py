"""Look up the units of the National Electricity Market: region, fuel and sign by DUID, in a table that grows.

`units.csv` began as facts from openNEM's registry (https://github.com/opennem/opennem, MIT licence) and AEMO's
registration list (AEMO Copyright Permissions), for the units of September 2021. `python -m assets.sources units FILE`
adds the units of a whole CO2EII_AVAILABLE_GENERATORS.CSV (https://nemweb.com.au/Reports/Current/CDEII/). A closed unit
stays in the table, because its old readings still need it.

Traps of the CDEII list: a DUID appears once per generating set, station names contain commas, and loads are not marked.
The loads of a battery end in L and a number (HPRL1), and those that pump have PUMP in their name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from assets.sources.aemo.csv_tables import tables
from assets.sources.aemo.rows import REGIONS
from warehouse.errors import FeedChanged
from warehouse.market.vocabulary import Fuel

TABLE = Path(__file__).with_name("units.csv")

FUELS = {
    "Black coal": Fuel.COAL,
    "Other solid fossil fuels": Fuel.COAL,
    "Brown coal": Fuel.LIGNITE,
    "Natural Gas (Pipeline)": Fuel.GAS,
    "Coal seam methane": Fuel.GAS,
    "Coal mine waste gas": Fuel.GAS,
    "Ethane": Fuel.GAS,
    "Diesel oil": Fuel.OIL,
    "Kerosene - non aviation": Fuel.OIL,
    "Hydro": Fuel.HYDRO,
    "Water": Fuel.HYDRO,
    "Wind": Fuel.WIND,
    "Solar": Fuel.SOLAR,
    "Bagasse": Fuel.BIOMASS,
    "Biomass and industrial materials": Fuel.BIOMASS,
    "Primary solid biomass fuels": Fuel.BIOMASS,
    "Other biofuels": Fuel.BIOMASS,
    "Landfill biogas methane": Fuel.BIOMASS,
    "Battery Storage": Fuel.BATTERY,
}
"""Fuels by CO2E_ENERGY_SOURCE, whatever its case."""
_FUELS = {name.casefold(): fuel for name, fuel in FUELS.items()}
_PUMP, _BATTERY_LOAD = re.compile("PUMP"), re.compile(r"L\d+$", re.ASCII)
_CDEII = "CO2EIIPUBLISHING"
_COLUMNS = ("DUID", "REGIONID", "CO2E_ENERGY_SOURCE")


class Unit(NamedTuple):
    """A unit: its region as AEMO spells it, and its fuel. The readings of a load are positive while it consumes."""

    region: str
    fuel: Fuel
    is_load: bool

    def describe(self) -> str:
        """Return `NSW1 battery, a load`."""
        return f"{self.region} {self.fuel}{', a load' * self.is_load}"


class Renewal(NamedTuple):
    """The units that a CDEII list adds to a table, and notes that need manual action."""

    units: Mapping[str, Unit]
    added: tuple[str, ...]
    notes: tuple[str, ...]


@cache
def known_units() -> Mapping[str, Unit]:
    """Return the shipped table by DUID."""
    return _decode(TABLE.read_text())


def _decode(text: str) -> dict[str, Unit]:
    return {
        row["duid"]: Unit(row["region"], Fuel(row["fuel"].removeprefix("-")), row["fuel"].startswith("-"))
        for row in csv.DictReader(text.splitlines())
    }


def encode(units: Mapping[str, Unit]) -> str:
    """Return a table of units as CSV, by DUID. The fuel of a load has a minus sign."""
    lines = [f"{duid},{unit.region},{'-' * unit.is_load}{unit.fuel}\n" for duid, unit in sorted(units.items())]
    return "".join(["duid,region,fuel\n", *lines])


def renew(units: Mapping[str, Unit], cdeii: bytes) -> Renewal:
    """Add the units of a CDEII list to a table, without changing known units. Raises FeedChanged, NotPublished."""
    listed: dict[str, set[Unit]] = {}
    notes: list[str] = []
    for duid, region, source in sorted(set(_rows_of(cdeii))):
        fuel = _FUELS.get(source.casefold())
        if fuel is None or region not in REGIONS:
            notes.append(f"{duid} is left out: region {region[:20]!r}, energy source {source[:40]!r}")
            continue
        listed.setdefault(duid, set()).add(_unit(duid, region, fuel))
    added = {}
    for duid, found in listed.items():
        if duid in units:
            notes += [f"{duid} stays {units[duid].describe()}, not {one.describe()}" for one in found - {units[duid]}]
        elif len(found) > 1:
            notes.append(f"{duid} is left out: the list gives it several regions or fuels")
        else:
            added[duid] = next(iter(found))
    return Renewal({**units, **added}, tuple(sorted(added)), tuple(notes))


def _rows_of(cdeii: bytes) -> Iterable[tuple[str, str, str]]:
    """Yield DUID, region and energy source of every line that has a DUID."""
    for table in tables(cdeii, (_CDEII,)):
        if missing := [name for name in _COLUMNS if name not in table.header]:
            raise FeedChanged(f"not the list of available generators: it has no column {missing[0]}")
        columns = table.columns(_COLUMNS, ()).to_pydict()
        for duid, region, source in zip(*(columns[name] for name in _COLUMNS), strict=True):
            if duid:
                yield duid.strip(), (region or "").strip(), (source or "").strip()


def _unit(duid: str, region: str, fuel: Fuel) -> Unit:
    if fuel is Fuel.HYDRO and _PUMP.search(duid):
        return Unit(region, Fuel.PUMPED_STORAGE, True)
    return Unit(region, fuel, fuel is Fuel.BATTERY and _BATTERY_LOAD.search(duid) is not None)
