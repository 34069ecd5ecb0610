"""Test OGC API Features over the geo layers: landing page, collections, items, GDAL, damaged and new layers."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from api.access.gate import Gate
from api.application import create_app
from api.settings import Settings
from assets.documents import geo_layers
from geo_data import table_rows
from tests.api.geo_answers import app_of
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


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[", "a]b", "evil.example:80@127.0.0.1"])
def test_links_name_no_host_that_a_client_made_up(client: FlaskClient, host: str) -> None:
    for path in ("/v1/geo", "/v1/geo/collections/zones/items?limit=2"):
        answer = client.get(path, headers={"Host": host})
        assert answer.status_code == 200
        assert all(link["href"].startswith("/") for link in answer.json["links"]), answer.json["links"]
    own = client.get("/v1/geo", headers={"Host": "127.0.0.1:8123"}).json["links"]
    assert all(link["href"].startswith("http://127.0.0.1:8123/") for link in own), "QGIS and GDAL need whole addresses"


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
        "zones": [zone.id for zone in table_rows.zones()],
        "interconnectors": [line.id for line in table_rows.interconnectors()],
    }
    assert ids == expected.get(name, [plant.id for plant in table_rows.plants()])
    assert page["numberMatched"] == len(ids)


def test_filters_and_a_single_feature(client: FlaskClient) -> None:
    items = "/v1/geo/collections/plants/items"
    page = get(client, f"{items}?bbox=-11,35,25,62&fuel=nuclear&zone=FR&datetime=2026-01-01T00:00:00Z")
    assert {f["properties"]["fuel"] for f in page["features"]} == {"nuclear"}
    for moment in (
        *("2026-01-01", "2026-01-01T00:00:00Z/..", "/2026-01-01T00:00:00%2B01:00", "2025-01-01/2026-01-01"),
        "0000-01-01T00:00:00Z/9999-12-31",  # the format of QGIS
        *("2026-01-01t10:00:00.5z/2026-01-01T10:00:00.5Z", "2026-01-02T01:00:00%2B02:00/2026-01-01T23:30:00Z"),
    ):
        assert get(client, f"{items}?limit=1&datetime={moment}")["numberMatched"] == len(table_rows.plants())
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
    assert (schema["minItems"], schema["maxItems"]) == (4, 6)
    assert (
        get(client, "/v1/geo/zones?detail=high&bbox=-11,35,-100,25,62,3e3")["features"]
        == get(client, "/v1/geo/zones?detail=high&bbox=-11,35,25,62")["features"]
    )


def test_a_sample_has_fifty_features_on_all_its_pages(client: FlaskClient) -> None:
    items = "/v1/geo/collections/plants/items?sample=true"
    whole = client.get(f"{items}&limit=10000")
    assert (whole.headers["X-Sample"], whole.json["sample"], whole.json["numberReturned"]) == ("true", True, 50)
    assert whole.json["numberMatched"] == len(table_rows.plants())
    assert "next" not in links(whole.json)
    first = get(client, f"{items}&limit=30")
    second = get(client, links(first)["next"])
    assert [*first["features"], *second["features"]] == whole.json["features"]
    assert "sample" not in get(client, "/v1/geo/collections/plants/items?limit=1")


def live_layer(home: Path, simulated: bool, **ends: dict[str, int | None]) -> FlaskClient:
    """Return a client of the layers and of zones' newest values. `ends` has each zone's expiry times."""
    geo_layers.publish(Folder(home))
    head = {"license": "", "attribution": "", "simulated": simulated, "valid_until": 1_774_872_000}
    point = {"bbox": [0.0, 52.0, 0.0, 52.0], "geometry": {"type": "Point", "coordinates": [0.0, 52.0]}}
    features = [
        {"type": "Feature", "id": zone, "properties": {"id": zone, **own}, **point} for zone, own in ends.items()
    ]
    collection = {"type": "FeatureCollection", **head, "features": features}
    artefact.put(Folder(home), layout.LIVE, orjson.dumps(collection), artefact.new_version())
    free = {"free_calls_per_minute": 0, "sample_calls_per_day": 0}
    app = create_app(Settings(home=str(home), database_url=f"sqlite:///{home}/accounts.sqlite", **free))
    return app.test_client()


def test_the_newest_figures_are_marked_as_on_their_own_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = live_layer(tmp_path, True, GB={})
    for now, stale in (("2026-03-30T11:59:00Z", None), ("2026-03-30T12:01:00Z", "true")):
        monkeypatch.setenv("EMDS_NOW", now)
        own = client.get("/v1/geo/live")
        for path in ("items", "items/GB"):
            through = client.get(f"/v1/geo/collections/live/{path}")
            assert (through.status_code, own.status_code) == (200, 200)
            for name in ("X-EMDS-Data", "X-EMDS-Stale", "Cache-Control"):
                assert through.headers.get(name) == own.headers.get(name), name
            assert (through.headers["X-EMDS-Data"], through.headers.get("X-EMDS-Stale")) == ("simulated", stale)


def test_the_newest_figures_of_one_zone_are_overdue_when_its_own_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = {"price_expected_by": 1_774_875_600, "demand_expected_by": None, "interchange_expected_by": 1_774_879_200}
    client = live_layer(tmp_path, False, GB=until, FR={"price_expected_by": None})
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:30:00Z")
    for path, valid in (
        ("live", 1_774_872_000),
        ("live?zone=GB", 1_774_875_600),
        ("live.geojson?zone=FR", 1_774_872_000),
        ("live?sample=true", 1_774_875_600),
        ("collections/live/items?zone=GB", 1_774_875_600),
    ):
        answer = client.get(f"/v1/geo/{path}")
        assert answer.json["valid_until"] == valid, path
        assert answer.headers.get("X-EMDS-Stale") == ("true" if valid == 1_774_872_000 else None), path
    for path, stale in (("live.csv?zone=GB", None), ("live.csv", "true"), ("collections/live/items/GB", None)):
        assert client.get(f"/v1/geo/{path}").headers.get("X-EMDS-Stale") == stale, path


def test_numbers_of_items_have_a_point(client: FlaskClient) -> None:
    """Check that integers have a decimal point. QGIS reads a missing integer as 0, but leaves a missing real empty."""
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
        ("/v1/geo/plants?bbox=1,2,high,3,4,8", 400),
        ("/v1/geo/collections/plants/items?colour=red", 400),
        ("/v1/geo/collections?f=html", 400),
        ("/v1/geo/collections/plants/items?datetime=../..", 400),
        ("/v1/geo/collections/plants/items?datetime=2021-01-02/2021-01-01", 400),
        ("/v1/geo/collections/plants/items?datetime=2026-02-29T00:00:00Z", 400),
        ("/v1/geo/collections/plants/items?datetime=2026-01-01T00:00:00%2B24:00", 400),
        ("/v1/geo/collections/plants/items?datetime=2026-01-02T12:00:00-02:00/2026-01-02T13:00:00Z", 400),
        ("/v1/geo/collections/plants/items?datetime=2026-01-01T00:00:00Z/2026-02-01T00:00:00Z/..", 400),
        ("/v1/geo/collections/live/items", 503),
    ],
)
def test_what_is_refused(client: FlaskClient, path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")


@pytest.mark.slow
def test_a_plain_copy_of_a_warehouse_answers_every_format(tmp_path: Path) -> None:
    """Copy as `cp -r` or a restore without times does: each file has its own time and the same bytes."""
    settings = Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite")
    gate = Gate(settings, "simulated")
    storage = Folder(tmp_path)
    geo_layers.ensure(storage)
    for number, path in enumerate(sorted((tmp_path / "published" / "geo").iterdir())):
        os.utime(path, ns=(number * 10**9, number * 10**9))
    client = app_of(tmp_path, gate).test_client()
    cuts = ("plants?zone=GB&format=csv", "plants?zone=GB&format=fgb", "zones?bbox=0,50,1,51&format=parquet")
    for cut in cuts:
        assert client.get(f"/v1/geo/{cut}").status_code == 200, cut
    path = tmp_path / "published" / "geo" / "plants.csv"
    path.write_bytes(path.read_bytes()[:-100])
    problem = client.get(f"/v1/geo/{cuts[0]}")
    assert (problem.status_code, problem.headers["Retry-After"]) == (503, "60")
    assert "next publication" in problem.get_json()["detail"]
    assert client.get(f"/v1/geo/{cuts[1]}").status_code == 200, "the other formats go on"
    geo_layers.ensure(storage)
    assert client.get(f"/v1/geo/{cuts[0]}").status_code == 200
    gate.close()


def test_a_cut_never_joins_documents_of_two_publications(tmp_path: Path) -> None:
    """Check that hashes decide which bytes belong together, because file times may be equal or set back."""
    storage = Folder(tmp_path)
    geo_layers.publish(storage, ["plants"])
    gate = Gate(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite"), "simulated")
    client = app_of(tmp_path, gate).test_client()
    assert client.get("/v1/geo/plants.csv?zone=GB").status_code == 200
    lines = geo_layers.documents("plants")["geo/plants.csv"].splitlines(keepends=True)
    (tmp_path / "published" / "geo" / "plants.csv").write_bytes(b"".join(lines[:1] + lines[:0:-1]))
    answer = client.get("/v1/geo/plants.csv?zone=GB")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    gate.close()


def test_while_another_releases_layer_is_published_each_document_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    """Check each step, because a publisher may be killed there."""
    old, new = b'{"of": "another release"}', geo_layers.documents("plants")
    for name in new:
        artefact.put(Folder(tmp_path), name, old, 1)
    hashes = artefact.encode({"documents": dict.fromkeys(new, sha256(old).hexdigest())})
    artefact.put(Folder(tmp_path), layout.geo_hashes("plants"), hashes, 1)
    read = []

    class Watched(Folder):
        def update(self, *args: Any, **named: Any) -> bool:
            done = super().update(*args, **named)
            for name, body in new.items():
                document = artefact.get(Folder(tmp_path), name)
                assert document is not None
                assert document.body in (old, body)
                read.append(document.body == body)
            return done

    geo_layers.publish(Watched(tmp_path), ["plants"])
    assert {*read} == {False, True}
    assert artefact.load(Folder(tmp_path), layout.geo_hashes("plants")) == {"documents": geo_layers.hashes("plants")}
