"""Test the layers of `europe` and of a list of zones: their features in each format, and a limited number of plants."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import geopandas
import orjson
import pandas as pd
import pytest

from assets.documents import geo_layers
from geo_data import table_rows
from geo_data.terms import SHIPPED
from warehouse.market.further_zones import EUROPE
from warehouse.market.zones import DEFAULT_SET
from warehouse.store import artefact
from warehouse.store.storage import Folder

PUBLISH = """
import sys
from assets.documents import flow_layer, geo_layers, map_layer
from pathlib import Path
for layer in ("zones", "interconnectors", "plants"):
    for name, body in geo_layers.documents(layer).items():
        (Path(sys.argv[1]) / name.removeprefix("geo/")).write_bytes(body)
    assert geo_layers.hashes(layer).keys() == geo_layers.documents(layer).keys()
print(len(map_layer._shapes()), len(geo_layers.lines()))
"""
CAPITALS = {
    "AT": (48.21, 16.37), "BE": (50.85, 4.35), "BG": (42.70, 23.32), "CH": (46.95, 7.45), "CZ": (50.09, 14.42),
    "DE-LU": (52.52, 13.40), "DK-2": (55.676, 12.568), "EE": (59.44, 24.75), "ES": (40.42, -3.70), "FI": (60.17, 24.94),
    "FR": (48.86, 2.35), "GB": (51.51, -0.13), "GR": (37.98, 23.73), "HR": (45.81, 15.98), "HU": (47.50, 19.04),
    "IE": (53.35, -6.26), "IT-CSO": (41.90, 12.50), "LT": (54.69, 25.28), "LV": (56.95, 24.11), "NL": (52.37, 4.90),
    "NO-1": (59.91, 10.75), "PL": (52.23, 21.01), "PT": (38.72, -9.14), "RO": (44.43, 26.10), "RS": (44.79, 20.45),
    "SE-3": (59.33, 18.07), "SI": (46.06, 14.51), "SK": (48.15, 17.11),
}  # fmt: skip


def publish(setting: str, folder: Path) -> tuple[int, int]:
    """Write the layers of a process with this value of EMDS_ZONES; return how many zones and lines its map draws."""
    run = [sys.executable, "-c", PUBLISH, str(folder)]
    done = subprocess.run(run, env=os.environ | {"EMDS_ZONES": setting}, capture_output=True, text=True, check=True)
    zones, lines = done.stdout.split()
    return int(zones), int(lines)


def collection(folder: Path, name: str) -> dict:
    return orjson.loads((folder / name).read_bytes())


def test_europe_is_published_as_it_is_shipped(tmp_path: Path) -> None:
    assert publish("europe", tmp_path) == (len(table_rows.zones(EUROPE)), len(table_rows.interconnectors(EUROPE)))
    for path in filter(Path.is_file, SHIPPED[EUROPE].iterdir()):
        if path.name != "sha256.json":
            assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
    plants = collection(tmp_path, "plants.geojson")
    assert plants["note"] == "There are no plants of the zones that EMDS_ZONES adds to the default set."
    assert {feature["properties"]["zone"] for feature in plants["features"]} == {*DEFAULT_SET}
    for feature in collection(tmp_path, "zones.high.geojson")["features"]:
        said = "The layer of plants has none of this zone." in (feature["properties"]["note"] or "")
        assert said == (feature["id"] not in DEFAULT_SET)


@pytest.mark.parametrize("setting", ["DK-2,SE-4,CZ", "DK-2,IE"])
def test_a_list_has_its_own_zones_and_the_lines_between_them_in_each_format(setting: str, tmp_path: Path) -> None:
    drawn, drawn_lines = publish(setting, tmp_path)
    zones = {*DEFAULT_SET, *setting.split(",")}
    assert drawn == len(zones)
    assert not [*tmp_path.glob("*.pmtiles"), *tmp_path.glob("*.topojson")]
    for stem in ("zones.low", "zones.high", "interconnectors"):
        whole = collection(tmp_path, f"{stem}.geojson")
        expected = [feature["properties"] for feature in whole["features"]]
        assert list(whole["features"][0]) == ["type", "id", "bbox", "properties", "geometry"]
        parquet = geopandas.read_parquet(io.BytesIO((tmp_path / f"{stem}.parquet").read_bytes()))
        flat = geopandas.read_file(io.BytesIO((tmp_path / f"{stem}.fgb").read_bytes()))
        assert (tmp_path / f"{stem}.csv").read_bytes().count(b"\r\n") == len(expected) + 1
        for frame in (parquet, flat):
            assert [*frame["id"]] == [own["id"] for own in expected]
            assert [*frame.columns.drop("geometry")] == [*expected[0]]
            for column in ("name", "from", "to", "capacity_mw", "commissioning_year", "area_km2"):
                if column in frame:
                    known = [None if pd.isna(value) else value for value in frame[column]]
                    assert known == [own[column] for own in expected], column
        assert parquet.geometry.geom_equals(flat.geometry).all()
        assert parquet.total_bounds.tolist() == whole["bbox"]
    assert {feature["id"] for feature in collection(tmp_path, "zones.low.geojson")["features"]} == zones
    lines = {one["id"]: one["properties"] for one in collection(tmp_path, "interconnectors.geojson")["features"]}
    assert drawn_lines == len(lines)
    assert {line.id for line in table_rows.interconnectors()} <= lines.keys()
    assert all({line["from"], line["to"]} <= {*zones, None} for line in lines.values())
    assert "dk1-dk2-storebaelt" in lines
    assert ("de-se4-baltic" in lines) == ("SE-4" in zones)
    irish = {lines[tie]["to"] or lines[tie]["neighbour"] for tie in ("INTIRL", "INTEW", "INTGRNL")}
    assert irish == ({"IE"} if "IE" in zones else {"Northern Ireland", "Ireland"})


def test_a_set_that_becomes_a_list_loses_its_tiles(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    geo_layers.ensure(storage)
    assert artefact.get(storage, "geo/zones.low.pmtiles") is not None
    code = """
