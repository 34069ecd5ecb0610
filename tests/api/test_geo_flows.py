"""Test that `/v1/geo/flows` has the same lines in its three formats, with geometries that geopandas reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import geopandas
import pytest
from flask.testing import FlaskClient

from assets.documents import flow_layer
from tests.api.geo_answers import served_layers
from warehouse.store.storage import Folder

CATALOGUE: Any = SimpleNamespace(sources={"elexon": SimpleNamespace(license="BMRS", attribution="Elexon")})
HEAD = {"generated": 1, "valid_until": 4_000_000_000, "rounded": True, "simulated": True}
FLOW = {"zone": "GB", "counterparty": "FR", "link": "gb-fr-ifa", "mw": 900, "ts": 1000, "source": "elexon"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    home: Path = tmp_path_factory.mktemp("home")
    with served_layers(home) as made:
        flow_layer.publish(Folder(home), CATALOGUE, HEAD, [FLOW])
        yield made


@pytest.mark.parametrize("query", ["", "?zone=GB", "?bbox=0,50,3,52"])
def test_all_formats_hold_the_same_lines(client: FlaskClient, query: str) -> None:
    features = json.loads(client.get(f"/v1/geo/flows{query}").data)["features"]
    properties = [feature["properties"] for feature in features]
    assert any(own["mw"] == 900 for own in properties)
    frame = geopandas.read_parquet(io.BytesIO(client.get(f"/v1/geo/flows.parquet{query}").data))
    assert frame.crs == "OGC:CRS84"
    assert [list(line.coords) for line in frame.geometry] == [
        [tuple(point) for point in feature["geometry"]["coordinates"]] for feature in features
    ]
    assert frame["id"].tolist() == [own["id"] for own in properties]
    assert frame["mw"].fillna(-1).tolist() == [-1 if own["mw"] is None else own["mw"] for own in properties]


def test_csv_has_every_line_and_the_license_of_its_flow(client: FlaskClient) -> None:
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(client.get("/v1/geo/flows.csv").text))}
    assert rows["gb-fr-ifa"]["mw"] == "900"
    assert rows["gb-fr-ifa"]["license"] == "BMRS"
    assert rows["gb-dk1-viking"]["mw"] == ""
