"""The rows of the tables as typed records: reading, writing, corrections. Publishers' files: see `geo_data.build`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from geo_data import TABLES
from warehouse.market.further_zones import EUROPE, SPEC
from warehouse.market.zones import DEFAULT_SET, EVERY_ZONE, ZONES

SETS = {SPEC: DEFAULT_SET, EUROPE: tuple(EVERY_ZONE)}
"""The sets of zones whose layers are shipped."""


@dataclass(frozen=True, slots=True)
class ZoneRecord:
    """Facts about a footprint. Name, time zone and currency stand in `warehouse.market.zones`."""

    id: str
    country: str
    operator: str
    source_code: str
    """EIA balancing authority, ENTSO-E bidding zone (EIC) or AEMO region."""
    label_lon: float
    label_lat: float
    source: str
    valid_from: str | None
    """Since when the market area is as drawn, where that is known; `valid_to` would end it."""
    valid_to: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Interconnector:
    """A tie of one of our zones; its id is the `link` of flow rows. Flow is positive from `from_zone` outward."""

    id: str
    name: str
    from_zone: str
    to_zone: str | None
    """None if the tie leads to an area outside the set's zones,"""
    neighbour: str | None
    """whose name stands here, as in the `counterparty` of flow rows; in the table also beside a zone beyond the set."""
    type: str
    capacity_mw: float | None
    capacity_from_to_mw: float | None
    capacity_to_from_mw: float | None
    commissioning_year: int | None
    status: str
    """`operating`, `commissioning` or `retired`."""
    geometry_quality: str
    elexon_id: str | None
    elexon_name: str | None
    aemo_id: str | None
    nyiso_id: str | None
    isone_id: str | None
    ercot_id: str | None
    note: str | None
    checked: str
    line: str
    """WKT in lon/lat."""

    @property
    def pair(self) -> str | None:
        """Both ids in order, joined by `_`: the key of flows that are published by zone pair only."""
        return "_".join(sorted((self.from_zone, self.to_zone))) if self.to_zone else None


BASES = ("net", "nameplate", "registered", "connection")
"""Net of the plant's own use; the machines' rating; as registered with the market; what the grid takes at most."""
STATUSES = ("operating", "reserve", "mothballed", "commissioning")
"""`reserve` runs only when the grid operator asks."""


@dataclass(frozen=True, slots=True)
class Plant:
    """A power plant of 250 MW and above. `fuel` has the largest share, `fuel_2` and `fuel_3` the rest."""

    id: str
    name: str
    zone: str
    country: str
    fuel: str
    capacity_mw: float
    capacity_basis: str
    """One of `BASES`: what the source counts."""
    fuel_2: str | None
    fuel_2_mw: float | None
    fuel_3: str | None
    fuel_3_mw: float | None
    commissioning_year: int | None
    """Of the oldest unit that stands."""
    status: str | None
    """One of `STATUSES`; None where no source at hand says it."""
    owner: str | None
    source: str
    source_id: str | None
    """An id that outlives the source's release: EIA's plant code, AEMO's DUIDs, EIC, MaStR or GEM number."""
    eic: str | None
    as_of: str
    """Of the source that gave the capacity."""
    lon: float
    lat: float

    def shares(self) -> list[tuple[str, float]]:
        """(fuel, MW) of each part; their sum is the capacity."""
        rest = [
            (f, mw)
            for f, mw in ((self.fuel_2, self.fuel_2_mw), (self.fuel_3, self.fuel_3_mw))
            if f is not None and mw is not None
        ]
        return [(self.fuel, self.capacity_mw - sum(mw for _, mw in rest)), *rest]


@dataclass(frozen=True, slots=True)
class Mend:
    """One correction of a plant: the value of a field, `drop` or `added` for the whole row, its source and reason."""

    id: str
    field: str
    value: str | None
    source: str
    as_of: str
    """The day of the source, or the day on which an undated page was read."""
    reason: str


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A row of 250 MW and above of another list (powerplantmatching 0.9.1, JRC, OpenElectricity), beside our plant."""

    list: str
    list_id: str
    name: str
    zone: str
    fuel: str
    capacity_mw: float
    plant: str | None
    """The id of ours."""
    why: str | None
    """Why it has none of ours, or another capacity."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Reason why a plant stands outside the footprint of its zone."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class KnownTotal:
    """Published total of a zone and fuel, MW, and the tolerance for ours in percent.

    `grown_mw` is what the plant `grown_plant` gained after the total was published: it is taken off ours.
    """

    zone: str
    fuel: str
    known_mw: float
    tolerance_pct: float
    grown_mw: float | None
    grown_plant: str | None
    source: str


