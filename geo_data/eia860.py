"""US plants from the yearly zip of EIA Form 860. Zones follow from balancing authorities, never from polygons."""

from __future__ import annotations

import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geo_data.checks import FLOOR_MW
from geo_data.records import Plant

URL = "https://www.eia.gov/electricity/data/eia860/xls/eia860{year}.zip"
BALANCING = {
    "CISO": "US-CAISO",
    "ERCO": "US-ERCOT",
    "PJM": "US-PJM",
    "MISO": "US-MISO",
    "NYIS": "US-NYISO",
    "ISNE": "US-ISONE",
    "SWPP": "US-SPP",
}
"""Balancing authority code -> zone. SPP's western area has a code of its own (SWPW)."""
STANDING = {"OP", "SB", "OA", "OS"}
"""Unit statuses: operating, standby, and out of service but not retired."""
FUELS = {
    "Nuclear": "nuclear",
    "Conventional Steam Coal": "coal",
    "Coal Integrated Gasification Combined Cycle": "coal",
    "Petroleum Liquids": "oil",
    "Petroleum Coke": "oil",
    "Conventional Hydroelectric": "hydro",
    "Hydroelectric Pumped Storage": "pumped_storage",
    "Onshore Wind Turbine": "wind_onshore",
    "Offshore Wind Turbine": "wind_offshore",
    "Solar Photovoltaic": "solar",
    "Solar Thermal with Energy Storage": "solar",
    "Solar Thermal without Energy Storage": "solar",
    "Wood/Wood Waste Biomass": "biomass",
    "Landfill Gas": "biomass",
    "Other Waste Biomass": "biomass",
    "Municipal Solid Waste": "waste",
    "Geothermal": "geothermal",
    "Batteries": "battery",
    "Flywheels": "other",
    "Other Gases": "other",
    "All Other": "other",
    "Hydrokinetic": "marine",
    **{
        f"Natural Gas {kind}": "gas"
        for kind in (
            "Fired Combined Cycle",
            "Fired Combustion Turbine",
            "Steam Turbine",
            "Internal Combustion Engine",
            "with Compressed Air Storage",
        )
    },
    "Other Natural Gas": "gas",
}
"""Technology -> fuel. An unknown technology stops the build: a person decides what it is."""


def plants(bundle: Path) -> list[Plant]:
    """Every plant of 250 MW and above in one of our zones. Raises ValueError for a form of another layout."""
    year = _year(bundle)
    sited = {
        int(row["Plant Code"]): row
        for row in _rows(bundle, "2___Plant", "Plant")
        if row["Balancing Authority Code"] in BALANCING
    }
    shares: dict[int, Counter[str]] = defaultdict(Counter)
    began: dict[int, int] = {}
    for unit in _rows(bundle, "3_1_Generator", "Operable"):
        if unit["Status"] not in STANDING or unit["Plant Code"] is None or int(unit["Plant Code"]) not in sited:
            continue
        code = int(unit["Plant Code"])
        shares[code][fuel_of(unit["Technology"])] += round(float(unit["Nameplate Capacity (MW)"]) * 10)
        began[code] = min(began.get(code, 9999), int(unit["Operating Year"]))
    large = [code for code, parts in shares.items() if parts.total() >= FLOOR_MW * 10]
    return [
        plant(
            sited[code] | {"Plant ID": code}, shares[code], began[code], f"EIA-860 {year}", f"{year}-12-31", "Utility"
        )
        for code in sorted(large)
    ]


def plant(site: dict[str, Any], tenths: Counter[str], began: int, source: str, as_of: str, owner: str) -> Plant:
    """One plant of a form, from a row of its site and the tenths of a MW by fuel; `owner` is "Utility" or "Entity"."""
    # A fourth fuel is a few megawatts at most; it counts with the first.
    parts = [(fuel, mw / 10) for fuel, mw in tenths.most_common()]
    rest: list[tuple[str | None, float | None]] = [*parts[1:3], (None, None), (None, None)]
    return Plant(
        id=f"eia-{site['Plant ID']}",
        name=" ".join(str(site["Plant Name"]).split()),
        zone=BALANCING[site["Balancing Authority Code"]],
        country="US",
        fuel=parts[0][0],
        capacity_mw=tenths.total() / 10,
        capacity_basis="nameplate",
        fuel_2=rest[0][0],
        fuel_2_mw=rest[0][1],
        fuel_3=rest[1][0],
        fuel_3_mw=rest[1][1],
        commissioning_year=began,
        status="operating",
        owner=" ".join(str(site[f"{owner} Name"]).split()),
        source=source,
        source_id=str(site["Plant ID"]),
        eic=None,
        as_of=as_of,
        lon=round(float(site["Longitude"]), 5),
        lat=round(float(site["Latitude"]), 5),
    )


def fuel_of(technology: Any) -> str:
    """Our word for a technology. Raises ValueError for one that is not known: a person decides what it is."""
    if technology not in FUELS:
        raise ValueError(f"EIA-860 names a technology that we do not know: {technology!r}")
    return FUELS[technology]


def _year(bundle: Path) -> int:
    with zipfile.ZipFile(bundle) as files:
        years = {match[1] for name in files.namelist() if (match := re.search(r"2___Plant_Y(\d{4})\.xlsx$", name))}
    if len(years) != 1:
        raise ValueError(f"{bundle.name} holds no plant sheet of one year")
    return int(years.pop())


def _rows(bundle: Path, book: str, sheet: str) -> Iterator[dict[str, Any]]:
    """The rows of a sheet by column name; the form's first row is its title, its last may be a note."""
    import openpyxl

    with zipfile.ZipFile(bundle) as files:
        [name] = [name for name in files.namelist() if Path(name).name.startswith(book)]
        with files.open(name) as stream:
            workbook = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            if sheet not in workbook.sheetnames:
                raise ValueError(f"{name} has no sheet {sheet}")
            lines = workbook[sheet].iter_rows(min_row=2, values_only=True)
            heading = [str(cell) for cell in next(lines)]
            for line in lines:
                if isinstance(line[2], int | float):
                    yield dict(zip(heading, line, strict=False))
