"""Read, write and correct the rows of the tables as typed records. For publishers' files, see `geo_data.build`."""

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
    """Facts about a footprint. Name, time zone and currency are in `warehouse.market.zones`."""

    id: str
    country: str
    operator: str
    source_code: str
    """EIA balancing authority, ENTSO-E bidding zone (EIC) or AEMO region."""
    label_lon: float
    label_lat: float
    source: str
    valid_from: str | None
    """Start date of the market area as drawn, if known; `valid_to` would end it."""
    valid_to: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Interconnector:
    """An interconnector of a zone; its ID is the `link` of flow rows. Flow is positive from `from_zone` outward."""

    id: str
    name: str
    from_zone: str
    to_zone: str | None
    """None if the interconnector leads to an area outside the set's zones."""
    neighbour: str | None
    """The name of that area, as in the `counterparty` of flow rows; in the table also beside a zone beyond the set."""
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
        """Return both IDs in order, joined by `_`: the key of flows that are published only by zone pair."""
        return "_".join(sorted((self.from_zone, self.to_zone))) if self.to_zone else None


BASES = ("net", "nameplate", "registered", "connection")
"""Net of the plant's own use; the machines' rating; as registered with the market; the grid connection's limit."""
STATUSES = ("operating", "reserve", "mothballed", "commissioning")
"""`reserve` runs only if the grid operator requests it."""


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
    """The year of the oldest existing unit."""
    status: str | None
    """One of `STATUSES`; None if no available source states it."""
    owner: str | None
    source: str
    source_id: str | None
    """An ID that outlasts the source's release: EIA's plant code, AEMO's DUIDs, EIC, MaStR or GEM number."""
    eic: str | None
    as_of: str
    """The date of the source that gave the capacity."""
    lon: float
    lat: float

    def shares(self) -> list[tuple[str, float]]:
        """Return (fuel, MW) of each part; their sum is the capacity."""
        rest = [
            (f, mw)
            for f, mw in ((self.fuel_2, self.fuel_2_mw), (self.fuel_3, self.fuel_3_mw))
            if f is not None and mw is not None
        ]
        return [(self.fuel, self.capacity_mw - sum(mw for _, mw in rest)), *rest]


@dataclass(frozen=True, slots=True)
class Mend:
    """One correction of a plant: a field's value, or `drop` or `added` for the whole row, with source and reason."""

    id: str
    field: str
    value: str | None
    source: str
    as_of: str
    """The date of the source, or the date on which an undated page was read."""
    reason: str


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A row of 250 MW and above of another list (powerplantmatching 0.9.1, JRC, OpenElectricity) and its plant."""

    list: str
    list_id: str
    name: str
    zone: str
    fuel: str
    capacity_mw: float
    plant: str | None
    """The ID of the plant in this table."""
    why: str | None
    """Why this table has no such plant, or another capacity."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The reason why a plant is outside the footprint of its zone."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class KnownTotal:
    """Published total of a zone and fuel, MW, and the tolerance for this table's total in percent.

    `grown_mw` is what the plant `grown_plant` gained after the total was published; it is subtracted from this table's.
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
    """Return a CSV table's rows as records; empty cells are None. Raises ValueError for a wrong heading or number."""
    types = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    with path.open(newline="", encoding="utf-8") as stream:
        table = csv.DictReader(stream)
        if table.fieldnames != list(types):
            raise ValueError(f"{path.name} has the columns {table.fieldnames}; expected {list(types)}")
        return [kind(**{name: cell(row[name], of) for name, of in types.items()}) for row in table]


def write(path: Path, records: Iterable[Any]) -> None:
    """Write records as a CSV table that `read` can read; whole numbers have no decimal point."""
    rows = [asdict(record) for record in records]
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _text(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def cell(text: str, of: str) -> Any:
    """Return a cell's value by a field's annotation. Raises ValueError for an empty cell if None is not allowed."""
    if text == "":
        if "None" not in of:
            raise ValueError(f"empty cell in a column of type {of}")
        return None
    return int(text) if of.startswith("int") else float(text) if of.startswith("float") else text


def mended(plants: Iterable[Plant], mends: Iterable[Mend]) -> list[Plant]:
    """Return the corrected plants without dropped plants. Corrections of unlisted plants are ignored."""
    changes: dict[str, dict[str, str | None]] = {}
    for mend in mends:
        if mend.field != "added":
            changes.setdefault(mend.id, {})[mend.field] = mend.value
    return [_mended(plant, changes.get(plant.id, {})) for plant in plants if "drop" not in changes.get(plant.id, {})]


def _mended(plant: Plant, values: dict[str, str | None]) -> Plant:
    types = {field.name: str(field.type) for field in fields(Plant)}
    return replace(plant, **{name: cell(value or "", types[name]) for name, value in values.items()})


def ordered(plants: Iterable[Plant]) -> list[Plant]:
    """Return plants by zone, in the order of `ZONES`, the largest first."""
    return sorted(plants, key=lambda plant: ([*ZONES].index(plant.zone), -plant.capacity_mw, plant.id))


def zones(zone_set: str = SPEC) -> list[ZoneRecord]:
    return [record for record in read(ZoneRecord, TABLES / "zones.csv") if record.id in SETS[zone_set]]


def interconnectors(zone_set: str = SPEC) -> list[Interconnector]:
    """Return a set's interconnectors. If `to_zone` is beyond the set, `neighbour` replaces it or the row is omitted."""
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
    """Return zone ID -> GeoJSON geometry at `low` or `high` detail. In each set, neighbours share their borders."""
    files = ("zones", "zones.europe") if zone_set == EUROPE else ("zones",)
    collections = [json.loads((TABLES / f"{name}.{detail}.geojson").read_text(encoding="utf-8")) for name in files]
    return {feature["id"]: feature["geometry"] for each in collections for feature in each["features"]}
