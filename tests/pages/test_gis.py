"""GIS programs over HTTP: GDAL, geopandas and a validator of RFC 7946 open every layer, with and without filters."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from urllib.request import urlopen

import geopandas
import pytest

from tests.pages.apart import Apart

NODE = Path(__file__).resolve().parents[1] / "node"
gdal = pytest.mark.skipif(shutil.which("ogrinfo") is None, reason="gdal-bin is not installed")
validator = pytest.mark.skipif(
    not (NODE / "node_modules" / "@placemarkio").is_dir(), reason="npm install in tests/node was not run"
)
pytestmark = pytest.mark.slow

QUERIES = [
    "zones?bbox=-11,35,25,62",
    "interconnectors.geojson?zone=GB,FR",
    "plants.geojson?zone=US-PJM&fuel=nuclear,coal&min_mw=1000",
]


@pytest.fixture(scope="module")
def address(apart: Apart) -> str:
    """Where the service is, in a process of its own."""
    return apart.address


def frame_of(address: str, query: str) -> geopandas.GeoDataFrame:
    """The layer as geopandas reads it from the same address."""
    return geopandas.read_file(f"{address}/v1/geo/{query}")


def extent(text: str) -> list[float]:
    result = re.search(r"Extent: \(([-\d.]+), ([-\d.]+)\) - \(([-\d.]+), ([-\d.]+)\)", text)
    assert result
    return [float(number) for number in result.groups()]


@gdal
@pytest.mark.parametrize("query", QUERIES)
def test_ogrinfo_counts_and_places_what_geopandas_does(address: str, query: str) -> None:
    output = subprocess.run(
        ["ogrinfo", "-so", "-al", f"{address}/v1/geo/{query}"], capture_output=True, text=True, check=True
    ).stdout
    frame = frame_of(address, query)
    assert f"Feature Count: {len(frame)}\n" in output
    assert extent(output) == pytest.approx(frame.total_bounds, abs=1e-6)
    assert f"Layer name: {query.split('.')[0].split('?')[0]}" in output
    assert {"zones": "Multi Polygon", "interconnectors": "Line String", "plants": "Point"}[
        re.split(r"[.?]", query)[0]
    ] in output


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
    """By itself GDAL 3.6 asks for ten features at a time, 140 calls for all plants: more than a minute allows."""
    command = ["ogrinfo", "-q", "-oo", "PAGE_SIZE=1000", f"OAPIF:{apart.address}/v1/geo", "plants"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.count("OGRFeature(plants)") == len(frame_of(apart.address, "plants"))
    assert len([1 for target, _ in apart.calls("/v1/geo/collections/plants/items") if "limit=1000" in target]) <= 3


@pytest.mark.parametrize("query", QUERIES[::2])
def test_formats_agree_over_http(address: str, query: str) -> None:
    """The same features; a FlatGeobuf file with an index has them in the order of its curve."""
    frame = frame_of(address, query).sort_values("id", ignore_index=True)
    other = query.replace(".geojson", "") + ("&" if "?" in query else "?")
    parquet = geopandas.read_parquet(io.BytesIO(urlopen(f"{address}/v1/geo/{other}format=parquet").read()))
    flat = geopandas.read_file(f"{address}/v1/geo/{other}format=fgb")
    for result in (parquet, flat):
        result = result.sort_values("id", ignore_index=True)
        assert list(result.id) == list(frame.id)
        assert result.geometry.geom_equals_exact(frame.geometry, 1e-9).all()


@validator
def test_a_validator_finds_nothing_wrong_but_an_open_ring(address: str) -> None:
    def faults(body: bytes) -> int:
        return subprocess.run(["node", "geojson.mjs"], input=body, capture_output=True, cwd=NODE, timeout=60).returncode

    for query in ("zones.geojson?detail=high", "plants", *QUERIES):
        assert faults(urlopen(f"{address}/v1/geo/{query}").read()) == 0, query
    assert faults(b'{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}') == 1