Record = TypeVar("Record")


def read(kind: type[Record], path: Path) -> list[Record]:
    """The rows of a CSV table as records; empty cells are None. Raises ValueError for a wrong heading or number."""
    types = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    with path.open(newline="", encoding="utf-8") as stream:
        table = csv.DictReader(stream)
        if table.fieldnames != list(types):
            raise ValueError(f"{path.name} has the columns {table.fieldnames}; expected {list(types)}")
        return [kind(**{name: cell(row[name], of) for name, of in types.items()}) for row in table]


def write(path: Path, records: Iterable[Any]) -> None:
    """Records as a CSV table that `read` reads back; whole numbers without a point."""
    rows = [asdict(record) for record in records]
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _text(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def cell(text: str, of: str) -> Any:
    """A cell's value by a field's annotation. Raises ValueError for an empty cell where None is not allowed."""
    if text == "":
        if "None" not in of:
            raise ValueError(f"empty cell in a column of type {of}")
        return None
    return int(text) if of.startswith("int") else float(text) if of.startswith("float") else text


def mended(plants: Iterable[Plant], mends: Iterable[Mend]) -> list[Plant]:
    """The corrected plants, without the dropped ones. Corrections of plants that are not in the list are ignored."""
    changes: dict[str, dict[str, str | None]] = {}
    for mend in mends:
        if mend.field != "added":
            changes.setdefault(mend.id, {})[mend.field] = mend.value
    return [_mended(plant, changes.get(plant.id, {})) for plant in plants if "drop" not in changes.get(plant.id, {})]


def _mended(plant: Plant, values: dict[str, str | None]) -> Plant:
    types = {field.name: str(field.type) for field in fields(Plant)}
    return replace(plant, **{name: cell(value or "", types[name]) for name, value in values.items()})


def ordered(plants: Iterable[Plant]) -> list[Plant]:
    """Plants by zone, in the order of `ZONES`, the largest first."""
    return sorted(plants, key=lambda plant: ([*ZONES].index(plant.zone), -plant.capacity_mw, plant.id))


def zones(zone_set: str = SPEC) -> list[ZoneRecord]:
    return [record for record in read(ZoneRecord, TABLES / "zones.csv") if record.id in SETS[zone_set]]


def interconnectors(zone_set: str = SPEC) -> list[Interconnector]:
    """Return the ties of a set's zones. A tie to a zone beyond the set leads to its name outside, or is left out."""
    covered = SETS[zone_set]
    ties = [tie for tie in read(Interconnector, TABLES / "interconnectors.csv") if tie.from_zone in covered]
    return [
        replace(tie, neighbour=None) if tie.to_zone in covered else replace(tie, to_zone=None)
        for tie in ties
        if tie.to_zone in covered or tie.neighbour
    ]


def plants() -> list[Plant]:
    return read(Plant, TABLES / "plants.csv")


def mends() -> list[Mend]:
    return read(Mend, TABLES / "plant_mends.csv")


def outside() -> list[Outside]:
    return read(Outside, TABLES / "plants_outside.csv")


def counterparts() -> list[Counterpart]:
    return read(Counterpart, TABLES / "other_lists.csv")


def known_totals() -> list[KnownTotal]:
    return read(KnownTotal, TABLES / "known_totals.csv")


def geometries(detail: str, zone_set: str = SPEC) -> dict[str, dict[str, Any]]:
    """Zone id -> GeoJSON geometry at `low` or `high` detail. In each set, neighbours share their borders."""
    files = ("zones", "zones.europe") if zone_set == EUROPE else ("zones",)
    collections = [json.loads((TABLES / f"{name}.{detail}.geojson").read_text(encoding="utf-8")) for name in files]
    return {feature["id"]: feature["geometry"] for each in collections for feature in each["features"]}
