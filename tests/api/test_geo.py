"""`/v1/geo/*`: filters and bbox against a geopandas computation, formats, samples, validators, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import geopandas
import numpy as np
import orjson
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from api.access.gate import Gate
from api.documents.cache import DocumentCache
from api.geo.filters import GeoLayer
from api.geo.parameters import FORMATS, UNCUT
from api.geo.slices import FlatGeobuf
from api.http import problem_responses
from api.settings import Settings
from api.views import geo
from assets.documents import geo_layers
from warehouse.market import Fuel
from warehouse.storage import Folder
from warehouse.zones import ZONES

LAYERS = ("zones.low", "zones.high", "interconnectors", "plants")
CUT_FORMATS = [
    (layer, name) for layer in geo_layers.LAYERS for name in FORMATS[layer] if name not in ("geojson", *UNCUT)
]


@cache
def documents() -> dict[str, bytes]:
    """Every document of every layer; made when the first test asks, not when tests are collected."""
    return {name: body for layer in geo_layers.LAYERS for name, body in geo_layers.documents(layer).items()}


@cache
def index_of(layer: str) -> GeoLayer:
    return GeoLayer.of(documents()[f"geo/{layer}.geojson"])


@cache
def frame_of(layer: str) -> geopandas.GeoDataFrame:
    return geopandas.GeoDataFrame.from_features(orjson.loads(documents()[f"geo/{layer}.geojson"])["features"])


def _boxes() -> st.SearchStrategy[tuple[float, float, float, float]]:
    vertices = np.concatenate([shapely.get_coordinates(frame_of(layer).geometry.values) for layer in LAYERS])
    return st.one_of(
        # Anywhere, of any size; and small ones on and near vertices, where being on an edge decides.
        st.tuples(st.floats(-180, 180), st.floats(-90, 90), st.floats(0, 90), st.floats(0, 60)),
        st.tuples(
            st.sampled_from(vertices.tolist()),
            st.sampled_from([0.0, 1e-5, 0.013, 0.4, 3.0]),
            st.sampled_from([0.0, 1e-5, 0.5]),
        ).map(lambda drawn: (*drawn[0], drawn[1], drawn[2])),
    )


boxes = st.deferred(_boxes)


def app_of(home: Path, gate: Gate) -> Flask:
    app = Flask(__name__)
    problem_responses.register(app, gate.settings.base_url)
    app.register_blueprint(geo.blueprint(gate, DocumentCache(Folder(home))))
    return app


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    home = tmp_path_factory.mktemp("home")
    geo_layers.publish(Folder(home))
    unlimited = Settings(
        home=str(home),
        database_url=f"sqlite:///{home}/accounts.sqlite",
        free_calls_per_minute=0,
        sample_calls_per_day=0,
    )
    gate = Gate.open(unlimited, "simulated")
    yield app_of(home, gate).test_client()
    gate.close()


def ids(client: FlaskClient, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return [feature["id"] for feature in orjson.loads(answer.data)["features"]]


@settings(max_examples=400, deadline=None)
@given(layer=st.sampled_from(LAYERS), drawn=boxes)
def test_bbox_equals_shapely_intersects(layer: str, drawn: tuple[float, float, float, float]) -> None:
    west, south = drawn[0], drawn[1]
    east, north = min(180.0, west + drawn[2]), min(90.0, south + drawn[3])
    corners = shapely.MultiPoint([(west, south), (east, south), (east, north), (west, north)])
    expected = np.flatnonzero(frame_of(layer).intersects(corners.convex_hull))
    assert index_of(layer).select({}, None, (west, south, east, north), None).tolist() == expected.tolist()


@settings(max_examples=150, deadline=None)
@given(
    zones=st.lists(st.sampled_from(list(ZONES)), max_size=4),
    fuels=st.lists(st.sampled_from(list(Fuel)), max_size=3),
    least=st.one_of(st.none(), st.floats(250, 5000)),
    box=st.one_of(st.none(), st.just((-11.0, 35.0, 25.0, 62.0))),
)
def test_filters_equal_a_geopandas_computation(
    client: FlaskClient,
    zones: list[str],
    fuels: list[Fuel],
    least: float | None,
    box: tuple[float, float, float, float] | None,
) -> None:
    frame = frame_of("plants")
    if zones:
        frame = frame[frame.zone.isin(zones)]
    if fuels:
        wind = ["wind_onshore", "wind_offshore"] if "wind" in fuels else []
        frame = frame[frame.fuel.isin([*map(str, fuels), *wind])]
    if least is not None:
        frame = frame[frame.capacity_mw >= least]
    if box is not None:
        frame = frame.cx[box[0] : box[2], box[1] : box[3]]
    query = {
        "zone": ",".join(zones),
        "fuel": ",".join(fuels),
        "min_mw": least,
        "bbox": ",".join(map(str, box)) if box else "",
    }
    answer = client.get("/v1/geo/plants", query_string={name: value for name, value in query.items() if value})
    collection = orjson.loads(answer.data)
    assert [feature["id"] for feature in collection["features"]] == list(frame.id)
    assert collection.get("bbox") == (list(frame.total_bounds) if len(frame) else None)


def test_a_box_across_the_antimeridian_is_two_boxes(client: FlaskClient) -> None:
    features = ids(client, "/v1/geo/zones?bbox=110,-50,-100,60")
    halves = ids(client, "/v1/geo/zones?bbox=110,-50,180,60") + ids(client, "/v1/geo/zones?bbox=-180,-50,-100,60")
    assert features == [zone for zone in ZONES if zone in halves]
    assert {"AU-TAS", "US-CAISO"} <= set(features)
    assert "FR" not in features


def test_a_box_in_the_middle_of_a_zone_and_in_its_hole(client: FlaskClient) -> None:
    assert ids(client, "/v1/geo/zones?bbox=2.2,46.5,2.4,46.7") == ["FR"]
    spp = frame_of("zones.low").geometry[list(ZONES).index("US-SPP")]
    hole = max(
        (shapely.Polygon(ring) for part in shapely.get_parts(spp) for ring in part.interiors), key=lambda p: p.area
    )
    x, y = hole.point_on_surface().coords[0]
    assert "US-SPP" not in ids(client, f"/v1/geo/zones?bbox={x},{y},{x},{y}")


def test_a_line_belongs_to_both_its_zones(client: FlaskClient) -> None:
    frame = frame_of("interconnectors")
    for zone in ZONES:
        assert ids(client, f"/v1/geo/interconnectors?zone={zone}") == list(
            frame[(frame["from"] == zone) | (frame["to"] == zone)].id
        )
    assert ids(client, "/v1/geo/interconnectors?zone=US-CAISO") == []


def test_every_plant_is_found_by_its_zone_and_fuel(client: FlaskClient) -> None:
    for (zone, fuel), group in frame_of("plants").groupby(["zone", "fuel"]):
        assert ids(client, f"/v1/geo/plants?zone={zone}&fuel={fuel}") == list(group.id)


@pytest.mark.parametrize(("layer", "format_"), CUT_FORMATS)
@pytest.mark.parametrize("query", ["", "&bbox=-11,35,25,62", "&sample=true", "&bbox=0,0,1,1"])
def test_other_formats_hold_the_same_features(client: FlaskClient, layer: str, format_: str, query: str) -> None:
    expected = ids(client, f"/v1/geo/{layer}?{query[1:]}")
    answer = client.get(f"/v1/geo/{layer}?format={format_}{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    match format_:
        case "csv":
            rows = list(csv.DictReader(io.StringIO(answer.text)))
            features = [row["id"] for row in rows]
            assert {row["license"] for row in rows} <= {geo_layers.LICENCE}
            for row in rows:
                assert ("lon" in row) is (layer == "plants")
                assert "wkt" not in row or shapely.from_wkt(row["wkt"]).is_valid
        case "parquet":
            features = pq.read_table(io.BytesIO(answer.data))["id"].to_pylist()
            read = geopandas.read_parquet(io.BytesIO(answer.data))
            assert len(read) == len(expected)
            assert pq.read_schema(io.BytesIO(answer.data)).metadata[b"attribution"].decode() == geo_layers.ATTRIBUTION
            covering = json.loads(pq.read_schema(io.BytesIO(answer.data)).metadata[b"geo"])["columns"]["geometry"]
            assert covering["covering"]["bbox"]["xmin"] == ["bbox", "xmin"]
        case _:
            read = geopandas.read_file(io.BytesIO(answer.data))
            features = list(read["id"])
            assert geo_layers.LICENCE.encode() in answer.data
            if not query:  # the whole file has a spatial index, which orders the features
                assert pyogrio.read_info(io.BytesIO(answer.data))["capabilities"]["fast_spatial_filter"]
                features, expected = sorted(features), sorted(expected)
            if expected:
                extent = orjson.loads(client.get(f"/v1/geo/{layer}?{query[1:]}").data)["bbox"]
                assert read.total_bounds.tolist() == extent
    assert features == expected


def test_a_flatgeobuf_header_without_a_count_is_refused() -> None:
    """The smallest FlatBuffer: root offset 8, a vtable of 4 bytes without a field, a table that points back at it."""
    header = bytes.fromhex("080000000400040004000000")
    with pytest.raises(ValueError, match="without envelope or count"):
        FlatGeobuf.of(b"fgb\x03fgb\x01" + len(header).to_bytes(4, "little") + header)


def test_detail_chooses_between_two_documents(client: FlaskClient) -> None:
    assert (
        client.get("/v1/geo/zones").data
        == client.get("/v1/geo/zones?detail=low").data
        == documents()["geo/zones.low.geojson"]
    )
    assert client.get("/v1/geo/zones?detail=high").data == documents()["geo/zones.high.geojson"]


def test_a_suffix_says_geojson_whatever_accept_says(client: FlaskClient) -> None:
    for layer in geo_layers.LAYERS:
        answer = client.get(f"/v1/geo/{layer}.geojson", headers={"Accept": "text/csv"})
        assert (answer.status_code, answer.content_type) == (200, "application/geo+json")
    assert client.get("/v1/geo/plants.geojson?format=csv").status_code == 400
    for layer, format_ in CUT_FORMATS:
        answer = client.get(f"/v1/geo/{layer}.{format_}", headers={"Accept": "application/geo+json"})
        assert answer.data == client.get(f"/v1/geo/{layer}?format={format_}").data
    assert set(ids(client, "/v1/geo/plants.geojson?zone=AU-TAS")) == {"nem-gordon", "nem-poatina"}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/geo+json"),
        ("*/*", "application/geo+json"),
        ("application/json", "application/geo+json"),
        ("application/geo+json, application/json;q=0.5", "application/geo+json"),
        ("text/csv", "text/csv; charset=utf-8; header=present"),
        ("application/json; charset=utf-8", "application/geo+json"),
        ("text/csv;header=present", "text/csv; charset=utf-8; header=present"),
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/flatgeobuf", "application/flatgeobuf"),
    ],
)
def test_accept_chooses_the_format(client: FlaskClient, accept: str | None, expected: str) -> None:
    answer = client.get("/v1/geo/plants?zone=AU-TAS", headers={"Accept": accept} if accept else {})
    assert answer.content_type == expected
    assert {"Accept", "Accept-Encoding"} <= {word.strip() for word in answer.headers["Vary"].split(",")}


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/v1/geo/plants?format=xlsx", "*/*"),
        ("/v1/geo/interconnectors?format=topojson", "*/*"),
        ("/v1/geo/plants?format=pmtiles", "*/*"),
        ("/v1/geo/live?format=parquet", "*/*"),
        ("/v1/geo/plants", "text/html"),
        ("/v1/geo/plants", "text/csv;q=nan"),
        ("/v1/geo/plants", ",,,"),
        ("/v1/geo/interconnectors", "application/topo+json"),
    ],
)
def test_a_format_that_the_layer_has_not_is_406(client: FlaskClient, path: str, accept: str) -> None:
    answer = client.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.content_type) == (406, "application/problem+json")
    assert "application/geo+json" in answer.json["acceptable"]


@pytest.mark.parametrize(
    ("query", "parameter", "detail"),
    [
        ("zone=GB,XX", "zone", "takes US-CAISO"),
        ("fuel=uranium", "fuel", "takes nuclear, coal"),
        ("zone=", "zone", "does not know ''"),
        ("min_mw=100", "min_mw", "from 250"),
        ("min_mw=lots", "min_mw", "not a number"),
        ("min_mw=nan", "min_mw", "not a number"),
        ("min_mw=1_000", "min_mw", "not a number"),
        ("min_mw=inf", "min_mw", "not a number"),
        ("bbox=1,2,3", "bbox", "four numbers"),
        ("bbox=1,2,3,x", "bbox", "not a number"),
        ("bbox=1,5,3,2", "bbox", "south before north"),
        ("bbox=-200,0,0,1", "bbox", "-180 to 180"),
        ("bbox=0,-91,0,1", "bbox", "-90 to 90"),
        ("detail=low", "detail", "unknown parameter"),
        ("at=51.5,-0.1", "at", "unknown parameter"),
        ("sample=maybe", "sample", "true or false"),
        ("zone=GB&zone=FR", "zone", "more than once"),
    ],
)
def test_wrong_values_are_400_with_what_is_allowed(
    client: FlaskClient, query: str, parameter: str, detail: str
) -> None:
    answer = client.get(f"/v1/geo/plants?{query}")
    assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
    [fault] = answer.json["errors"]
    assert fault["parameter"] == parameter
    assert detail in fault["detail"]


def test_a_sample_keeps_fifty_features_and_says_so(client: FlaskClient) -> None:
    answer = client.get("/v1/geo/plants?sample=true")
    assert answer.headers["X-Sample"] == "true"
    assert answer.json["sample"] is True
    assert [f["id"] for f in answer.json["features"]] == list(frame_of("plants").id[:50])
    assert len(client.get("/v1/geo/zones?sample=true").json["features"]) == 25
    assert "sample" not in client.get("/v1/geo/plants?zone=GB&sample=false").json


@pytest.mark.parametrize(
    "path",
    ["/v1/geo/zones", "/v1/geo/plants?zone=GB", "/v1/geo/plants?format=parquet", "/v1/geo/plants?format=fgb&fuel=gas"],
)
@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd"])
def test_validators_are_strong_one_a_representation_and_give_304(client: FlaskClient, path: str, coding: str) -> None:
    first = client.get(path, headers={"Accept-Encoding": coding})
    assert first.headers.get("Content-Encoding", "identity") == ("identity" if "parquet" in path else coding)
    assert first.headers["Cache-Control"].startswith("public, max-age=")
    again = client.get(path, headers={"Accept-Encoding": coding, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    other = client.get(path, headers={"Accept-Encoding": coding, "If-None-Match": '"other"'})
    assert other.data == first.data
    assert not first.headers["ETag"].startswith("W/")


def test_tags_differ_by_selection_and_format(client: FlaskClient) -> None:
    queries = [
        "",
        "zone=GB",
        "zone=FR",
        "fuel=gas",
        "min_mw=1000",
        "bbox=0,0,10,60",
        "sample=true",
        "format=csv",
        "format=csv&zone=GB",
        "format=fgb",
    ]
    tags = [client.get(f"/v1/geo/plants?{query}").headers["ETag"] for query in queries]
    assert len(set(tags)) == len(queries)


def test_head_answers_as_get_without_a_body(client: FlaskClient) -> None:
    get, head = client.get("/v1/geo/zones"), client.head("/v1/geo/zones")
    assert head.data == b""
    assert {n: v for n, v in head.headers if n != "Date"} == {n: v for n, v in get.headers if n != "Date"}


def test_nothing_published_is_503_and_a_new_publication_is_seen(tmp_path: Path) -> None:
    gate = Gate.open(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite"), "simulated")
    client = app_of(tmp_path, gate).test_client()
    early = client.get("/v1/geo/interconnectors")
    assert (early.status_code, early.content_type) == (503, "application/problem+json")
    assert int(early.headers["Retry-After"]) > 0
    geo_layers.publish(Folder(tmp_path), ["interconnectors"])
    assert client.get("/v1/geo/interconnectors").status_code == 200
    gate.close()


@pytest.mark.slow
def test_a_plain_copy_of_a_warehouse_answers_every_format(tmp_path: Path) -> None:
    """`cp -r`, or a restore without times: each file has a time of its own, and the same bytes."""
    settings = Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite")
    gate = Gate.open(settings, "simulated")
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


def test_the_features_of_an_answer_are_the_very_bytes_of_the_index() -> None:
    layer = index_of("plants")
    places = layer.select({"zone": ("GB",)}, None, None, None)
    assert b",".join(layer.features[place] for place in places) in layer.collection(places, {})
    assert math.isclose(
        layer.capacity_mw[places].sum(), frame_of("plants")[frame_of("plants").zone == "GB"].capacity_mw.sum()
    )


@pytest.mark.parametrize(
    ("point", "zone"),
    [("51.5,-0.12", "GB"), ("48.86,2.35", "FR"), ("-33.9,151.2", "AU-NSW"), ("40.7,-74.0", "US-NYISO")],
)
def test_the_zone_of_a_point_is_found(client: FlaskClient, point: str, zone: str) -> None:
    assert ids(client, f"/v1/geo/zones?at={point}") == [zone]
    assert ids(client, f"/v1/geo/zones?at={point}&detail=high") == [zone]
    assert client.get(f"/v1/geo/zones.csv?at={point}").text.splitlines()[1].startswith(zone)


def test_a_point_at_sea_is_404_and_a_wrong_one_400(client: FlaskClient) -> None:
    answer = client.get("/v1/geo/zones?at=45,-30")
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
    assert "45,-30 lies in none" in answer.json["detail"]
    for wrong in ("45", "45,x", "91,0", "0,181", "0,0,0", ""):
        assert client.get(f"/v1/geo/zones?at={wrong}").status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/v1/geo/zones.geojson?detail=high",
        "/v1/geo/plants.fgb",
        "/v1/geo/plants.parquet",
        "/v1/geo/plants.csv?zone=GB",
        "/v1/geo/plants.fgb?zone=GB",
        "/v1/geo/zones.topojson",
        "/v1/geo/zones.pmtiles?detail=high",
    ],
)
def test_ranges_are_parts_of_the_body(client: FlaskClient, path: str) -> None:
    whole = client.get(path)
    assert whole.headers["Accept-Ranges"] == "bytes"
    length = len(whole.data)
    for first, last in ((0, 99), (100, 4000), (length - 10, length - 1)):
        part = client.get(path, headers={"Range": f"bytes={first}-{last}"})
        assert (part.status_code, part.data) == (206, whole.data[first : last + 1])
        assert part.headers["Content-Range"] == f"bytes {first}-{last}/{length}"
        assert part.headers["ETag"] == whole.headers["ETag"]
    assert client.get(path, headers={"Range": "bytes=-10"}).data == whole.data[-10:]
    beyond = client.get(path, headers={"Range": f"bytes={length}-"})
    assert (beyond.status_code, beyond.content_type) == (416, "application/problem+json")
    assert beyond.headers["Content-Range"] == f"bytes */{length}"
    changed = client.get(path, headers={"Range": "bytes=0-9", "If-Range": '"another"'})
    assert (changed.status_code, len(changed.data)) == (200, length)


def test_topojson_holds_the_zones_with_shared_borders(client: FlaskClient) -> None:
    collection = client.get("/v1/geo/zones.topojson").json
    shapes = collection["objects"]["zones"]["geometries"]
    assert [shape["id"] for shape in shapes] == list(ZONES)
    assert shapes[0]["properties"]["tz"] == "America/Los_Angeles"
    assert collection["attribution"] == geo_layers.ATTRIBUTION
    arcs = [{abs(arc) if arc >= 0 else ~arc for arc in _arcs(shape["arcs"])} for shape in shapes]
    france, belgium = (arcs[list(ZONES).index(zone)] for zone in ("FR", "BE"))
    assert france & belgium, "one border, one arc"
    assert client.get("/v1/geo/zones?format=topojson&bbox=0,0,1,1").status_code == 400


def test_tiles_are_served_as_they_are(client: FlaskClient) -> None:
    """Their directory names byte ranges of the file itself: no answer is compressed on the way."""
    answer = client.get("/v1/geo/zones.pmtiles?detail=high", headers={"Accept-Encoding": "zstd, br, gzip"})
    assert (answer.status_code, answer.content_type) == (200, "application/vnd.pmtiles")
    assert "Content-Encoding" not in answer.headers
    assert answer.data == documents()["geo/zones.high.pmtiles"]
    assert client.get("/v1/geo/zones?format=pmtiles").data == documents()["geo/zones.low.pmtiles"]
    assert client.get("/v1/geo/zones", headers={"Accept": "application/vnd.pmtiles"}).data[:7] == b"PMTiles"
    unchanged = client.get("/v1/geo/zones.pmtiles?detail=high", headers={"If-None-Match": answer.headers["ETag"]})
    assert unchanged.status_code == 304
    for refused in ("bbox=0,0,1,1", "at=51.5,-0.1", "sample=true"):
        assert client.get(f"/v1/geo/zones.pmtiles?{refused}").status_code == 400


def _arcs(nested: list[object]) -> list[int]:
    return [arc for part in nested for arc in (_arcs(part) if isinstance(part, list) else [part])]


def test_a_cut_never_joins_documents_of_two_publications(tmp_path: Path) -> None:
    """Which bytes belong together follows from their hash: file times may be equal, or set back."""
    storage = Folder(tmp_path)
    geo_layers.publish(storage, ["plants"])
    gate = Gate.open(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite"), "simulated")
    client = app_of(tmp_path, gate).test_client()
    assert client.get("/v1/geo/plants.csv?zone=GB").status_code == 200
    lines = documents()["geo/plants.csv"].splitlines(keepends=True)
    (tmp_path / "published" / "geo" / "plants.csv").write_bytes(b"".join(lines[:1] + lines[:0:-1]))
    answer = client.get("/v1/geo/plants.csv?zone=GB")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    gate.close()
