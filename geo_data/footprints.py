"""Build zones from publishers' polygons: cut, node and simplify together, so that neighbours share every vertex.

Simplifying zones individually creates slivers, and so does rounding before vertices are shared (README.md, "Traps").
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import shapely

from geo_data.recipe import ALL_OF_EUROPE, AUSTRALIA, EUROPE, INPUTS, US_CRS, Box, Continent, Footprint, Level

WGS84 = "EPSG:4326"
GRID_M = 1.0
"""Vertices are snapped to this grid before borders are noded."""

GAP_M = 100.0
"""Narrower gaps between zones of Europe are closed: lines of two inputs that nearly agree cause them."""
NEAR_DEG = 0.01
"""A part of a country belongs to a zone within this distance."""


def zones(folder: Path, counties: Path, level: Level) -> dict[str, Any]:
    """Return zone ID -> shapely geometry in lon/lat, oriented as in RFC 7946, from the inputs in `folder`."""
    built: dict[str, Any] = {}
    for continent in (EUROPE, AUSTRALIA):
        built |= coverage(_cut(folder, continent), continent.crs, level)
    return built | coverage(_us(folder, counties), US_CRS, level)


def all_of_europe(folder: Path, level: Level) -> dict[str, Any]:
    """Return zone ID -> geometry, as `zones` does, for the zones of Europe including the further ones."""
    return coverage(_cut(folder, ALL_OF_EUROPE), ALL_OF_EUROPE.crs, level, GAP_M)


def units(folder: Path, name: str, wanted: tuple[str, ...] | None = None) -> dict[str, list[Any]]:
    """Return the valid polygons of an input by unit. Raises KeyError with the names of missing units."""
    source = INPUTS[name]
    frame = geopandas.read_file(folder / source.file, **({"layer": source.layer} if source.layer else {}))
    polygons: dict[str, list[Any]] = defaultdict(list)
    for unit, geometry in zip(frame[source.column], frame.geometry, strict=True):
        if geometry is not None and (wanted is None or unit in wanted):
            polygons[unit].append(shapely.make_valid(geometry))
    missing = sorted(set(wanted or ()) - set(polygons))
    if missing:
        raise KeyError(f"{source.file} has no {', '.join(missing)}")
    return polygons


def _cut(folder: Path, continent: Continent) -> dict[str, Any]:
    required: dict[str, list[str]] = defaultdict(list)
    for footprint in continent.footprints:
        required[footprint.source] += footprint.units
        for source, names in filter(None, (footprint.also, footprint.without)):
            required[source] += names
    polygons = {name: units(folder, name, tuple(names)) for name, names in required.items()}
    for footprint in continent.footprints:
        if footprint.within:
            polygons[footprint.within] = units(folder, footprint.within)
    areas = {footprint.zone: _footprint(footprint, polygons) for footprint in continent.footprints}
    for country, sharing in continent.divided:
        areas |= _share_out(polygons["countries"][country], {zone: areas[zone] for zone in sharing})
    return areas


def _footprint(footprint: Footprint, polygons: dict[str, dict[str, list[Any]]]) -> Any:
    def united(source: str, names: Iterable[str]) -> Any:
        return shapely.union_all([shape for name in names for shape in polygons[source][name]])

    whole = area = united(footprint.source, footprint.units)
    if footprint.within:
        cover = united(footprint.within, polygons[footprint.within])
        area = shapely.intersection(area, shapely.union(cover, united(*footprint.also)) if footprint.also else cover)
    if footprint.without:
        area = shapely.difference(area, united(*footprint.without))
    if footprint.harbour:
        box = shapely.box(*footprint.harbour)
        closed = shapely.buffer(shapely.buffer(shapely.intersection(area, box), NEAR_DEG), -NEAR_DEG)
        area = shapely.union(area, shapely.intersection(closed, box))
    parts = [part for part in _polygons(area) if _belongs_to(part, footprint)]
    return shapely.MultiPolygon(parts if area is whole else _mainland(parts))


def _share_out(country: list[Any], areas: dict[str, Any]) -> dict[str, Any]:
    """Return the areas adjusted so that together they cover the whole country.

    A strip of coast that several areas claim goes to the area behind it. A part without an area goes to the area that
    surrounds it most. Long lines get vertices; otherwise two areas along a line would separate in the projection.
    """
    bulks = {zone: shapely.buffer(shapely.buffer(area, -NEAR_DEG / 2), NEAR_DEG) for zone, area in areas.items()}
    others = {zone: shapely.union_all([areas[other] for other in areas if other != zone]) for zone in areas}
    areas = {
        zone: shapely.difference(area, shapely.difference(shapely.intersection(area, others[zone]), bulks[zone]))
        for zone, area in areas.items()
    }
    rest = shapely.difference(shapely.union_all(country), shapely.union_all(list(areas.values())))
    gained = defaultdict(list, {zone: [area] for zone, area in areas.items()})
    for part in _polygons(rest):
        near = shapely.buffer(part, NEAR_DEG)
        shared = {
            zone: shapely.intersection(near, shapely.clip_by_rect(area, *near.bounds)).area
            for zone, area in areas.items()
        }
        zone = max(shared, key=lambda zone: shared[zone])
        if shared[zone]:  # else a distant island
            gained[zone].append(part)
    wholes = {zone: shapely.MultiPolygon(_polygons(shapely.union_all(parts))) for zone, parts in gained.items()}
    return {zone: shapely.segmentize(whole, NEAR_DEG) for zone, whole in wholes.items()}


def _polygons(shape: Any) -> list[Any]:
    parts = shapely.get_parts(shapely.get_parts(shape))
    return [part for part in parts if part.geom_type == "Polygon"]


def _belongs_to(part: Any, footprint: Footprint) -> bool:
    return (footprint.keep is None or _inside(part.bounds, footprint.keep)) and not any(
        _inside(part.bounds, box) for box in footprint.drop
    )


def _inside(bounds: Box, box: Box) -> bool:
    return bounds[0] >= box[0] and bounds[1] >= box[1] and bounds[2] <= box[2] and bounds[3] <= box[3]


def _mainland(parts: list[Any]) -> list[Any]:
    """Remove the slivers that a cut along another file's coastline leaves: parts far thinner than they are long."""
    return [part for part in parts if part.area / part.length > 0.003]


