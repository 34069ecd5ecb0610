"""Vector tiles of the zones in one file, PMTiles 3: MapLibre and OpenLayers read it by ranges, without a tile server.

Layer `zones`, Web Mercator, tiles of 4096 units with a margin of 64; properties as in the other formats, without those
that are null. `promoteId: "id"` gives MapLibre the zones' own ids.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

LAYER = "zones"
UNITS = 4096
MARGIN = 64
LAST_ZOOM = {"low": 3, "high": 6}
"""By detail: where a unit of a tile is as long as the outlines are exact (1.2 km, 150 m). Maps enlarge beyond it."""
_LAST_LOW = LAST_ZOOM["low"]


def pmtiles(outlines: dict[str, list[dict[str, Any]]], detail: str, licence: str, attribution: str) -> bytes:
    """The file up to the last zoom of `detail`. `outlines`: the GeoJSON features of the zones by detail.

    Zooms up to 3 draw the coarse outlines in either file.
    """
    from pmtiles.tile import Compression, TileType, zxy_to_tileid
    from pmtiles.writer import Writer

    out = io.BytesIO()
    writer = Writer(out)  # type: ignore[no-untyped-call]
    numbered = [
        (zxy_to_tileid(zoom, x, y), tile)
        for zoom in range(LAST_ZOOM[detail] + 1)
        for x, y, tile in _tiles(zoom, outlines["low" if zoom <= _LAST_LOW else "high"])
    ]
    for number, tile in sorted(numbered):
        writer.write_tile(number, gzip.compress(tile, mtime=0))  # type: ignore[no-untyped-call]
    header = {"tile_type": TileType.MVT, "tile_compression": Compression.GZIP, **_extent(outlines[detail])}
    metadata = _metadata(outlines[detail], detail, licence, attribution)
    writer.finalize(header, metadata)  # type: ignore[no-untyped-call]
    return out.getvalue()


def _tiles(zoom: int, features: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int, bytes]]:
    """Column, row and body (MVT 2) of every tile of a zoom that holds a part of a zone."""
    import mapbox_vector_tile
    import shapely

    shapes = [_projected(feature["geometry"], zoom) for feature in features]
    tree = shapely.STRtree(shapes)
    west, south, east, north = (int(bound // UNITS) for bound in shapely.total_bounds(shapes))
    for x in range(max(0, west - 1), min(2**zoom, east + 2)):
        for up in range(max(0, south - 1), min(2**zoom, north + 2)):
            near = sorted(tree.query(shapely.box(*_frame(x, up))))
            cuts = {place: _cut(shapes[place], x, up) for place in near}
            parts = [
                {"geometry": cut, "properties": _known(features[place]["properties"])}
                for place, cut in cuts.items()
                if not cut.is_empty
            ]
            if parts:
                yield x, 2**zoom - 1 - up, mapbox_vector_tile.encode([{"name": LAYER, "features": parts}])


def _projected(geometry: dict[str, Any], zoom: int) -> Any:
    """A shape in units of a zoom's tiles, from the west and from the south of the world."""
    import numpy as np
    import shapely

    units = UNITS * 2**zoom

    def mercator(lonlat: Any) -> Any:
        lon, lat = np.radians(lonlat).T
        return units * np.column_stack([0.5 + lon / math.tau, 0.5 + np.arcsinh(np.tan(lat)) / math.tau])

    return shapely.transform(shapely.from_geojson(json.dumps(geometry)), mercator)


def _frame(x: int, up: int) -> tuple[int, int, int, int]:
    """The box of a tile with its margin."""
    west, south = x * UNITS - MARGIN, up * UNITS - MARGIN
    return west, south, west + UNITS + 2 * MARGIN, south + UNITS + 2 * MARGIN


def _cut(shape: Any, x: int, up: int) -> Any:
    """What a tile shows of a shape, on whole units from its own corner: a multipolygon, empty where it vanishes."""
    import shapely

    inside = shapely.transform(shapely.clip_by_rect(shape, *_frame(x, up)), lambda xy: xy - (x * UNITS, up * UNITS))
    whole = shapely.set_precision(shapely.make_valid(inside), 1)
    areas = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon"]
    return shapely.multipolygons(areas) if areas else shapely.MultiPolygon()


def _known(properties: dict[str, Any]) -> dict[str, Any]:
    """Vector tiles have no null."""
    return {name: value for name, value in properties.items() if value is not None}


def _extent(features: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The header's box and centre, in degrees times 1e7."""
    wests, souths, easts, norths = zip(*(feature["bbox"] for feature in features), strict=True)
    west, south, east, north = (round(d * 1e7) for d in (min(wests), min(souths), max(easts), max(norths)))
    return {
        "min_lon_e7": west,
        "min_lat_e7": south,
        "max_lon_e7": east,
        "max_lat_e7": north,
        "center_zoom": 0,
        "center_lon_e7": (west + east) // 2,
        "center_lat_e7": (south + north) // 2,
    }


def _metadata(features: Sequence[dict[str, Any]], detail: str, licence: str, attribution: str) -> dict[str, Any]:
    """TileJSON's members: name, attribution, and the layer with the type of each property."""
    kinds = {
        name: "Number" if isinstance(value, int | float) else "String"
        for name, value in features[0]["properties"].items()
    }
    return {
        "name": LAYER,
        "description": "Bidding zones and market areas by id; promoteId: id.",
        "attribution": attribution,
        "license": licence,
        "type": "overlay",
        "version": "1",
        "vector_layers": [{"id": LAYER, "fields": kinds, "minzoom": 0, "maxzoom": LAST_ZOOM[detail]}],
    }
