"""Parse US plants from the monthly workbook of EIA Form 860M, sheet `Operating`, as published at eia.gov.

It states plant codes, balancing authorities, points and operating years, so that no plant is located by polygon.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl

from geo_data.checks import FLOOR_MW
from geo_data.table_rows import Plant

URL = "https://www.eia.gov/electricity/data/eia860m/xls/{month}_generator{year}.xlsx"
BALANCING = {
    "CISO": "US-CAISO",
    "ERCO": "US-ERCOT",
    "PJM": "US-PJM",
    "MISO": "US-MISO",
    "NYIS": "US-NYISO",
    "ISNE": "US-ISONE",
    "SWPP": "US-SPP",
}
"""Balancing authority code -> zone. SPP's western area has a separate code (SWPW)."""
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
"""Technology -> fuel. An unknown technology stops the build, so that a person classifies it."""
MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_NAME = re.compile(rf"({'|'.join(MONTHS)})_generator(\d{{4}})\.xlsx")


def address(today: date) -> str:
    """Return the URL of the newest workbook, which appears in the last week of the second month after its month."""
    months = today.year * 12 + today.month - 1 - (2 if today.day > 26 else 3)
    return URL.format(month=MONTHS[months % 12], year=months // 12)


def newest(folder: Path) -> Path:
    """Return the workbook of the latest month in a folder. Raises FileNotFoundError if it has none."""
    files = [path for path in folder.glob("*_generator*.xlsx") if _NAME.fullmatch(path.name)]
    if not files:
        raise FileNotFoundError(f"{folder} contains no *_generator*.xlsx file")
    return max(files, key=month_of)


def month_of(workbook: Path) -> str:
    """Return `2025-12` for `december_generator2025.xlsx`. Raises ValueError for another name."""
    match = _NAME.fullmatch(workbook.name)
    if match is None:
        raise ValueError(f"{workbook.name} must be named like december_generator2025.xlsx")
    return f"{match[2]}-{MONTHS.index(match[1]) + 1:02}"


def plants(workbook: Path) -> list[Plant]:
    """Return every plant of 250 MW and above in the zones. Raises ValueError for another layout or technology."""
    month = month_of(workbook)
    sites: dict[int, dict[str, Any]] = {}
    shares: dict[int, Counter[str]] = defaultdict(Counter)
    began: dict[int, int] = {}
    for unit in _units(workbook):
        status = str(unit["Status"]).lstrip("(").split(")")[0].strip()
        if unit["Balancing Authority Code"] not in BALANCING or status not in STANDING:
            continue
        code = int(unit["Plant ID"])
        sites.setdefault(code, unit)
        shares[code][_fuel_of(unit["Technology"])] += round(float(unit["Nameplate Capacity (MW)"]) * 10)
        began[code] = min(began.get(code, 9999), int(unit["Operating Year"]))
    large = [code for code, parts in shares.items() if parts.total() >= FLOOR_MW * 10]
    return [_plant(sites[code] | {"Plant ID": code}, shares[code], began[code], month) for code in sorted(large)]


def _plant(site: dict[str, Any], tenths: Counter[str], began: int, month: str) -> Plant:
    """Return a plant from a row of its site and the tenths of a MW by fuel."""
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
        owner=" ".join(str(site["Entity Name"]).split()),
        source=f"EIA-860M {month}",
        source_id=str(site["Plant ID"]),
        eic=None,
        as_of=f"{month}-01",
        lon=round(float(site["Longitude"]), 5),
        lat=round(float(site["Latitude"]), 5),
    )


def _fuel_of(technology: Any) -> str:
    """Return the fuel of a technology. Raises ValueError if it is unknown: a person classifies it."""
    if technology not in FUELS:
        raise ValueError(f"unknown technology in EIA-860M: {technology!r}")
    return FUELS[technology]


def _units(workbook: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the sheet by column name; titles are above the heading, notes below the rows."""
    book = openpyxl.load_workbook(workbook, read_only=True, data_only=True)
    if "Operating" not in book.sheetnames:
        raise ValueError(f'{workbook.name} has no sheet "Operating"')
    heading: list[str] | None = None
    for row in book["Operating"].iter_rows(values_only=True):
        if heading is None:
            heading = [str(cell) for cell in row] if "Plant ID" in row else None
        elif isinstance(row[heading.index("Plant ID")], int | float):
            yield dict(zip(heading, row, strict=False))
    if heading is None:
        raise ValueError(f'{workbook.name} has no column "Plant ID"')
