"""Reads the publishers' newest lists of plants from a folder and compares them with the table. Changes nothing.

EIA's monthly workbook for the US, powerplantmatching's table for Europe, each as published.
"""

from __future__ import annotations

from pathlib import Path

from geo_data import compare, eia860m, mending, records, review
from geo_data.records import Plant
from geo_data.review import Change


def changes(folder: Path, year: float) -> list[Change]:
    """New, gone and changed plants by the lists in a folder; `year` is the present one.

    Raises FileNotFoundError where the folder has none of the lists, ValueError or KeyError for one of another layout.
    """
    listed, european = us_plants(folder), folder / "powerplants.csv"
    if listed is None and not european.is_file():
        raise FileNotFoundError(f"{folder} has no *_generator*.xlsx and no powerplants.csv")
    ours = records.plants()
    found: list[Change] = []
    if listed is not None:
        found += review.changes([plant for plant in ours if is_us(plant)], listed)
    if european.is_file():
        found += compare.differences(ours, compare.read(european), year, records.mends())
    return found


def us_plants(folder: Path) -> list[Plant] | None:
    """Return the corrected US plants of the newest workbook in the folder; None where it has none."""
    workbook = eia860m.newest(folder)
    if workbook is None:
        return None
    return mending.mended(eia860m.plants(workbook), [mend for mend in records.mends() if mend.id.startswith("eia-")])


def is_us(plant: Plant) -> bool:
    """Whether a plant's row comes from EIA's forms."""
    return plant.id.startswith("eia-")
