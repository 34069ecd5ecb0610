"""Serve the documents of the geo layers as they were generated, and read the feature IDs of a response."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import geopandas
import orjson
from flask import Flask
from flask.testing import FlaskClient

from api.access.gate import Gate
from api.application import create_app
from api.geo.layers import GeoLayer
from api.geo.parameters import FORMATS, UNCUT
from api.settings import Settings
from assets.documents import geo_layers
from geo_data.terms import LAYERS as DATA_LAYERS
from warehouse.store.storage import Folder

LAYERS = ("zones.low", "zones.high", "interconnectors", "plants")
CUT_FORMATS = [(layer, name) for layer in DATA_LAYERS for name in FORMATS[layer] if name not in ("geojson", *UNCUT)]


@cache
def documents() -> dict[str, bytes]:
    """Return every document of every layer. The first test that needs them builds them, not the collection."""
    return {name: body for layer in DATA_LAYERS for name, body in geo_layers.documents(layer).items()}


@cache
def index_of(layer: str) -> GeoLayer:
    return GeoLayer.parse(documents()[f"geo/{layer}.geojson"])


@cache
def frame_of(layer: str) -> geopandas.GeoDataFrame:
    return geopandas.GeoDataFrame.from_features(orjson.loads(documents()[f"geo/{layer}.geojson"])["features"])


def app_of(home: Path, gate: Gate) -> Flask:
    """Return an application that serves the layers published in a folder."""
    return create_app(replace(gate.settings, home=str(home)), gate)


@contextmanager
def served_layers(home: Path) -> Iterator[FlaskClient]:
    """Yield a client of all layers, which are published to a folder and served without limits."""
    geo_layers.publish(Folder(home))
    unlimited = Settings(
        home=str(home),
        database_url=f"sqlite:///{home}/accounts.sqlite",
        free_calls_per_minute=0,
        sample_calls_per_day=0,
    )
    gate = Gate(unlimited, "simulated")
    yield app_of(home, gate).test_client()
    gate.close()


def ids(client: FlaskClient, path: str) -> list[str]:
    """Return the IDs of the features in a response, in its order."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return [feature["id"] for feature in orjson.loads(answer.data)["features"]]
