"""Check that clients read every geo layer: GDAL, DuckDB, polars, flatgeobuf.js and a validator of RFC 7946."""

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

from geo_data import table_rows
from tests.pages.apart import Apart

pytestmark = pytest.mark.slow
NODE = Path(__file__).resolve().parents[1] / "node"
IDS = {
    "zones": [zone.id for zone in table_rows.zones()],
    "interconnectors": [line.id for line in table_rows.interconnectors()],
    "plants": [plant.id for plant in table_rows.plants()],
}


def body(address: str, layer: str, format_: str) -> bytes:
    content: bytes = urlopen(f"{address}/v1/geo/{layer}.{format_}").read()
    return content


def vsicurl(address: str, layer: str, format_: str) -> list[str]:
    """Return the IDs that GDAL reads with range requests."""
    url = f"/vsicurl/{address}/v1/geo/{layer}.{format_}"
    command = ["ogr2ogr", "-f", "CSV", "-select", "id", "/vsistdout/", url]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.strip('"') for line in output.splitlines()[1:]]


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


@pytest.mark.skipif(shutil.which("ogrinfo") is None, reason="gdal-bin is not installed")
def test_gdal_uses_the_index_of_a_flatgeobuf_file(address: str) -> None:
    url = f"/vsicurl/{address}/v1/geo/plants.fgb"
    command = ["ogrinfo", "-so", "-al", "-spat", "-11", "35", "25", "62", url]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    expected = sum(-11 <= p.lon <= 25 and 35 <= p.lat <= 62 for p in table_rows.plants())
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


gdal = pytest.mark.skipif(shutil.which("ogrinfo") is None, reason="gdal-bin is not installed")
validator = pytest.mark.skipif(
    not (NODE / "node_modules" / "@placemarkio").is_dir(), reason="npm install in tests/node was not run"
)

QUERIES = [
    "zones?bbox=-11,35,25,62",
    "interconnectors.geojson?zone=GB,FR",
    "plants.geojson?zone=US-PJM&fuel=nuclear,coal&min_mw=1000",
]


@pytest.fixture(scope="module")
def address(apart: Apart) -> str:
    """Return the URL of the service, which runs in a process of its own."""
    return apart.address


def frame_of(address: str, query: str) -> geopandas.GeoDataFrame:
    """Return the layer as geopandas reads it from the same URL."""
    return geopandas.read_file(f"{address}/v1/geo/{query}")


@gdal
def test_ogr2ogr_turns_every_layer_into_a_geopackage(address: str, tmp_path: Path) -> None:
    for layer, count in (
        ("zones", 25),
        ("interconnectors", len(frame_of(address, "interconnectors"))),
        ("plants", len(frame_of(address, "plants"))),
    ):
        target = tmp_path / f"{layer}.gpkg"
        subprocess.run(
            ["ogr2ogr", "-f", "GPKG", str(target), f"{address}/v1/geo/{layer}.geojson"], check=True, capture_output=True
        )
        kept = geopandas.read_file(target)
        assert len(kept) == count
        assert not [name for name in kept.columns if "{" in str(kept[name].iloc[0])], "no property became a JSON string"


@gdal
def test_gdal_reads_a_layer_of_the_service_in_few_calls_if_told_so(apart: Apart) -> None:
    """By default GDAL 3.6 requests ten features at a time: 140 calls for all plants, more than allowed per minute."""
    command = ["ogrinfo", "-q", "-oo", "PAGE_SIZE=1000", f"OAPIF:{apart.address}/v1/geo", "plants"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.count("OGRFeature(plants)") == len(frame_of(apart.address, "plants"))
    assert len([1 for target, _ in apart.calls("/v1/geo/collections/plants/items") if "limit=1000" in target]) <= 3


@validator
def test_a_validator_finds_nothing_wrong_but_an_open_ring(address: str) -> None:
    def faults(body: bytes) -> int:
        return subprocess.run(["node", "geojson.mjs"], input=body, capture_output=True, cwd=NODE, timeout=60).returncode

    for query in ("zones.geojson?detail=high", "plants", *QUERIES):
        assert faults(urlopen(f"{address}/v1/geo/{query}").read()) == 0, query
    assert faults(b'{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}') == 1
