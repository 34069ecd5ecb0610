"""US plants from the monthly workbook of EIA Form 860M, sheet `Operating`, as published at eia.gov.

It states plant codes, balancing authorities, points and operating years, so that nothing is placed by polygon.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from geo_data.checks import FLOOR_MW
from geo_data.eia860 import BALANCING, STANDING, fuel_of, plant
from geo_data.records import Plant

URL = "https://www.eia.gov/electricity/data/eia860m/xls/{month}_generator{year}.xlsx"
MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_NAME = re.compile(rf"({'|'.join(MONTHS)})_generator(\d{{4}})\.xlsx")


def address(today: date) -> str:
    """Where the newest workbook lies: a month's comes out in the last week of the second month after it."""
    months = today.year * 12 + today.month - 1 - (2 if today.day > 26 else 3)
    return URL.format(month=MONTHS[months % 12], year=months // 12)


def newest(folder: Path) -> Path | None:
    """The workbook of the latest month in a folder."""
    files = [path for path in folder.glob("*_generator*.xlsx") if _NAME.fullmatch(path.name)]
    return max(files, key=lambda path: month_of(path), default=None)


def month_of(workbook: Path) -> str:
    """`2025-12` for `december_generator2025.xlsx`. Raises ValueError for another name."""
    match = _NAME.fullmatch(workbook.name)
    if match is None:
        raise ValueError(f"{workbook.name} is not named like december_generator2025.xlsx")
    return f"{match[2]}-{MONTHS.index(match[1]) + 1:02}"


def plants(workbook: Path) -> list[Plant]:
    """Every plant of 250 MW and above in one of our zones. Raises ValueError for another layout or technology."""
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
        shares[code][fuel_of(unit["Technology"])] += round(float(unit["Nameplate Capacity (MW)"]) * 10)
        began[code] = min(began.get(code, 9999), int(unit["Operating Year"]))
    large = [code for code, parts in shares.items() if parts.total() >= FLOOR_MW * 10]
    return [
        plant(sites[code] | {"Plant ID": code}, shares[code], began[code], f"EIA-860M {month}", f"{month}-01", "Entity")
        for code in sorted(large)
    ]


def _units(workbook: Path) -> Iterator[dict[str, Any]]:
    """The rows of the sheet by column name; titles stand above the heading, notes below the rows."""
    import openpyxl

    book = openpyxl.load_workbook(workbook, read_only=True, data_only=True)
    if "Operating" not in book.sheetnames:
        raise ValueError(f"{workbook.name} has no sheet Operating")
    heading: list[str] | None = None
    for row in book["Operating"].iter_rows(values_only=True):
        if heading is None:
            heading = [str(cell) for cell in row] if "Plant ID" in row else None
        elif isinstance(row[heading.index("Plant ID")], int | float):
            yield dict(zip(heading, row, strict=False))
    if heading is None:
        raise ValueError(f"{workbook.name} has no column Plant ID")
