"""Applies the corrections of tables/plant_mends.csv to plants as a source lists them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from geo_data.records import Mend, Plant, cell
from warehouse.market.zones import ZONES

_TYPES = {field.name: str(field.type) for field in dataclasses.fields(Plant)}
_ORDER = {zone: place for place, zone in enumerate(ZONES)}


def mended(plants: Iterable[Plant], mends: Iterable[Mend]) -> list[Plant]:
    """The corrected plants, without the dropped ones. Corrections of plants that are not in the list are ignored."""
    changes: dict[str, dict[str, str | None]] = {}
    for mend in mends:
        if mend.field != "added":
            changes.setdefault(mend.id, {})[mend.field] = mend.value
    return [_mended(plant, changes.get(plant.id, {})) for plant in plants if "drop" not in changes.get(plant.id, {})]


def _mended(plant: Plant, values: dict[str, str | None]) -> Plant:
    return dataclasses.replace(plant, **{name: cell(value or "", _TYPES[name]) for name, value in values.items()})


def ordered(plants: Iterable[Plant]) -> list[Plant]:
    """Plants by zone, in the order of `ZONES`, the largest first."""
    return sorted(plants, key=lambda plant: (_ORDER[plant.zone], -plant.capacity_mw, plant.id))
