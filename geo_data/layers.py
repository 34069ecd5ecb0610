"""Create the layers' files from the tables: GeoJSON, CSV, GeoParquet, FlatGeobuf, TopoJSON and vector tiles.

`python -m geo_data.build layers` writes them to `geo_data/shipped`, and the pipeline publishes them unchanged.
Properties are flat scalars with the same keys on every feature: nested ones become strings in GDAL, QGIS and geopandas.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely
from pyproj import Geod
from topojson.core.topology import Topology

from geo_data import table_rows, tiles
from geo_data.terms import ATTRIBUTION, LAYERS, LICENCE, SHIPPED
from warehouse.market.further_zones import EUROPE, SPEC
from warehouse.market.zones import DEFAULT_SET, EVERY_ZONE
from warehouse.store import layout

DATES = ("as_of", "checked", "valid_from", "valid_to")
"""Columns that are dates (ISO 8601 in JSON and CSV)."""

Feature = dict[str, Any]


def zone_features(zone_set: str = SPEC) -> dict[str, list[Feature]]:
    """Return the footprints at `low` and `high` detail, in the order of the set, without zones that lack a record."""
    facts = {record.id: record for record in table_rows.zones(zone_set)}
    geometries = {detail: table_rows.geometries(detail, zone_set) for detail in ("low", "high")}
    areas = _areas_km2(geometries["high"])
    return {
        detail: [
            _feature(_zone_properties(facts[zone], areas[zone]), own[zone])
            for zone in table_rows.SETS[zone_set]
            if zone in facts and zone in own
        ]
        for detail, own in geometries.items()
    }


def _zone_properties(record: table_rows.ZoneRecord, area_km2: int) -> dict[str, Any]:
    zone = EVERY_ZONE[record.id]
    without_plants = None if zone.id in DEFAULT_SET else "The layer of plants has none of this zone."
    return {
        "id": zone.id,
        "name": zone.name,
        "country": record.country,
        "tz": zone.tz,
        "currency": zone.currency,
        "operator": record.operator,
        "source_code": record.source_code,
        "area_km2": area_km2,
        "label_lon": record.label_lon,
        "label_lat": record.label_lat,
        "source": record.source,
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "note": " ".join(filter(None, (record.note, without_plants))) or None,
    }


def _areas_km2(footprints: Mapping[str, Any]) -> dict[str, int]:
    """Return geodesic areas of the finer footprints, so that both levels of detail state the same number."""
    earth = Geod(ellps="WGS84")
    shapes = {zone: shapely.from_geojson(json.dumps(geometry)) for zone, geometry in footprints.items()}
    return {zone: round(abs(earth.geometry_area_perimeter(shape)[0]) / 1e6) for zone, shape in shapes.items()}


def line_features(zone_set: str = SPEC) -> list[Feature]:
    """Return the interconnectors. `from_zone` and `to_zone` repeat `from` and `to`, which are reserved words of SQL."""
    features = []
    for line in table_rows.interconnectors(zone_set):
        rest = asdict(line)
        path = [
            [float(x) for x in point.split()]
            for point in rest.pop("line").removeprefix("LINESTRING (").removesuffix(")").split(",")
        ]
        head = {
            "id": rest.pop("id"),
            "name": rest.pop("name"),
            "from": line.from_zone,
            "to": line.to_zone,
            "pair": line.pair,
        }
        features.append(_feature(head | rest, {"type": "LineString", "coordinates": path}))
    return features


def plant_features() -> list[Feature]:
    """Return the plants of 250 MW and above, by zone, the largest first."""
    features = []
    for plant in table_rows.plants():
        properties = asdict(plant)
        point = [properties.pop("lon"), properties.pop("lat")]
        head = {name: properties.pop(name) for name in ("id", "name", "zone", "country", "fuel")}
        properties = head | {"fuel_1_mw": round(plant.shares()[0][1], 3)} | properties
        features.append(_feature(properties, {"type": "Point", "coordinates": point}))
    return features


def _feature(properties: dict[str, Any], geometry: dict[str, Any]) -> Feature:
    box = bbox(geometry["coordinates"])
    return {"type": "Feature", "id": properties["id"], "bbox": box, "properties": properties, "geometry": geometry}


def extent(boxes: Iterable[list[float]]) -> list[float]:
    """Return the box around boxes of west, south, east, north."""
    wests, souths, easts, norths = zip(*boxes, strict=True)
    return [min(wests), min(souths), max(easts), max(norths)]


def bbox(coordinates: Any) -> list[float]:
    """Return west, south, east, north of GeoJSON coordinates of any depth."""
    points = list(_points(coordinates))
    lons, lats = [p[0] for p in points], [p[1] for p in points]
    return [min(lons), min(lats), max(lons), max(lats)]


def _points(coordinates: Any) -> Any:
    if isinstance(coordinates[0], (int, float)):
        yield coordinates
    else:
        for part in coordinates:
            yield from _points(part)


def geojson(name: str, features: list[Feature]) -> bytes:
    """Return an RFC 7946 FeatureCollection; `name` becomes GDAL's layer name."""
    return orjson.dumps(
        {
            "type": "FeatureCollection",
            "name": name,
            "license": LICENCE[name],
            "attribution": ATTRIBUTION[name],
            "bbox": extent(f["bbox"] for f in features),
            "features": features,
        }
    )


