"""Define filters and formats of the geo paths as values that both the request check and OpenAPI read."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import Any

from api.geo.layers import Box
from api.http.parameters import Parameter, choice, number, whole, words, zones
from warehouse.market.further_zones import NAME_OF_SET, SPEC
from warehouse.market.vocabulary import PLANT_FUELS

FLOOR_MW = 250
"""The capacity of the smallest plant in the layer."""
MEDIA = {
    "geojson": "application/geo+json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "fgb": "application/flatgeobuf",
    "topojson": "application/topo+json",
    "pmtiles": "application/vnd.pmtiles",
}
"""The media type of each `format`, in order of preference."""
UNCUT = ("topojson", "pmtiles")
"""Formats that contain the whole layer. They take no filters, and a custom list of zones does not have them."""
FORMAT_NAMES = {
    "geojson": "GeoJSON",
    "csv": "CSV",
    "parquet": "GeoParquet",
    "fgb": "FlatGeobuf",
    "topojson": "TopoJSON",
    "pmtiles": "PMTiles",
}
"""The name of each format."""
FORMATS = {
    "zones": tuple(format_ for format_ in MEDIA if NAME_OF_SET or format_ not in UNCUT),
    "interconnectors": ("geojson", "csv", "parquet", "fgb"),
    "plants": ("geojson", "csv", "parquet", "fgb"),
    "live": ("geojson", "csv"),
    "flows": ("geojson", "csv", "parquet"),
}
"""The formats of each layer, which are also the file extensions of its paths. The first is the default."""
TITLES = {
    "zones": "Zone boundaries",
    "interconnectors": "Interconnectors",
    "plants": f"Power plants of {FLOOR_MW} MW and above",
    "live": "Latest values on the map, rounded",
    "flows": "Latest flows on interconnectors, rounded",
}
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?\s*", re.IGNORECASE)


def _numbers(text: str, form: str) -> list[float]:
    """Return the numbers in `text`, which has a form such as `west,south,east,north`. Raises ValueError."""
    parts = text.split(",")
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise ValueError(f"contains {part[:40]!r}, which is not a number")
    if len(parts) != len(form.split(",")):
        raise ValueError(f"must be {form}")
    return [float(part) for part in parts]


def _point(text: str) -> tuple[float, float]:
    """Return longitude and latitude of `lat,lon`. Raises ValueError."""
    lat, lon = _numbers(text, "latitude,longitude in degrees")
    if abs(lon) <= 90 < abs(lat) <= 180:
        raise ValueError(f"looks like longitude,latitude; send latitude first: {lon:g},{lat:g}")
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise ValueError("must be a latitude from -90 to 90, then a longitude from -180 to 180")
    return lon, lat


def _bbox(text: str) -> Box:
    if text.count(",") == 5:
        west, south, _, east, north, _ = _numbers(text, "west,south,bottom,east,north,top")
    else:
        west, south, east, north = _numbers(text, "west,south,east,north in degrees")
    if not (abs(west) <= 180 and abs(east) <= 180 and abs(south) <= 90 and abs(north) <= 90):
        raise ValueError("must have longitudes from -180 to 180 and latitudes from -90 to 90")
    if south > north:
        raise ValueError("must have south before north: west,south,east,north")
    return west, south, east, north


def _numbers_schema(least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "number"}, "minItems": least, "maxItems": most}


_SIZES = {SPEC: (45, 245, 64, 325)}.get(NAME_OF_SET or "", (77, 480, 110, 610))
DETAIL = choice(
    "detail",
    f"`low` for web maps ({_SIZES[0]} kB compressed), `high` for analysis ({_SIZES[1]} kB)."
    + (f" Vector tiles: up to zoom 3 ({_SIZES[2]} kB) or zoom 6 ({_SIZES[3]} kB)." if NAME_OF_SET else ""),
    ("low", "high"),
    "low",
)
BBOX = Parameter(
    "bbox",
    "Bounding box as west,south,east,north in degrees (WGS 84). Returns features that intersect it, edges included. If "
    "west is greater than east, the box crosses the antimeridian. In a box of six numbers, the third and sixth are "
    "heights and are ignored.",
    _bbox,
    _numbers_schema(4, 6),
    example=[-11.0, 35.0, 25.0, 62.0],
    comma=True,
)
MIN_MW = number(
    "min_mw", f"Minimum capacity in MW. The layer contains plants of at least {FLOOR_MW} MW.", least=FLOOR_MW
)
FUEL = words(
    "fuel",
    "Main fuel, one or more separated by commas, with the names used in generation and capacity. `wind` includes "
    "onshore and offshore.",
    PLANT_FUELS,
    "nuclear",
)
AT = Parameter(
    "at",
    "A point as latitude,longitude in degrees (WGS 84). Returns the zone that contains it, using the high-detail "
    "boundaries, or 404 if none does.",
    _point,
    _numbers_schema(2, 2),
    example=[51.5, -0.12],
    comma=True,
)
ZONE = zones("zone", "One or more zones, separated by commas.")
ZONE_OF_LINE = zones("zone", "Return lines with at least one end in these zones, separated by commas.")


def _format(layer: str) -> Parameter:
    """Return the `format` parameter of a layer. It accepts any text; the response to an unknown format is 406."""
    schema = {"type": "string", "enum": list(FORMATS[layer]), "default": "geojson"}
    return Parameter("format", "Response format. Overrides the Accept header.", str.lower, schema, None, "geojson")


PARAMETERS: dict[str, dict[str, Parameter]] = {
    layer: {parameter.name: parameter for parameter in (*own, BBOX, _format(layer))}
    for layer, own in {
        "zones": (DETAIL, AT),
        "interconnectors": (ZONE_OF_LINE,),
        "plants": (ZONE, FUEL, MIN_MW),
        "live": (ZONE,),
        "flows": (ZONE_OF_LINE,),
    }.items()
}
"""The parameters by layer, then by name. Paths with a file extension do not take `format`."""


ROOT = "/v1/geo"
LIMIT = whole("limit", "Maximum number of features.", 1, 10_000, 1000)
OFFSET = whole("offset", "Number of features to skip.", 0, 1_000_000, 0)


def _instants(text: str) -> str:
    """Return `text` if it is a time, a date, or an ascending interval, also with an open end. Raises ValueError."""
    ends, instants = text.replace(" ", "+").upper().split("/"), []  # in a query, a plus becomes a space
    with suppress(ValueError, TypeError):
        for place, end in enumerate(ends):
            if end not in ("", ".."):
                # QGIS sends year 0, which datetime does not support. The calendar of year 400 is the same.
                spelled = f"0400{end[4:]}" if end.startswith("0000") else end
                whole_day = "T23:59:59Z" if place else "T00:00Z"
                instants.append(datetime.fromisoformat(spelled if len(end) > 10 else spelled + whole_day))
        if instants and len(ends) <= 2 and instants == sorted(instants):
            return text
    raise ValueError(
        'must be an RFC 3339 time, a date, or an interval start/end in which one side may be ".."; start must be '
        "before "
        "end"
    )


DATETIME = Parameter(
    "datetime",
    "An RFC 3339 time or interval. Features have no time of their own, so all of them match.",
    _instants,
    {"type": "string"},
    example="2026-01-01T00:00:00Z",
)


ITEM_PARAMETERS = {
    name: {own: parameter for own, parameter in filters.items() if own not in ("detail", "at", "format")}
    | {parameter.name: parameter for parameter in (LIMIT, OFFSET, DATETIME)}
    for name, filters in (PARAMETERS | {"zones": {"zone": ZONE, **PARAMETERS["zones"]}}).items()
}
"""The parameters of each collection's items, by name: the filters of its layer, then those of the standard."""
