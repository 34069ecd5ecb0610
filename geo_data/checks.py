"""Check the layers: pure functions from records and shapes to findings. An empty list means that a rule holds.

Shapes are shapely geometries in lon/lat (WGS 84); distances are geodesic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import shapely
from pyproj import Geod

from geo_data.table_rows import BASES, STATUSES, Counterpart, Interconnector, KnownTotal, Outside, Plant
from warehouse.market.vocabulary import PLANT_FUELS, Fuel
from warehouse.market.zones import ZONES

FLOOR_MW = 250.0
"""The smallest plant of the layer."""
COAST_KM = 1.5
"""Largest distance from a landing point or a plant on the water to the generalised shore."""
OFFSHORE_KM = 250.0
"""Largest distance of a wind farm from the land of its zone (Dogger Bank: 235 km)."""
ALIKE = 0.9
"""Two capacities may be of the same plant if the smaller is at least this share of the larger."""
CLOSE = 0.15
"""Difference between the capacities of two lists above which a reason is needed: net, gross, connected."""
SLIVER_DEG = 0.005
"""A narrower gap between neighbours is an error of the layers, not a strait."""


def valid(shapes: Mapping[str, Any]) -> list[str]:
    """Return geometries that are invalid, empty, outside the globe, or repeat a vertex."""
    faults = []
    for name, shape in shapes.items():
        west, south, east, north = shape.bounds if not shape.is_empty else (0, 0, 0, 0)
        if shape.is_empty or not shape.is_valid:
            faults.append(f"{name}: {shapely.is_valid_reason(shape)}")
        elif west < -180 or east > 180 or south < -90 or north > 90:
            faults.append(f"{name}: outside the globe")
        elif shapely.get_num_coordinates(shapely.remove_repeated_points(shape)) != shapely.get_num_coordinates(shape):
            faults.append(f"{name}: a vertex is repeated")
    return faults


def ring_order(shapes: Mapping[str, Any]) -> list[str]:
    """Return polygons with a clockwise exterior or a counter-clockwise interior, against RFC 7946 section 3.1.6."""
    faults = []
    for name, shape in shapes.items():
        for part in shapely.get_parts(shape):
            if not part.exterior.is_ccw:
                faults.append(f"{name}: an exterior ring is clockwise")
            if any(ring.is_ccw for ring in part.interiors):
                faults.append(f"{name}: a hole is counter-clockwise")
    return faults


def coverage(shapes: Mapping[str, Any], gap_deg: float = SLIVER_DEG) -> list[str]:
    """Return neighbours that overlap, whose common border differs in a vertex, or that leave a gap below `gap_deg`."""
    names, geometries = list(shapes), list(shapes.values())
    faults = [
        f"{a} and {b} overlap" for a, b in combinations(names, 2) if shapely.intersection(shapes[a], shapes[b]).area > 0
    ]
    loose = shapely.coverage_invalid_edges(geometries, gap_width=gap_deg)
    faults += [
        f"{name}: its border does not meet its neighbour's"
        for name, edge in zip(names, loose, strict=True)
        if not edge.is_empty
    ]
    return faults


def enclosed_slivers(shapes: Mapping[str, Any]) -> list[str]:
    """Return narrow gaps that zones enclose. San Marino and Liechtenstein are wider."""
    rings = [
        ring
        for part in shapely.get_parts(shapely.union_all([*shapes.values()]))
        for ring in map(shapely.Polygon, part.interiors)
    ]
    return [f"a gap at {ring.centroid.wkt}" for ring in rings if ring.area / ring.length < SLIVER_DEG]


def ids(layer: Iterable[str], expected: Sequence[str] | None = None) -> list[str]:
    """Return IDs that are repeated, missing or unexpected."""
    counted = Counter(list(layer))
    faults = [f"{name} comes {times} times" for name, times in counted.items() if times > 1]
    if expected is not None:
        faults += [f"{name} is missing" for name in expected if name not in counted]
        faults += [f"{name} is unknown" for name in counted if name not in expected]
    return faults


def vocabulary(plants: Iterable[Plant]) -> list[str]:
    """Return plants of unknown zone, fuel, basis or status, below 250 MW, or with shares above their capacity."""
    fuels = set(PLANT_FUELS) - {Fuel.IMPORTS}
    faults = []
    for plant in plants:
        shares = plant.shares()
        if plant.zone not in ZONES or not {fuel for fuel, _ in shares} <= fuels:
            faults.append(f"{plant.id}: zone {plant.zone} or a fuel of {shares} is not in the vocabulary")
        if plant.capacity_basis not in BASES or plant.status not in (*STATUSES, None):
            faults.append(f"{plant.id}: {plant.capacity_basis} or {plant.status} is not in the vocabulary")
        if plant.capacity_mw < FLOOR_MW or any(mw <= 0 for _, mw in shares):
            faults.append(f"{plant.id}: {plant.capacity_mw} MW of {shares}")
    return faults


def ends(lines: Iterable[Interconnector], zones: Collection[str]) -> list[str]:
    """Return lines that do not connect one of these zones to another zone or to a named area outside."""
    return [
        f"{line.id}: leads from {line.from_zone} to {line.to_zone or line.neighbour}"
        for line in lines
        if line.from_zone not in zones
        or (line.to_zone is None) == (line.neighbour is None)
        or line.to_zone == line.from_zone
        or (line.to_zone or line.from_zone) not in zones
        or line.neighbour in zones
    ]


def line_ends(lines: Iterable[Interconnector], shapes: Mapping[str, Any]) -> list[str]:
    """Return lines that do not start in `from_zone` or end in `to_zone`; a landing point may be on the shore.

    A line to an area outside must not end in any of the zones.
    """
    faults = []
    for line in lines:
        first, *_, last = (shapely.Point(xy) for xy in shapely.get_coordinates(shapely.from_wkt(line.line)))
        for zone, end in ((line.from_zone, first), (line.to_zone, last)):
            if zone is None:
                faults += [f"{line.id}: ends in {name}" for name, shape in shapes.items() if shape.covers(end)]
                continue
            away = distance_km(end, shapes[zone])
            if away > (0 if line.geometry_quality == "schematic" else COAST_KM):
                faults.append(f"{line.id}: ends {away:.1f} km from {zone}")
    return faults


def placed(plants: Iterable[Plant], shapes: Mapping[str, Any], explained: Iterable[Outside]) -> list[str]:
    """Return plants outside their zone's footprint, except on the shore, wind farms at sea and rows of `explained`."""
    reasons = {outside.id for outside in explained}
    faults = []
    for plant in plants:
        point = shapely.Point(plant.lon, plant.lat)
        away = distance_km(point, shapes[plant.zone])
        reachable = OFFSHORE_KM if plant.fuel == Fuel.WIND_OFFSHORE else COAST_KM
        foreign = [
            zone for zone, shape in shapes.items() if zone != plant.zone and away > COAST_KM and shape.covers(point)
        ]
        if (away > reachable or foreign) and plant.id not in reasons:
            faults.append(
                f"{plant.id} ({plant.name}): {away:.0f} km from {plant.zone}"
                + (f", in {foreign[0]}" if foreign else "")
            )
    return faults


