"""Corrections by hand, applied to what a source says: plain values of single fields, rows left out, and why, in tables/plant_mends.csv."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from geo_data.records import Mend, Plant, cell
from warehouse.zones import ZONES

_TYPES = {field.name: str(field.type) for field in dataclasses.fields(Plant)}
_ORDER = {zone: place for place, zone in enumerate(ZONES)}


def mended(plants: Iterable[Plant], mends: Iterable[Mend]) -> list[Plant]:
    """The plants with their corrections. A correction of a plant that the source no longer lists has nothing to do."""
    changes: dict[str, dict[str, str | None]] = {}
    for mend in mends:
        changes.setdefault(mend.id, {})[mend.field] = mend.value
    return [_mended(plant, changes.get(plant.id, {})) for plant in plants if "drop" not in changes.get(plant.id, {})]


def _mended(plant: Plant, values: dict[str, str | None]) -> Plant:
    return dataclasses.replace(plant, **{name: cell(value or "", _TYPES[name]) for name, value in values.items()})


def ordered(plants: Iterable[Plant]) -> list[Plant]:
    """By zone in the specification's order, the largest first."""
    return sorted(plants, key=lambda plant: (_ORDER[plant.zone], -plant.capacity_mw, plant.id))