def table_csv(features: list[Feature]) -> bytes:
    """Return rows by RFC 4180: the properties, then the geometry (`lon` and `lat` of points, else `wkt`)."""
    points = features[0]["geometry"]["type"] == "Point"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    place = ["lon", "lat"] if points else ["wkt"]
    writer.writerow([*features[0]["properties"], *place])
    for feature in features:
        geometry = feature["geometry"]
        shape = geometry["coordinates"] if points else [shapely.from_geojson(json.dumps(geometry)).wkt]
        writer.writerow([*feature["properties"].values(), *shape])
    return text.getvalue().encode()


def frame(features: list[Feature]) -> Any:
    """Return a GeoDataFrame in WGS 84: dates as dates, integers with gaps as `Int64`. Other empty columns are text."""
    table = geopandas.GeoDataFrame.from_features(features, crs="EPSG:4326")
    for column in table.columns.drop("geometry"):
        values = [feature["properties"][column] for feature in features]
        if column in DATES:
            days = pa.array([value and date.fromisoformat(value) for value in values], pa.date32())
            table[column] = pd.Series(days, dtype=pd.ArrowDtype(pa.date32()))
        elif any(type(value) is int for value in values) and all(
            value is None or type(value) is int for value in values
        ):
            table[column] = table[column].astype("Int64")
        elif all(value is None or isinstance(value, str) for value in values):
            table[column] = table[column].astype("str").where([value is not None for value in values], None)
    return table


def geoparquet(name: str, rows: Any) -> bytes:
    """Return GeoParquet 1.1 with WKB geometry, a covering `bbox` column, and licence and attribution as metadata."""
    body = io.BytesIO()
    rows.to_parquet(body, index=False, compression="zstd", write_covering_bbox=True)
    table = pq.ParquetFile(body).read(use_threads=False)
    terms = {"license": LICENCE[name], "attribution": ATTRIBUTION[name]}
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **terms}), out, compression="zstd")
    return out.getvalue()


def flatgeobuf(name: str, rows: Any, index: bool) -> bytes:
    """Return FlatGeobuf with licence and attribution in its header: with its packed index, or in the layer's order.

    The index sorts features along a Hilbert curve; the API cuts the file without index, feature by feature.
    """
    body = io.BytesIO()
    pyogrio.write_dataframe(
        rows,
        body,
        layer=name,
        driver="FlatGeobuf",
        use_arrow=True,
        layer_options={
            "SPATIAL_INDEX": "YES" if index else "NO",
            "TITLE": name,
            "DESCRIPTION": f"{ATTRIBUTION[name]} {LICENCE[name]}",
        },
    )
    return body.getvalue()


_STEPS = {"low": 100_000, "high": 1_000_000}
"""Steps of the grid from west to east: 0.003 and 0.0003 degrees. On a coarser grid, rings of high detail cross."""


def topojson(features: list[Feature], detail: str) -> bytes:
    """Return the zones as TopoJSON: a border shared by two zones is one arc. Object `zones`; quantised by detail."""
    topology = Topology(
        {"type": "FeatureCollection", "features": features}, object_name="zones", prequantize=_STEPS[detail]
    )
    return orjson.dumps({**topology.to_dict(), "license": LICENCE["zones"], "attribution": ATTRIBUTION["zones"]})


def documents(layer: str, zone_set: str = SPEC) -> dict[str, bytes]:
    """Return the documents of a layer by name, such as `geo/zones.low.geojson`."""
    if layer == "zones":
        both = zone_features(zone_set)
        shared = {
            layout.geo(layer, "topojson", detail): topojson(features, detail) for detail, features in both.items()
        }
        packed = {
            layout.geo(layer, "pmtiles", detail): body
            for detail, body in tiles.pmtiles(both, LICENCE["zones"], ATTRIBUTION["zones"]).items()
        }
        return shared | packed | _formats(layer, "low", both["low"]) | _formats(layer, "high", both["high"])
    return _formats(layer, "", line_features(zone_set) if layer == "interconnectors" else plant_features())


def _formats(layer: str, detail: str, features: list[Feature]) -> dict[str, bytes]:
    rows = frame(features)
    return {
        layout.geo(layer, "geojson", detail): geojson(layer, features),
        layout.geo(layer, "csv", detail): table_csv(features),
        layout.geo(layer, "parquet", detail): geoparquet(layer, rows),
        layout.geo(layer, "fgb", detail): flatgeobuf(layer, rows, index=True),
        layout.geo(layer, "rows.fgb", detail): flatgeobuf(layer, rows, index=False),
    }


def write() -> None:
    """Write every file of each set with its SHA-256, replacing the existing files."""
    _write(SHIPPED[SPEC], LAYERS, SPEC)
    _write(SHIPPED[EUROPE], ("zones", "interconnectors"), EUROPE)


def _write(folder: Path, layers: Iterable[str], zone_set: str) -> None:
    files = {name.removeprefix("geo/"): body for layer in layers for name, body in documents(layer, zone_set).items()}
    folder.mkdir(exist_ok=True)
    for path in filter(Path.is_file, folder.iterdir()):
        path.unlink()
    for name, body in files.items():
        (folder / name).write_bytes(body)
    hashes = {name: hashlib.sha256(body).hexdigest() for name, body in files.items()}
    (folder / "sha256.json").write_text(json.dumps(hashes, indent=2) + "\n")
