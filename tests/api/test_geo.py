"""`/v1/geo/*`: which features are selected, against a geopandas computation, and which values are refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson
import pytest
import shapely
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.geo_answers import LAYERS, frame_of, ids, index_of, served_layers
from warehouse.market.market import Fuel
from warehouse.market.zones import ZONES


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with served_layers(tmp_path_factory.mktemp("home")) as made:
        yield made


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


@settings(max_examples=150, deadline=None)
@given(layer=st.sampled_from(LAYERS), drawn=boxes)
def test_bbox_equals_shapely_intersects(layer: str, drawn: tuple[float, float, float, float]) -> None:
    west, south = drawn[0], drawn[1]
    east, north = min(180.0, west + drawn[2]), min(90.0, south + drawn[3])
    corners = shapely.MultiPoint([(west, south), (east, south), (east, north), (west, north)])
    expected = np.flatnonzero(frame_of(layer).intersects(corners.convex_hull))
    assert index_of(layer).select({}, None, (west, south, east, north), None).tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
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


@pytest.mark.parametrize(
    ("query", "parameter", "detail"),
    [
        ("zone=GB,XX", "zone", "Zones are US-CAISO"),
        ("fuel=uranium", "fuel", "takes nuclear, coal"),
        ("min_mw=100", "min_mw", "from 250"),
        ("min_mw=nan", "min_mw", "not a number"),
        ("bbox=1,2,3", "bbox", "four numbers"),
        ("bbox=1,5,3,2", "bbox", "south before north"),
        ("bbox=-200,0,0,1", "bbox", "-180 to 180"),
        ("bbox=0,-91,0,1", "bbox", "-90 to 90"),
        ("detail=low", "detail", "unknown parameter"),
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
    ("point", "zone"),
    [
        ("51.5,-0.12", "GB"),
        ("48.86,2.35", "FR"),
        ("-33.9,151.2", "AU-NSW"),
        ("40.7,-74.0", "US-NYISO"),
        ("33.58,-101.86", "US-ERCOT"),
    ],
)
def test_the_zone_of_a_point_is_found(client: FlaskClient, point: str, zone: str) -> None:
    assert ids(client, f"/v1/geo/zones?at={point}") == [zone]
    assert ids(client, f"/v1/geo/zones?at={point}&detail=high") == [zone]
    assert client.get(f"/v1/geo/zones.csv?at={point}").text.splitlines()[1].startswith(zone)


def test_a_point_at_sea_is_404_and_a_wrong_one_400(client: FlaskClient) -> None:
    answer = client.get("/v1/geo/zones?at=45,-30")
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
    assert "45,-30 lies in none" in answer.json["detail"]
    far = client.get("/v1/geo/zones?at=151.2,-33.9").json["errors"][0]["detail"]
    assert far == "looks like longitude,latitude: latitude comes first, -33.9,151.2"
    assert client.get("/v1/geo/zones?at=151.2,-133.9").json["errors"][0]["detail"].startswith("takes a latitude")
    for wrong in ("45", "45,x", "91,0", "0,181", "0,0,0", ""):
        assert client.get(f"/v1/geo/zones?at={wrong}").status_code == 400
