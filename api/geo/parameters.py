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
    "live": "Zones with their newest figures, rounded",
    "flows": "Interconnectors with their newest flow, rounded",
}
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,2})?\s*", re.IGNORECASE)


def _numbers(text: str, form: str) -> list[float]:
    """Return the numbers in `text`, which has a form such as `west,south,east,north`. Raises ValueError."""
    parts = text.split(",")
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise ValueError(f"holds {part[:40]!r}, which is not a number")
    if len(parts) != len(form.split(",")):
        raise ValueError(f"takes {form}")
    return [float(part) for part in parts]


def _point(text: str) -> tuple[float, float]:
    """Return longitude and latitude of `lat,lon`. Raises ValueError."""
    lat, lon = _numbers(text, "latitude,longitude in degrees")
    if abs(lon) <= 90 < abs(lat) <= 180:
        raise ValueError(f"looks like longitude,latitude: latitude comes first, {lon:g},{lat:g}")
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise ValueError("takes a latitude from -90 to 90, then a longitude from -180 to 180")
    return lon, lat


def _bbox(text: str) -> Box:
    if text.count(",") == 5:
        west, south, _, east, north, _ = _numbers(text, "west,south,bottom,east,north,top")
    else:
        west, south, east, north = _numbers(text, "west,south,east,north in degrees")
    if not (abs(west) <= 180 and abs(east) <= 180 and abs(south) <= 90 and abs(north) <= 90):
        raise ValueError("takes longitudes from -180 to 180 and latitudes from -90 to 90")
    if south > north:
        raise ValueError("takes south before north: west,south,east,north")
    return west, south, east, north


def _numbers_schema(least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "number"}, "minItems": least, "maxItems": most}


_SIZES = {SPEC: (45, 245, 64, 325)}.get(NAME_OF_SET or "", (77, 480, 110, 610))
DETAIL = choice(
    "detail",
    f"`low`: for maps on the web ({_SIZES[0]} kB compressed); `high`: for analysis ({_SIZES[1]} kB)."
    + (f" Tiles: up to zoom 3 ({_SIZES[2]} kB) or 6 ({_SIZES[3]} kB)." if NAME_OF_SET else ""),
    ("low", "high"),
    "low",
)
BBOX = Parameter(
    "bbox",
    "west,south,east,north in degrees (WGS 84): features whose geometry has a point in common with the box, edges "
    "included. West may be greater than east: the box then crosses the antimeridian. Of six numbers the third and the "
    "sixth are heights, which no feature has.",
    _bbox,
    _numbers_schema(4, 6),
    example=[-11.0, 35.0, 25.0, 62.0],
    comma=True,
)
MIN_MW = number("min_mw", f"Capacity from so many MW; at least {FLOOR_MW}: there is no smaller plant.", least=FLOOR_MW)
FUEL = words(
    "fuel",
    "Main fuel, one or several with commas, in the words of generation and capacity. `wind`: onshore and offshore.",
    PLANT_FUELS,
    "nuclear",
)
AT = Parameter(
    "at",
    "latitude,longitude in degrees (WGS 84): the zone that holds this point, by the boundaries of high detail. "
    "404 where no zone does.",
    _point,
    _numbers_schema(2, 2),
    example=[51.5, -0.12],
    comma=True,
)
ZONE = zones("zone", "Zone, one or several with commas.")
ZONE_OF_LINE = zones("zone", "Lines with either end in this zone, one or several with commas.")


def _format(layer: str) -> Parameter:
    """Return the `format` parameter of a layer. It accepts any text; the response to an unknown format is 406."""
    schema = {"type": "string", "enum": list(FORMATS[layer]), "default": "geojson"}
    return Parameter("format", "The answer's format; goes before Accept.", str.lower, schema, None, "geojson")


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
LIMIT = whole("limit", "Most features in the answer.", 1, 10_000, 1000)
OFFSET = whole("offset", "Features to skip.", 0, 1_000_000, 0)


def _instants(text: str) -> str:
    """Return `text` if it is a time, a date, or an ascending interval of which an end may be open, else raise
    ValueError.
    """
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
        "takes an instant of RFC 3339, a date, or an interval of two of them, the earlier first, of which one may be .."
    )


DATETIME = Parameter(
    "datetime",
    "An instant or interval of RFC 3339. The features have no time of their own, so all of them match.",
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
