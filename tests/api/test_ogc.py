"""OGC API Features core over the geo layers: landing, conformance, collections, items, and GDAL as a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from api.application import create_app
from api.settings import Settings
from assets.documents import geo_layers
from geo_data import records
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    home: Path = tmp_path_factory.mktemp("home")
    geo_layers.publish(Folder(home))
    free = {"free_calls_per_minute": 0, "sample_calls_per_day": 0}
    return create_app(Settings(home=str(home), database_url=f"sqlite:///{home}/accounts.sqlite", **free)).test_client()


def get(client: FlaskClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def links(body: Any) -> dict[str, str]:
    return {link["rel"]: link["href"].removeprefix("http://localhost") for link in body["links"]}


def test_the_landing_page_leads_to_everything(client: FlaskClient) -> None:
    landing = get(client, "/v1/geo")
    targets = links(landing)
    assert {"self", "service-desc", "service-doc", "conformance", "data"} == set(targets)
    assert "core" in " ".join(get(client, targets["conformance"])["conformsTo"])
    assert client.get(targets["service-desc"]).status_code == 200


@pytest.mark.parametrize("name", ["zones", "interconnectors", "plants"])
def test_items_come_in_pages_that_hold_each_feature_once(client: FlaskClient, name: str) -> None:
    collection = get(client, f"/v1/geo/collections/{name}")
    assert len(collection["extent"]["spatial"]["bbox"][0]) == 4
    path, ids = links(collection)["items"] + "?limit=20", []
    while path:
        page = get(client, path)
        assert page["type"] == "FeatureCollection"
        assert page["numberReturned"] == len(page["features"]) <= 20
        ids += [feature["id"] for feature in page["features"]]
        path = links(page).get("next", "")
    expected = {
        "zones": [zone.id for zone in records.zones()],
        "interconnectors": [line.id for line in records.interconnectors()],
    }
    assert ids == expected.get(name, [plant.id for plant in records.plants()])
    assert page["numberMatched"] == len(ids)


def test_filters_and_a_single_feature(client: FlaskClient) -> None:
    items = "/v1/geo/collections/plants/items"
    page = get(client, f"{items}?bbox=-11,35,25,62&fuel=nuclear&zone=FR&datetime=2026-01-01T00:00:00Z")
    assert {f["properties"]["fuel"] for f in page["features"]} == {"nuclear"}
    for moment in (
        *("2026-01-01", "2026-01-01T00:00:00Z/..", "/2026-01-01T00:00:00%2B01:00", "2025-01-01/2026-01-01"),
        "0000-01-01T00:00:00Z/9999-12-31",  # as QGIS asks
        *("2026-01-01t10:00:00.5z/2026-01-01T10:00:00.5Z", "2026-01-02T01:00:00%2B02:00/2026-01-01T23:30:00Z"),
    ):
        assert get(client, f"{items}?limit=1&datetime={moment}")["numberMatched"] == len(records.plants())
    feature = get(client, f"{items}/eia-6099")
    assert (feature["properties"]["name"], feature["type"]) == ("Diablo Canyon", "Feature")
    assert links(feature)["collection"] == "/v1/geo/collections/plants"


def test_a_box_may_state_heights_which_no_feature_has(client: FlaskClient) -> None:
    items = "/v1/geo/collections/zones/items"
    flat = get(client, f"{items}?bbox=-11,35,25,62")
    high = get(client, f"{items}?bbox=-11,35,-100,25,62,3e3")
    assert [f["id"] for f in high["features"]] == [f["id"] for f in flat["features"]]
    described = get(client, "/openapi.json")["paths"][items]["get"]["parameters"]
    [schema] = [parameter["schema"] for parameter in described if parameter.get("name") == "bbox"]
    assert [one["minItems"] for one in schema["anyOf"]] == [4, 6]


def test_a_sample_has_fifty_features_on_all_its_pages(client: FlaskClient) -> None:
    items = "/v1/geo/collections/plants/items?sample=true"
    whole = client.get(f"{items}&limit=10000")
    assert (whole.headers["X-Sample"], whole.json["sample"], whole.json["numberReturned"]) == ("true", True, 50)
    assert whole.json["numberMatched"] == len(records.plants())
    assert "next" not in links(whole.json)
    first = get(client, f"{items}&limit=30")
    second = get(client, links(first)["next"])
    assert [*first["features"], *second["features"]] == whole.json["features"]
    assert "sample" not in get(client, "/v1/geo/collections/plants/items?limit=1")


@pytest.mark.parametrize("path", ["items", "items/GB"])
def test_the_newest_figures_are_marked_as_on_their_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    geo_layers.publish(Folder(tmp_path))
    head = {"license": "", "attribution": "", "simulated": True, "valid_until": 1_774_872_000}
    point = {"bbox": [0.0, 52.0, 0.0, 52.0], "geometry": {"type": "Point", "coordinates": [0.0, 52.0]}}
    feature = {"type": "Feature", "id": "GB", "properties": {"id": "GB"}, **point}
    collection = {"type": "FeatureCollection", **head, "features": [feature]}
    artefact.put(Folder(tmp_path), layout.LIVE, orjson.dumps(collection), artefact.new_version())
    free = {"free_calls_per_minute": 0, "sample_calls_per_day": 0}
    app = create_app(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite", **free))
    for now, stale in (("2026-03-30T11:59:00Z", None), ("2026-03-30T12:01:00Z", "true")):
        monkeypatch.setenv("EMDS_NOW", now)
        through, own = (app.test_client().get(f"/v1/geo/{at}") for at in (f"collections/live/{path}", "live"))
        assert (through.status_code, own.status_code) == (200, 200)
        for name in ("X-EMDS-Data", "X-EMDS-Stale", "Cache-Control"):
            assert through.headers.get(name) == own.headers.get(name), name
        assert (through.headers["X-EMDS-Data"], through.headers.get("X-EMDS-Stale")) == ("simulated", stale)


def test_the_newest_figures_of_one_zone_are_overdue_when_its_own_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    geo_layers.publish(Folder(tmp_path))
    head = {"license": "", "attribution": "", "simulated": False, "valid_until": 1_774_872_000}
    point = {"bbox": [0.0, 52.0, 0.0, 52.0], "geometry": {"type": "Point", "coordinates": [0.0, 52.0]}}
    ends = {"GB": {"price_expected_by": 1_774_875_600, "demand_expected_by": None}, "FR": {"price_expected_by": None}}
    features = [
        {"type": "Feature", "id": zone, "properties": {"id": zone, **own}, **point} for zone, own in ends.items()
    ]
    collection = {"type": "FeatureCollection", **head, "features": features}
    artefact.put(Folder(tmp_path), layout.LIVE, orjson.dumps(collection), artefact.new_version())
    free = {"free_calls_per_minute": 0, "sample_calls_per_day": 0}
    app = create_app(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite", **free))
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:30:00Z")
    for path, until in (
        ("live", 1_774_872_000),
        ("live?zone=GB", 1_774_875_600),
        ("live.geojson?zone=FR", 1_774_872_000),
        ("live?sample=true", 1_774_875_600),
        ("collections/live/items?zone=GB", 1_774_875_600),
    ):
        answer = app.test_client().get(f"/v1/geo/{path}")
        assert answer.json["valid_until"] == until, path
        assert answer.headers.get("X-EMDS-Stale") == ("true" if until == 1_774_872_000 else None), path
    for path, stale in (("live.csv?zone=GB", None), ("live.csv", "true"), ("collections/live/items/GB", None)):
        assert app.test_client().get(f"/v1/geo/{path}").headers.get("X-EMDS-Stale") == stale, path


def test_numbers_of_items_have_a_point(client: FlaskClient) -> None:
    """QGIS makes 0 of a missing whole number, and nothing of a missing real one."""
    for path in ("?limit=2", "/eia-6099"):
        text = client.get(f"/v1/geo/collections/plants/items{path}").text
        assert '"commissioning_year":1985.0' in text
        assert '"fuel_2_mw":null' in text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/geo/collections/lakes/items", 404),
        ("/v1/geo/collections/plants/items/none", 404),
        ("/v1/geo/collections/plants/items?limit=0", 400),
        ("/v1/geo/collections/plants/items?bbox=1,2,3,4,5", 400),
        ("/v1/geo/collections/plants/items?bbox=1,2,9,3,4,8", 400),
        ("/v1/geo/plants?bbox=1,2,0,3,4,8", 400),
        ("/v1/geo/collections/plants/items?colour=red", 400),
        ("/v1/geo/collections?f=html", 400),
        ("/v1/geo/collections/plants/items?datetime=../..", 400),
        ("/v1/geo/collections/plants/items?datetime=2026-01-01T00:00:00Z/2026-02-01T00:00:00Z/..", 400),
        ("/v1/geo/collections/live/items", 503),
    ],
)
def test_what_is_refused(client: FlaskClient, path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
