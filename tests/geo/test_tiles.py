"""Read the vector tiles of the zones back with PMTiles' own reader and a decoder of Mapbox Vector Tiles."""

from __future__ import annotations

import gzip
import math
from functools import cache
from typing import Any

import mapbox_vector_tile
import pytest
import shapely
from pmtiles.reader import MemorySource, Reader, all_tiles
from pmtiles.tile import Compression, TileType

from assets.documents import geo_layers
from geo_data import layers, table_rows, tiles
from geo_data.terms import ATTRIBUTION, LICENCE

DRAWN = [record.id for record in table_rows.zones()]
POINTS = {
    "GB": (51.5, -0.12),
    "FR": (48.85, 2.35),
    "BE": (50.85, 4.35),
    "US-ERCOT": (31.0, -97.0),
    "AU-TAS": (-42.0, 146.6),
    "NO-2": (58.6, 7.8),
    None: (47.0, -30.0),
}


@cache
def both() -> dict[str, list[dict[str, Any]]]:
    return layers.zone_features()


def features(detail: str) -> list[dict[str, Any]]:
    return both()[detail]


def body(detail: str) -> bytes:
    return geo_layers.document(f"geo/zones.{detail}.pmtiles")


def decoded(tile: bytes) -> dict[str, Any]:
    """Return the zones of a tile by id: properties, and the shape in units from the tile's south-west corner."""
    [(layer, content)] = mapbox_vector_tile.decode(gzip.decompress(tile)).items()
    assert (layer, content["extent"]) == (tiles.LAYER, tiles.UNITS)
    return {
        one["properties"]["id"]: (one["properties"], shapely.geometry.shape(one["geometry"]))
        for one in content["features"]
    }


def place(lat: float, lon: float, zoom: int) -> tuple[int, int, shapely.Point]:
    """Return the column and row of a point's tile, and the point in the tile's units, by the Web Mercator formula."""
    across = (lon + 180) / 360 * 2**zoom
    down = (1 - math.log(math.tan(math.radians(lat)) + 1 / math.cos(math.radians(lat))) / math.pi) / 2 * 2**zoom
    x, y = int(across), int(down)
    return x, y, shapely.Point((across - x) * tiles.UNITS, (1 - (down - y)) * tiles.UNITS)


@pytest.mark.parametrize(("detail", "last"), [("low", 3), ("high", 6)])
def test_the_file_states_its_tiles_terms_and_extent(detail: str, last: int) -> None:
    reader = Reader(MemorySource(body(detail)))
    header, metadata = reader.header(), reader.metadata()
    assert (header["version"], header["tile_type"], header["tile_compression"]) == (3, TileType.MVT, Compression.GZIP)
    assert (header["min_zoom"], header["max_zoom"], header["clustered"]) == (0, last, True)
    box = [header[name] / 1e7 for name in ("min_lon_e7", "min_lat_e7", "max_lon_e7", "max_lat_e7")]
    assert box == pytest.approx(layers.extent(feature["bbox"] for feature in features(detail)))
    assert (metadata["license"], metadata["attribution"]) == (LICENCE["zones"], ATTRIBUTION["zones"])
    [layer] = metadata["vector_layers"]
    assert (layer["id"], layer["maxzoom"]) == ("zones", last)
    assert layer["fields"]["area_km2"] == "Number"
    assert set(layer["fields"]) == set(features(detail)[0]["properties"])


@pytest.mark.parametrize("detail", ["low", "high"])
@pytest.mark.parametrize(("zone", "point"), POINTS.items(), ids=str)
def test_a_point_lies_in_its_zone_at_every_zoom(detail: str, zone: str | None, point: tuple[float, float]) -> None:
    reader = Reader(MemorySource(body(detail)))
    for zoom in range(reader.header()["max_zoom"] + 1):
        x, y, there = place(*point, zoom)
        tile = reader.get(zoom, x, y)
        holding = [] if tile is None else [name for name, (_, shape) in decoded(tile).items() if shape.covers(there)]
        assert holding == ([zone] if zone else []), zoom


def test_a_tile_has_the_properties_of_its_zones() -> None:
    whole = Reader(MemorySource(body("low"))).get(0, 0, 0)
    found = decoded(whole)
    assert list(found) == DRAWN
    for feature in features("low"):
        stated = {name: value for name, value in feature["properties"].items() if value is not None}
        assert found[feature["id"]][0] == stated


def test_areas_add_up_and_neighbours_meet() -> None:
    """Check that the parts in the tiles of the last zoom add up to each zone and overlap only by rounding."""
    zoom, areas, shared = 6, dict.fromkeys(DRAWN, 0.0), 0.0
    square = shapely.box(0, 0, tiles.UNITS, tiles.UNITS)
    for (level, _x, _y), tile in all_tiles(MemorySource(body("high"))):
        if level != zoom:
            continue
        parts = {name: shapely.intersection(shape, square) for name, (_, shape) in decoded(tile).items()}
        for name, part in parts.items():
            assert part.is_valid
            areas[name] += part.area
        whole = shapely.unary_union(list(parts.values())).area
        shared += sum(part.area for part in parts.values()) - whole
    for feature in features("high"):
        # Degrees are as wide as the units of the zoom, and Mercator stretches latitudes.
        expected = shapely.transform(shapely.geometry.shape(feature["geometry"]), _mercator).area
        assert areas[feature["id"]] / (tiles.UNITS * 2**zoom) ** 2 == pytest.approx(expected, rel=0.002)
    assert shared < 0.0005 * sum(areas.values())


def _mercator(lonlat: Any) -> Any:
    """Return fractions of the world's width, by the other form of the formula."""
    points = lonlat.copy()
    for row in points:
        row[:] = row[0] / 360, math.log(math.tan(math.pi / 4 + math.radians(row[1]) / 2)) / math.tau
    return points
