"""Write vector tiles of the zones in one file, PMTiles 3: MapLibre and OpenLayers read ranges of it without a server.

Layer `zones`, Web Mercator, tiles of 4096 units with a margin of 64; properties as in the other formats, except nulls.
`promoteId: "id"` gives MapLibre the zones' own IDs.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mapbox_vector_tile
import numpy as np
import shapely
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

LAYER = "zones"
UNITS = 4096
MARGIN = 64
LAST_ZOOM = {"low": 3, "high": 6}
"""By detail: the zoom at which a tile's unit equals the outlines' precision (1.2 km, 150 m). Maps enlarge beyond it."""
_LAST_LOW = LAST_ZOOM["low"]


def pmtiles(outlines: Mapping[str, list[dict[str, Any]]], licence: str, attribution: str) -> dict[str, bytes]:
    """Return the files by detail, each up to its last zoom. `outlines` are the zones' GeoJSON features by detail.

    Zooms up to 3 draw the coarse outlines in either file.
    """
    shapes = {detail: _shapes(features) for detail, features in outlines.items()}
    tiles = [
        _tiles(zoom, shapes[detail], outlines[detail])
        for zoom in range(max(LAST_ZOOM.values()) + 1)
        for detail in ("low" if zoom <= _LAST_LOW else "high",)
    ]
    return {
        detail: _file(
            [tile for zoom in tiles[: LAST_ZOOM[detail] + 1] for tile in zoom],
            _extent(features),
            _metadata(features, detail, licence, attribution),
        )
        for detail, features in outlines.items()
    }


def _file(tiles: Sequence[tuple[int, bytes]], extent: Mapping[str, int], metadata: Mapping[str, Any]) -> bytes:
    """Return one file of numbered tiles."""
    out = io.BytesIO()
    writer = Writer(out)  # type: ignore[no-untyped-call]
    for number, tile in sorted(tiles):
        writer.write_tile(number, tile)  # type: ignore[no-untyped-call]
    header = {"tile_type": TileType.MVT, "tile_compression": Compression.GZIP, **extent}
    writer.finalize(header, metadata)  # type: ignore[no-untyped-call]
    return out.getvalue()


def _tiles(zoom: int, outlines: Sequence[Any], features: Sequence[dict[str, Any]]) -> list[tuple[int, bytes]]:
    """Return number and packed body (MVT 2) of every tile of a zoom that contains a part of a zone."""
    return [
        (zxy_to_tileid(zoom, x, y), gzip.compress(tile, mtime=0)) for x, y, tile in _drawn(zoom, outlines, features)
    ]


def _drawn(zoom: int, outlines: Sequence[Any], features: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int, bytes]]:
    """Yield column, row and unpacked body of each such tile."""
    shapes = [_projected(outline, zoom) for outline in outlines]
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
                layer = {"name": LAYER, "features": parts}
                # `_cut` orients the rings, many times faster.
                body = mapbox_vector_tile.encode([layer], default_options={"check_winding_order": False})
                yield x, 2**zoom - 1 - up, body


def _shapes(features: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the outlines of GeoJSON features."""
    return [shapely.from_geojson(json.dumps(feature["geometry"])) for feature in features]


def _projected(outline: Any, zoom: int) -> Any:
    """Return a shape in units of a zoom's tiles, from the west and from the south of the world."""
    units = UNITS * 2**zoom

    def mercator(lonlat: Any) -> Any:
        lon, lat = np.radians(lonlat).T
        return units * np.column_stack([0.5 + lon / math.tau, 0.5 + np.arcsinh(np.tan(lat)) / math.tau])

    return shapely.transform(outline, mercator)


def _frame(x: int, up: int) -> tuple[int, int, int, int]:
    """Return the box of a tile with its margin."""
    west, south = x * UNITS - MARGIN, up * UNITS - MARGIN
    return west, south, west + UNITS + 2 * MARGIN, south + UNITS + 2 * MARGIN


def _cut(shape: Any, x: int, up: int) -> Any:
    """Return a shape's part in a tile, in whole units from its corner: a multipolygon, empty if it vanishes.

    Its outer rings run clockwise with y upwards, as tiles require.
    """
    inside = shapely.transform(shapely.clip_by_rect(shape, *_frame(x, up)), lambda xy: xy - (x * UNITS, up * UNITS))
    whole = shapely.set_precision(shapely.make_valid(inside), 1)
    areas = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon"]
    if not areas:
        return shapely.MultiPolygon()
    return shapely.orient_polygons(shapely.multipolygons(areas), exterior_cw=True)


def _known(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties without nulls, which vector tiles cannot contain."""
    return {name: value for name, value in properties.items() if value is not None}


def _extent(features: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the header's box and centre, in degrees times 1e7."""
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
    """Return TileJSON's fields: name, attribution, and the layer with the type of each property."""
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