def _us(folder: Path, counties: Path) -> dict[str, Any]:
    shapes = units(folder, "counties")
    members: dict[str, list[Any]] = defaultdict(list)
    with counties.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            members[row["zone"]] += shapes[row["fips"]]
    return {zone: shapely.union_all(parts) for zone, parts in sorted(members.items())}


def coverage(areas: dict[str, Any], crs: str, level: Level, gap_m: float = 0) -> dict[str, Any]:
    """Node all borders together, assign each face to its zone, simplify the faces as one coverage, and round.

    `areas` are polygons in lon/lat by zone; a zone that vanishes at this level is left out. Gaps between neighbours
    narrower than `gap_m` are closed.
    """
    projected = geopandas.GeoSeries(areas, crs=WGS84).to_crs(crs)
    valid = [shapely.MultiPolygon(_polygons(shape)) for shape in shapely.make_valid(projected.values)]
    shapes = shapely.set_precision(valid, GRID_M)
    owned = {zone: face for zone, face in zip(areas, _faces(shapes), strict=True) if not face.is_empty}
    faces = list(owned.values())
    if gap_m:
        faces = list(shapely.coverage_clean(faces, gap_width=gap_m, merge_strategy="min_index"))
    simple = shapely.coverage_simplify(faces, level.tolerance_m)
    parts = [_large_parts(shape, level) for shape in simple]
    there = shapely.STRtree([part for own in parts for part in own])
    cleaned = [shapely.MultiPolygon([_filled(part, level, there) for part in own]) for own in parts]
    lonlat = geopandas.GeoSeries(cleaned, index=list(owned), crs=crs).to_crs(WGS84)
    return {zone: _rounded(shape, level.decimals) for zone, shape in lonlat.items() if not shape.is_empty}


def _faces(shapes: Any) -> list[Any]:
    lines = shapely.union_all(shapely.boundary(shapes), grid_size=GRID_M)
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    tree = shapely.STRtree(shapes)
    owners: dict[int, list[Any]] = defaultdict(list)
    at, zone = tree.query(shapely.point_on_surface(faces), predicate="within")
    # If inputs overlap, the face is the first zone's.
    for face, owner in dict(sorted(zip(at.tolist(), zone.tolist(), strict=True), reverse=True)).items():
        owners[owner].append(faces[face])
    return [shapely.coverage_union_all(owners[i]) if owners[i] else shapely.MultiPolygon() for i in range(len(shapes))]


def _large_parts(shape: Any, level: Level) -> list[Any]:
    """Return the parts not smaller than `smallest_part_km2`."""
    return [part for part in shapely.get_parts(shape) if part.area >= level.smallest_part_km2 * 1e6]


def _filled(part: Any, level: Level, there: Any) -> Any:
    """Remove interior rings too small to see, unless they contain another zone's part."""

    def stays(hole: Any) -> bool:
        return bool(
            hole.area >= level.smallest_hole_km2 * 1e6 or there.query(hole.point_on_surface(), predicate="within").size
        )

    return shapely.Polygon(part.exterior, [ring for ring in part.interiors if stays(shapely.Polygon(ring))])


def _rounded(shape: Any, decimals: int) -> Any:
    """Return a MultiPolygon oriented by RFC 7946, its vertices rounded by one rule so that shared ones stay shared."""
    flat = shapely.transform(shape, lambda xy: np.round(xy, decimals))
    return shapely.orient_polygons(shapely.remove_repeated_points(flat))
