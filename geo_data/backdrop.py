"""Draw the land behind the zones of the map page: coarse countries of three regions, from the zones' polygons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import shapely

from geo_data import footprints
from geo_data.recipe import EUROPE, US_CRS, Level

LEVEL = Level("backdrop", 5000, 200, 400, 2)
REGIONS = {
    "america": (US_CRS, (-140.0, 12.0, -52.0, 62.0)),
    "europe": (EUROPE.crs, (-32.0, 28.0, 46.0, 70.0)),
    "australia": ("EPSG:3577", (106.0, -54.0, 165.5, 2.0)),
}


def collection(folder: Path) -> str:
    """Return GeoJSON of the regions' countries, without names: `region` is the only property."""
    features = [
        {"type": "Feature", "properties": {"region": region}, "geometry": _geometry(shape)}
        for region, (crs, box) in REGIONS.items()
        for shape in footprints.coverage(_clipped(folder, box), crs, LEVEL).values()
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":")) + "\n"


def _clipped(folder: Path, box: tuple[float, float, float, float]) -> dict[str, Any]:
    window, countries = shapely.box(*box), {}
    for place, shapes in enumerate(footprints.units(folder, "countries").values()):
        # A country that the antimeridian cuts (Fiji) appears as a band round the globe.
        land = shapely.union_all(
            [part for part in shapely.get_parts(shapely.get_parts(shapes)) if part.bounds[2] - part.bounds[0] < 180]
        )
        parts = [part for part in shapely.get_parts(shapely.intersection(land, window)) if part.geom_type == "Polygon"]
        if parts:
            countries[str(place)] = shapely.MultiPolygon(parts)
    return countries


def _geometry(shape: Any) -> Any:
    return json.loads(shapely.to_geojson(shape))
