"""Test the shipped layers: they match the tables, all formats have the same features, and each is published once."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import geopandas
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from geopandas.testing import assert_geodataframe_equal
from pmtiles.reader import MemorySource, all_tiles

from assets.documents import geo_layers, map_layer
from geo_data import layers, table_rows
from geo_data.terms import ATTRIBUTION, LAYERS, LICENCE, SHIPPED
from warehouse.market.further_zones import EUROPE, SPEC
from warehouse.market.zones import ZONES
from warehouse.store import artefact
from warehouse.store.storage import Folder


@pytest.fixture(scope="module")
def documents() -> dict[str, bytes]:
    return {name: body for layer in LAYERS for name, body in geo_layers.documents(layer).items()}


GEOJSON = ("geo/zones.low.geojson", "geo/zones.high.geojson", "geo/interconnectors.geojson", "geo/plants.geojson")


def positions(coordinates: Any) -> list[list[float]]:
    return (
        [coordinates]
        if isinstance(coordinates[0], float | int)
        else [p for part in coordinates for p in positions(part)]
    )


@pytest.mark.parametrize("name", GEOJSON)
def test_collections_are_rfc_7946_with_flat_properties(documents: dict[str, bytes], name: str) -> None:
    collection = orjson.loads(documents[name])
    assert collection["type"] == "FeatureCollection"
    assert "crs" not in collection
    layer = collection["name"]
    assert collection["license"] == LICENCE[layer]
    assert collection["attribution"] == ATTRIBUTION[layer]
    assert collection["attribution"].startswith({"zones": "Boundaries"}.get(layer, layer.title()))
    keys = list(collection["features"][0]["properties"])
    for feature in collection["features"]:
        assert list(feature) == ["type", "id", "bbox", "properties", "geometry"]
        assert feature["id"] == feature["properties"]["id"]
        assert list(feature["properties"]) == keys
        assert not [v for v in feature["properties"].values() if isinstance(v, dict | list)]
        points = positions(feature["geometry"]["coordinates"])
        assert all(len(p) == 2 and abs(p[0]) <= 180 and abs(p[1]) <= 90 for p in points)
        assert feature["bbox"] == [f(p[axis] for p in points) for f in (min, max) for axis in (0, 1)]
    west, south, east, north = collection["bbox"]
    assert west == min(f["bbox"][0] for f in collection["features"])
    assert north == max(f["bbox"][3] for f in collection["features"])
    assert east > west
    assert north > south


def test_a_zone_says_what_the_zone_table_says(documents: dict[str, bytes]) -> None:
    features = orjson.loads(documents["geo/zones.low.geojson"])["features"]
    assert [f["id"] for f in features] == [record.id for record in table_rows.zones()]
    for feature in features:
        properties, zone = feature["properties"], ZONES[feature["id"]]
        assert (properties["name"], properties["tz"], properties["currency"]) == (zone.name, zone.tz, zone.currency)
    fine = orjson.loads(documents["geo/zones.high.geojson"])["features"]
    assert [f["properties"] for f in fine] == [f["properties"] for f in features]
    belgium = next(f for f in features if f["id"] == "BE")
    assert belgium["properties"]["area_km2"] == pytest.approx(30_689, rel=0.001), "Statbel: 30,689 km2"


def test_a_zone_without_a_map_record_costs_only_its_own_footprint(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [record for record in table_rows.zones() if record.id != "AT"]
    monkeypatch.setattr(table_rows, "zones", lambda _zone_set: kept)
    drawn = [record.id for record in kept]
    assert {tuple(f["id"] for f in features) for features in layers.zone_features().values()} == {tuple(drawn)}
    shapes = {zone: feature for zone, feature in geo_layers.zone_shapes().items() if zone != "AT"}
    monkeypatch.setattr(geo_layers, "zone_shapes", lambda: shapes)
    map_layer._shapes.cache_clear()
    try:
        assert list(map_layer._shapes()) == drawn
    finally:
        map_layer._shapes.cache_clear()


def test_all_formats_hold_the_same_features_in_the_same_order(documents: dict[str, bytes]) -> None:
    for stem in ("plants", "zones.low", "zones.high"):
        properties = orjson.loads(documents[f"geo/{stem}.geojson"])["features"]
        parquet = geopandas.read_parquet(io.BytesIO(documents[f"geo/{stem}.parquet"]))
        flat = geopandas.read_file(io.BytesIO(documents[f"geo/{stem}.rows.fgb"]))
        for frame in (parquet, flat):
            assert list(frame["id"]) == [f["id"] for f in properties]
            assert frame.crs.to_epsg() == 4326
            assert frame.geometry.is_valid.all()
        assert parquet.geometry.geom_equals(flat.geometry).all()
        assert list(parquet.columns.drop("geometry")) == list(properties[0]["properties"])


@pytest.mark.parametrize("stem", ["plants", "interconnectors", "zones.low"])
def test_a_date_is_a_date_in_every_format(documents: dict[str, bytes], stem: str) -> None:
    properties = [f["properties"] for f in orjson.loads(documents[f"geo/{stem}.geojson"])["features"]]
    parquet = pq.read_table(io.BytesIO(documents[f"geo/{stem}.parquet"]))
    columns = [name for name in layers.DATES if name in properties[0]]
    assert columns
    for name in ("fgb", "rows.fgb"):
        flat = geopandas.read_file(io.BytesIO(documents[f"geo/{stem}.{name}"])).set_index("id")
        for column in columns:  # the format has no date without a time
            assert flat[column].dtype.kind == "M"
            days = flat[column].reindex([own["id"] for own in properties])
            assert [None if day is pd.NaT else str(day) for day in days] == [
                own[column] and f"{own[column]} 00:00:00" for own in properties
            ]
    for column in columns:
        assert parquet.schema.field(column).type == pa.date32()
        days = [value and value.isoformat() for value in parquet[column].to_pylist()]
        assert days == [own[column] for own in properties]


def test_a_missing_year_stays_missing_and_a_year_stays_whole(documents: dict[str, bytes]) -> None:
    plants = {p.id: p for p in table_rows.plants()}
    parquet = geopandas.read_parquet(io.BytesIO(documents["geo/plants.parquet"]))
    assert str(parquet["commissioning_year"].dtype) == "Int64"
    assert parquet["commissioning_year"].isna().sum() == sum(p.commissioning_year is None for p in plants.values()) > 0
    assert parquet["owner"].isna().sum() == sum(p.owner is None for p in plants.values())
    rows = list(csv.DictReader(io.StringIO(documents["geo/plants.csv"].decode())))
    assert len(rows) == len(plants)
    assert {r["id"] for r in rows if r["commissioning_year"] == ""} == {
        p.id for p in plants.values() if p.commissioning_year is None
    }
    assert float(rows[0]["lon"]) == plants[rows[0]["id"]].lon
    assert documents["geo/plants.csv"].count(b"\r\n") == len(plants) + 1


SHIPPED_LAYERS = [(SPEC, layer) for layer in LAYERS] + [(EUROPE, "zones"), (EUROPE, "interconnectors")]


@pytest.mark.parametrize(("zone_set", "layer"), SHIPPED_LAYERS)
def test_the_shipped_files_are_what_the_tables_give(zone_set: str, layer: str) -> None:
    """Compare the content of compressed formats, because their bytes depend on the version of zlib and GDAL."""
    fresh = layers.documents(layer, zone_set)
    assert set(fresh) == set(geo_layers._names(layer, SHIPPED[zone_set])), "make layers"
    for name, body in fresh.items():
        shipped = geo_layers.document(name, SHIPPED[zone_set])
        if name.endswith(".pmtiles"):
            assert list(all_tiles(MemorySource(body))) == list(all_tiles(MemorySource(shipped))), "make layers"
        elif name.endswith((".parquet", ".fgb")):
            reader = geopandas.read_parquet if name.endswith(".parquet") else geopandas.read_file
            frames = [reader(io.BytesIO(of)) for of in (body, shipped)]
            assert_geodataframe_equal(*frames)
        else:
            assert body == shipped, "make layers"


def test_layers_are_published_once_and_again_where_one_is_damaged(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    geo_layers.ensure(storage)
    first = artefact.identity(storage, "geo/plants.fgb")
    assert first is not None
    assert first.version == getattr(artefact.identity(storage, "geo/plants.geojson"), "version", None), (
        "one layer, one version"
    )
    lines = artefact.identity(storage, "geo/interconnectors.csv")
    geo_layers.ensure(storage)
    assert artefact.identity(storage, "geo/plants.fgb") == first
    path = tmp_path / "published" / "geo" / "plants.csv"
    path.write_bytes(path.read_bytes()[:-1])
    geo_layers.ensure(storage)
    published = artefact.get(storage, "geo/plants.csv")
    assert published is not None
    assert published.body == geo_layers.document("geo/plants.csv")
    assert artefact.identity(storage, "geo/interconnectors.csv") == lines, "the other layers stay"
    hashes = tmp_path / "published" / "geo" / "plants.sha256.json"
    hashes.write_bytes(hashes.read_bytes()[:-1])
    geo_layers.ensure(storage)
    assert artefact.load(storage, "geo/plants.sha256.json") == {"documents": geo_layers.hashes("plants")}