import sys
from pathlib import Path
from assets.documents import geo_layers
from warehouse.store.storage import Folder
geo_layers.ensure(Folder(Path(sys.argv[1])))
"""
    environ = os.environ | {"EMDS_ZONES": "DK-2"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environ, check=True)
    assert artefact.get(storage, "geo/zones.low.pmtiles") is None
    zones = artefact.get(storage, "geo/zones.low.csv")
    assert zones is not None
    assert b"\r\nDK-2," in zones.body


def test_each_pair_of_neighbours_has_a_line() -> None:
    code = """
import json
from assets.sources.entsoe.areas import BORDERS
print(json.dumps([[zone, border.neighbour] for zone, own in BORDERS.items() for border in own]))
"""
    environ = os.environ | {"EMDS_ZONES": EUROPE}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    joined = [{line.from_zone, line.to_zone} for line in table_rows.interconnectors(EUROPE)]
    zones = {zone.id for zone in table_rows.zones(EUROPE)}
    assert [pair for pair in json.loads(done.stdout) if {*pair} <= zones and {*pair} not in joined] == []


def test_capitals_lie_in_their_zones() -> None:
    """Place points by the footprints of high detail; Luxembourg and Belfast share a zone with others."""
    zones = geopandas.read_file(SHIPPED[EUROPE] / "zones.high.geojson").set_index("id").geometry
    places = [*CAPITALS.items(), ("DE-LU", (49.61, 6.13)), ("IE", (54.60, -5.93))]
    for zone, (lat, lon) in places:
        point = geopandas.points_from_xy([lon], [lat])[0]
        assert [*zones.index[zones.covers(point)]] == [zone]


@pytest.mark.parametrize(("setting", "are_offered"), [("europe", True), ("DK-2", False)])
def test_tiles_are_offered_for_the_sets_with_a_name_alone(setting: str, are_offered: bool) -> None:
    code = "from api.endpoints.table import ENDPOINTS; print([each.path for each in ENDPOINTS.values()])"
    environ = os.environ | {"EMDS_ZONES": setting}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert "/v1/geo/zones.fgb" in done.stdout
    assert ("zones.pmtiles" in done.stdout) == ("zones.topojson" in done.stdout) == are_offered