def totals(plants: Iterable[Plant]) -> dict[tuple[str, str], float]:
    """Return MW by (zone, fuel), mixed plants by their shares."""
    summed: dict[tuple[str, str], float] = defaultdict(float)
    for plant in plants:
        for fuel, mw in plant.shares():
            summed[plant.zone, fuel] += mw
    return dict(summed)


def off_total(plants: Iterable[Plant], known: Iterable[KnownTotal]) -> list[str]:
    """Return totals per zone and fuel that differ from the published total by more than the tolerance."""
    ours = totals(plants)
    faults = []
    for total in known:
        mw = ours.get((total.zone, total.fuel), 0.0) - (total.grown_mw or 0.0)
        if abs(mw - total.known_mw) > total.known_mw * total.tolerance_pct / 100:
            faults.append(f"{total.zone} {total.fuel}: {mw:,.0f} MW against {total.known_mw:,.0f} ({total.source})")
    return faults


def duplicates(plants: Iterable[Plant], listed: Iterable[Counterpart] = ()) -> list[str]:
    """Return plants of similar capacity within 1 km, or 3 km for the same fuel: a plant listed twice.

    Two plants that another list also has are allowed. EIA's are not checked: its plant codes are official, so two codes
    are two plants (Ocean State Power and Ocean State Power II).
    """
    elsewhere = defaultdict(set)
    for row in listed:
        elsewhere[row.list].add(row.plant)
    own = sorted((plant for plant in plants if not plant.id.startswith("eia-")), key=lambda plant: plant.lat)
    faults = []
    for place, a in enumerate(own):
        for b in own[place + 1 :]:
            if b.lat - a.lat > 0.03:
                break
            alike = min(a.capacity_mw, b.capacity_mw) >= ALIKE * max(a.capacity_mw, b.capacity_mw)
            near = alike and _geodesic_km((a.lon, a.lat), (b.lon, b.lat)) < (3 if a.fuel == b.fuel else 1)
            if near and not any({a.id, b.id} <= ids for ids in elsewhere.values()):
                faults.append(f"{a.id} and {b.id}: {a.capacity_mw} and {b.capacity_mw} MW at one place")
    return faults


def other_lists(plants: Iterable[Plant], listed: Iterable[Counterpart]) -> list[str]:
    """Return rows of other lists that lack a plant here, or differ in zone or capacity, without a recorded reason.

    A plant counted twice shows here with twice the MW, half a plant with half, and a lost fuel as no plant.
    """
    ours = {plant.id: plant for plant in plants}
    faults = []
    for row in listed:
        plant = ours.get(row.plant or "")
        if plant is None and row.capacity_mw >= FLOOR_MW and (row.plant or not row.why):
            faults.append(
                f"{row.list} {row.list_id}: {row.name} ({row.capacity_mw:g} MW {row.fuel}) is not in the table"
            )
        elif plant is not None and plant.zone != row.zone:
            faults.append(f"{plant.id}: in {plant.zone}, {row.list} has it in {row.zone}")
        elif plant is not None and not row.why and not _close(plant.capacity_mw, row.capacity_mw):
            faults.append(f"{plant.id}: {plant.capacity_mw:g} MW, {row.list} has {row.capacity_mw:g}")
    return faults


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * max(a, b)


def distance_km(point: Any, shape: Any) -> float:
    """Return the geodesic distance in km to a shape's point nearest in degrees (never too short); 0 inside."""
    if shape.covers(point):
        return 0.0
    nearest = shapely.get_coordinates(shapely.shortest_line(point, shape))
    return _geodesic_km(nearest[0], nearest[1])


def _geodesic_km(a: Any, b: Any) -> float:
    return float(Geod(ellps="WGS84").inv(a[0], a[1], b[0], b[1])[2]) / 1000
