"""Clients of the geo layers, each against each layer: GDAL over /vsicurl/, geopandas, DuckDB, polars.

Programs that are not installed are skipped; what each reads is compared with the tables themselves.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import duckdb
import geopandas
import pytest

from geo_data import records

pytestmark = pytest.mark.slow
NODE = Path(__file__).resolve().parents[1] / "node"
IDS = {
    "zones": [zone.id for zone in records.zones()],
    "interconnectors": [line.id for line in records.interconnectors()],
    "plants": [plant.id for plant in records.plants()],
}


def body(address: str, layer: str, format_: str) -> bytes:
    content: bytes = urlopen(f"{address}/v1/geo/{layer}.{format_}").read()
    return content


def vsicurl(address: str, layer: str, format_: str) -> list[str]:
    """The ids that GDAL reads with range requests."""
    url = f"/vsicurl/{address}/v1/geo/{layer}.{format_}"
    command = ["ogr2ogr", "-f", "CSV", "-select", "id", "/vsistdout/", url]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.strip('"') for line in output.splitlines()[1:]]


def with_geopandas(address: str, layer: str, format_: str) -> list[str]:
    content = io.BytesIO(body(address, layer, format_))
    frame = geopandas.read_parquet(content) if format_ == "parquet" else geopandas.read_file(content)
    assert frame.crs.to_epsg() == 4326
    return list(frame["id"])


def with_duckdb(address: str, layer: str, format_: str, tmp_path: Path) -> list[str]:
    path = tmp_path / f"{layer}.{format_}"
    path.write_bytes(body(address, layer, format_))
    reader = "read_parquet" if format_ == "parquet" else "read_csv"
    return [row[0] for row in duckdb.sql(f"select id from {reader}('{path}')").fetchall()]


def with_polars(address: str, layer: str, format_: str) -> list[str]:
    polars = pytest.importorskip("polars")
    content = body(address, layer, format_)
    frame = polars.read_parquet(content) if format_ == "parquet" else polars.read_csv(content, infer_schema_length=None)
    ids: list[str] = frame["id"].to_list()
    return ids


CLIENTS: dict[str, tuple[Callable[..., list[str]], tuple[str, ...]]] = {
    "gdal": (vsicurl, ("geojson", "fgb", "csv")),
    "geopandas": (with_geopandas, ("geojson", "fgb", "parquet")),
    "duckdb": (with_duckdb, ("csv", "parquet")),
    "polars": (with_polars, ("csv", "parquet")),
}


@pytest.mark.parametrize(("client", "format_"), [(name, f) for name, (_, formats) in CLIENTS.items() for f in formats])
def test_a_client_reads_every_feature(address: str, tmp_path: Path, client: str, format_: str) -> None:
    if client == "gdal" and shutil.which("ogr2ogr") is None:
        pytest.skip("gdal-bin is not installed")
    read, _ = CLIENTS[client]
    more: dict[str, Any] = {"tmp_path": tmp_path} if client == "duckdb" else {}
    for layer, named in IDS.items():
        ids = read(address, layer, format_, **more)
        # The index of FlatGeobuf orders features along a curve.
        assert sorted(ids) == sorted(named) if format_ == "fgb" else ids == named


def test_geopandas_reads_a_box_of_a_geoparquet_file_by_its_covering_column(address: str) -> None:
    content = io.BytesIO(body(address, "plants", "parquet"))
    frame = geopandas.read_parquet(content, bbox=(-11, 35, 25, 62))
    expected = [p.id for p in records.plants() if -11 <= p.lon <= 25 and 35 <= p.lat <= 62]
    assert list(frame["id"]) == expected


@pytest.mark.skipif(shutil.which("ogrinfo") is None, reason="gdal-bin is not installed")
def test_gdal_uses_the_index_of_a_flatgeobuf_file(address: str) -> None:
    url = f"/vsicurl/{address}/v1/geo/plants.fgb"
    command = ["ogrinfo", "-so", "-al", "-spat", "-11", "35", "25", "62", url]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    expected = sum(-11 <= p.lon <= 25 and 35 <= p.lat <= 62 for p in records.plants())
    assert f"Feature Count: {expected}\n" in output


@pytest.mark.skipif(shutil.which("ogr2ogr") is None, reason="gdal-bin is not installed")
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("zones.topojson", ()),
        ("interconnectors.csv", ("-oo", "GEOM_POSSIBLE_NAMES=wkt")),
        ("plants.csv", ("-oo", "X_POSSIBLE_NAMES=lon", "-oo", "Y_POSSIBLE_NAMES=lat")),
    ],
)
def test_gdal_reads_the_shapes_of_topojson_and_csv(address: str, file: str, options: tuple[str, ...]) -> None:
    url = f"/vsicurl/{address}/v1/geo/{file}"
    command = ["ogr2ogr", "-f", "GeoJSON", "/vsistdout/", url, *options]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    ours = geopandas.read_file(io.BytesIO(body(address, file.split(".")[0], "geojson")))
    theirs = geopandas.read_file(io.BytesIO(output))
    assert list(theirs["id"]) == list(ours["id"])
    assert list(theirs.geom_type) == list(ours.geom_type)
    # TopoJSON rounds to one of 100,000 steps.
    assert theirs.bounds.to_numpy() == pytest.approx(ours.bounds.to_numpy(), abs=0.003)


FLATGEOBUF = NODE / "node_modules" / "flatgeobuf"


@pytest.mark.skipif(not FLATGEOBUF.is_dir(), reason="npm install in tests/node was not run")
def test_flatgeobuf_js_streams_every_feature(address: str) -> None:
    command = ["node", "flatgeobuf.mjs", f"{address}/v1/geo/plants.fgb"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=NODE, timeout=60, check=True).stdout
    assert sorted(output.splitlines()) == sorted(IDS["plants"])
