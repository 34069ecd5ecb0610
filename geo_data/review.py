"""What a newer list of US plants would change in the table, for review: new, gone and changed plants, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from geo_data.records import Plant

_SILENT = {"source", "as_of", "owner", "eic"}
"""Fields that change with every edition, or that a list does not state."""
_NEAR_DEG = 0.002


def changes(kept: Iterable[Plant], listed: Iterable[Plant]) -> list[str]:
    """Lines that begin with `new`, `gone` or `changed`, by zone and id."""
    before, after = {plant.id: plant for plant in kept}, {plant.id: plant for plant in listed}
    lines = [_line("new", plant, _size(plant)) for name, plant in after.items() if name not in before]
    lines += [_line("gone", plant, _size(plant)) for name, plant in before.items() if name not in after]
    for name in before.keys() & after.keys():
        differing = _differing(before[name], after[name])
        if differing:
            lines.append(_line("changed", after[name], "; ".join(differing)))
    return sorted(lines)


def _line(kind: str, plant: Plant, text: str) -> str:
    return f"{kind:7} {plant.zone} {plant.id} {plant.name}: {text}"


def _size(plant: Plant) -> str:
    return f"{plant.capacity_mw:g} MW {plant.fuel}"


def _differing(before: Plant, after: Plant) -> list[str]:
    pairs = [(f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(Plant) if f.name not in _SILENT]
    return [f"{name} {old} -> {new}" for name, old, new in pairs if not _same(name, old, new)]


def _same(name: str, old: object, new: object) -> bool:
    if name in ("lon", "lat") and isinstance(old, float) and isinstance(new, float):
        return abs(old - new) < _NEAR_DEG
    return old == new
