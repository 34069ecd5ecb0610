"""Check QGIS as a client against geopandas: every layer by URL, over /vsicurl/ and as OGC API Features.

QGIS runs once for all layers, in the system's Python.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import geopandas
import pytest
import shapely

from tests.pages.apart import Apart
from tests.pages.conftest import NO_PRICE

pytestmark = pytest.mark.slow
PYTHON = "/usr/bin/python3"
READER = Path(__file__).with_name("qgis_reader.py")
BOX = (-11, 35, 25, 62)
WHERE = {
    "zones": "\"country\" = 'DE'",
    "interconnectors": '"capacity_mw" >= 1000',
    "plants": '"fuel" = \'nuclear\' AND "capacity_mw" > 2000',
    "live": "\"price_unit\" = 'GBP/MWh'",
}
SHAPES = {"zones": "MultiPolygon", "interconnectors": "LineString", "plants": "Point", "live": "MultiPolygon"}
FILES = [
    "zones.geojson?detail=high",
    "zones.fgb",
    "interconnectors.geojson",
    "plants.geojson",
    "plants.fgb",
    "plants.geojson?zone=US-PJM&fuel=nuclear,coal&min_mw=1000",
    "live.geojson",
]
CHOSEN = {
    "zones": "country == 'DE'",
    "interconnectors": "capacity_mw >= 1000",
    "plants": "fuel == 'nuclear' and capacity_mw > 2000",
    "live": "price_unit == 'GBP/MWh'",
}
"""The same filters in the syntax of pandas."""
EXTRA = {"lon", "lat", "wkt", "license", "attribution"}
"""Columns that only some formats have."""
CSV = (
    "|option:AUTODETECT_TYPE=YES|option:GEOM_POSSIBLE_NAMES=wkt|option:X_POSSIBLE_NAMES=lon|option:Y_POSSIBLE_NAMES=lat"
)
SERVICE = "pagingEnabled='true' typename='{}' url='{}/v1/geo' version='OGC_API_FEATURES'"
"""The URI that QGIS writes for a layer of an added service."""
BY_VIEW = SERVICE + " restrictToRequestBBOX='1'"


def layers(address: str) -> dict[str, dict[str, Any]]:
    """Return all layers that QGIS opens. Each name starts with the name of the geo layer."""
    wanted = {name: (f"{address}/v1/geo/{name}", "ogr") for name in FILES}
    wanted |= {f"{name} by range": (f"/vsicurl/{address}/v1/geo/{name}", "ogr") for name in FILES if ".fgb" in name}
    wanted |= {
        f"{name}.csv": (f"/vsicurl/{address}/v1/geo/{name}.csv{CSV}", "ogr") for name in SHAPES if name != "live"
    }
    wanted |= {f"{name} of the service": (SERVICE.format(name, address), "OAPIF") for name in SHAPES}
    wanted |= {f"{name} by view": (BY_VIEW.format(name, address), "OAPIF") for name in SHAPES}
    return {
        name: {"uri": uri, "provider": provider, "box": BOX, "where": WHERE[layer_of(name)]}
        for name, (uri, provider) in wanted.items()
    }


def layer_of(name: str) -> str:
    return next(layer for layer in SHAPES if name.startswith(layer))


@pytest.fixture(scope="module")
def qgis_report(apart: Apart, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what QGIS read."""
    home = tmp_path_factory.mktemp("qgis")
    home.chmod(0o700)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "LC_ALL": "C.UTF-8"}
    environ |= {"QT_QPA_PLATFORM": "offscreen"}
    try:
        there = subprocess.run([PYTHON, "-c", "import qgis.core"], env=environ, capture_output=True, timeout=120)
    except OSError:
        pytest.skip("there is no system Python")
    if there.returncode:
        pytest.skip("python3-qgis is not installed")
    uri, where = SERVICE.format("plants", apart.address), "\"as_of\" < '1990-01-01'"
    dated = {"uri": uri, "provider": "OAPIF", "box": BOX, "where": where}
    wanted = {"layers": layers(apart.address) | {"dated": dated}}
    run = subprocess.run(
        [PYTHON, str(READER)], input=json.dumps(wanted), env=environ, capture_output=True, text=True, timeout=240
    )
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def expected(address: str, name: str) -> geopandas.GeoDataFrame:
    """Return the same layer as geopandas reads its GeoJSON."""
    query = name.split(" ")[0]
    if query == "zones":  # of the service
        query = "zones.geojson?detail=high"
    return geopandas.read_file(f"{address}/v1/geo/{query.replace('.fgb', '.geojson').replace('.csv', '.geojson')}")


