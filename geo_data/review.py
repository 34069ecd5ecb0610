"""What newer lists of publishers would change in the table of plants, for review: new, gone and changed plants."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from geo_data.records import Plant

KINDS = ("new", "gone", "changed")
_SILENT = {"source", "as_of", "owner", "eic"}
"""Fields that change with every edition, or that a list does not state."""
_NEAR_DEG = 0.002


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One plant that a list has otherwise than the table."""

    kind: str
    """One of `KINDS`."""
    source: str
    country: str
    zone: str | None
    """None where the list states the country alone."""
    id: str | None
    """Ours; None for a plant of a list that has no ids for good."""
    name: str
    what: str

    def __str__(self) -> str:
        place, own = self.zone or self.country, f"{self.id} {self.name}" if self.id else self.name
        return f"{self.kind:7} {place} {own}: {self.what} ({self.source})"


def changes(ours: Iterable[Plant], listed: Sequence[Plant]) -> list[Change]:
    """Of a list with the same ids, by kind, zone and id."""
    source = listed[0].source if listed else "an empty list"
    before, after = {plant.id: plant for plant in ours}, {plant.id: plant for plant in listed}
    found = [of("new", source, plant, _size(plant)) for name, plant in after.items() if name not in before]
    found += [of("gone", source, plant, _size(plant)) for name, plant in before.items() if name not in after]
    for name in before.keys() & after.keys():
        differing = _differing(before[name], after[name])
        if differing:
            found.append(of("changed", source, after[name], "; ".join(differing)))
    return sorted(found, key=lambda change: (KINDS.index(change.kind), change.zone or "", change.id or ""))


def of(kind: str, source: str, plant: Plant, what: str) -> Change:
    """A change of a plant of ours, or of one with an id for good."""
    return Change(kind, source, plant.country, plant.zone, plant.id, plant.name, what)


def table(found: Iterable[Change]) -> str:
    """The changes as CSV (RFC 4180), one a row; without any, the heading alone."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Change)], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(asdict(change) for change in found)
    return text.getvalue()


def _size(plant: Plant) -> str:
    return f"{plant.capacity_mw:g} MW {plant.fuel}"


def _differing(before: Plant, after: Plant) -> list[str]:
    pairs = [(f.name, getattr(before, f.name), getattr(after, f.name)) for f in fields(Plant) if f.name not in _SILENT]
    return [f"{name} {old} -> {new}" for name, old, new in pairs if not _same(name, old, new)]


def _same(name: str, old: object, new: object) -> bool:
    if name in ("lon", "lat") and isinstance(old, float) and isinstance(new, float):
        return abs(old - new) < _NEAR_DEG
    return old == new
