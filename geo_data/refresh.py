"""Reads the publishers' newest lists of plants from a folder and compares them with the table. Changes nothing.

EIA's monthly workbook (else its yearly zip) for the US, powerplantmatching's table for Europe, each as published.
"""

from __future__ import annotations

from pathlib import Path

from geo_data import compare, eia860, eia860m, mending, records, review
from geo_data.records import Plant
from geo_data.review import Change


def changes(folder: Path, year: float) -> list[Change]:
    """New, gone and changed plants by the lists in a folder; `year` is the present one.

    Raises FileNotFoundError where the folder has none of the lists, ValueError or KeyError for one of another layout.
    """
    listed, european = us_plants(folder), folder / "powerplants.csv"
    if listed is None and not european.is_file():
        raise FileNotFoundError(f"{folder} has no *_generator*.xlsx, no eia860*.zip and no powerplants.csv")
    ours = records.plants()
    found: list[Change] = []
    if listed is not None:
        found += review.changes([plant for plant in ours if is_us(plant)], listed)
    if european.is_file():
        found += compare.differences(ours, compare.read(european), year, records.mends())
    return found


def us_plants(folder: Path) -> list[Plant] | None:
    """The corrected US plants of the newest form in the folder: the monthly workbook, else the yearly zip."""
    workbook, yearly = eia860m.newest(folder), sorted(folder.glob("eia860*.zip"))
    if workbook is None and not yearly:
        return None
    plants = eia860m.plants(workbook) if workbook else eia860.plants(yearly[-1])
    return mending.mended(plants, [mend for mend in records.mends() if mend.id.startswith("eia-")])


def is_us(plant: Plant) -> bool:
    """Whether a plant's row comes from EIA's forms."""
    return plant.id.startswith("eia-")