@pytest.mark.parametrize("name", layers(""))
def test_qgis_reads_what_geopandas_reads(apart: Apart, qgis_report: dict[str, Any], name: str) -> None:
    layer, frame = qgis_report["layers"][name], expected(apart.address, name)
    assert layer["valid"]
    assert set(layer["inside"]) == set(frame.id[frame.intersects(shapely.box(*BOX))])
    if name.endswith("by view"):
        return
    assert layer["count"] == len(layer["rows"]) == len(frame)
    assert {row["id"]: row["name"] for row in layer["rows"]} == dict(zip(frame.id, frame.name, strict=True))
    assert layer["extent"] == pytest.approx(frame.total_bounds, abs=1e-6)
    assert layer["shape"] == SHAPES[layer_of(name)]
    assert layer["crs"] == ("" if ".csv" in name else "EPSG:4326")  # a CSV file cannot state it
    assert layer["fields"].keys() - EXTRA == set(frame.columns) - {"geometry"} - EXTRA
    assert set(layer["kept"]) == set(frame.query(CHOSEN[layer_of(name)]).id)


@pytest.mark.parametrize("name", [name for name in layers("") if name.startswith("plants") and "view" not in name])
def test_numbers_and_dates_are_such_in_qgis(apart: Apart, qgis_report: dict[str, Any], name: str) -> None:
    layer, frame = qgis_report["layers"][name], expected(apart.address, name)
    fields = layer["fields"]
    assert fields["capacity_mw"] == "Real"
    assert fields["commissioning_year"] in ("Integer", "Integer64", "Real")
    assert fields["as_of"] == ("DateTime" if ".fgb" in name else "Date")  # FlatGeobuf has no type for dates
    # QGIS types a service's fields by its first ten features, which have no third fuel. A file states its types.
    assert fields["fuel_3_mw"] == ("String" if "service" in name or "?" in name else "Real")
    midnight = "T00:00:00" if ".fgb" in name else ""
    read = {
        row["id"]: (row["capacity_mw"], row["commissioning_year"], row["as_of"].removesuffix(midnight))
        for row in layer["rows"]
    }
    years = [None if year != year else int(year) for year in frame.commissioning_year]
    days = frame.as_of.dt.strftime("%Y-%m-%d")
    assert read == dict(zip(frame.id, zip(frame.capacity_mw, years, days, strict=True), strict=True))


def test_a_price_that_nobody_published_is_not_0_in_qgis(qgis_report: dict[str, Any]) -> None:
    prices = {row["id"]: row["price"] for row in qgis_report["layers"]["live of the service"]["rows"]}
    assert {zone for zone, price in prices.items() if price is None} == set(NO_PRICE)


def test_a_column_of_dates_without_a_value_is_one_of_dates_in_a_flatgeobuf_file(qgis_report: dict[str, Any]) -> None:
    assert qgis_report["layers"]["zones.fgb"]["fields"]["valid_to"] == "DateTime"


def test_qgis_needs_few_calls(apart: Apart, qgis_report: dict[str, Any]) -> None:
    """QGIS requests 1,000 features at once, which the description allows, and no more than its view."""
    calls = apart.calls("/v1/geo/collections/plants/items")
    assert {status for _, status in calls} == {200}
    assert {target for target, _ in calls if "datetime" not in target} == {
        "?limit=10",
        "?limit=1000",
        "?limit=1000&offset=1000",
        "?limit=1000&bbox=-11,35,25,62",
    }


def test_qgis_leaves_a_filter_by_date_to_the_service_for_which_every_feature_matches(
    qgis_report: dict[str, Any],
) -> None:
    """No plant has such a date, as docs/map.md explains."""
    assert len(qgis_report["layers"]["dated"]["kept"]) == qgis_report["layers"]["dated"]["count"] > 1000
