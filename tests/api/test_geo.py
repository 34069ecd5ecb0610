"""Test `/v1/geo/*` against geopandas: the features selected, the values refused, and the formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import geopandas
import numpy as np
import orjson
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from geo_data import table_rows
from geo_data.terms import ATTRIBUTION, LICENCE
from geo_data.terms import LAYERS as DATA_LAYERS
from tests.api.geo_answers import CUT_FORMATS, LAYERS, documents, frame_of, ids, index_of, served_layers
from warehouse.documents.feature_files import cut_flatgeobuf
from warehouse.market.vocabulary import PLANT_FUELS, Fuel
from warehouse.market.zones import ZONES


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with served_layers(tmp_path_factory.mktemp("home")) as made:
        yield made


def _boxes() -> st.SearchStrategy[tuple[float, float, float, float]]:
    vertices = np.concatenate([shapely.get_coordinates(frame_of(layer).geometry.values) for layer in LAYERS])
    return st.one_of(
        # Boxes anywhere and of any size, and small boxes on and near vertices, which test the edges.
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
    assert index_of(layer).select({"bbox": (west, south, east, north)}).tolist() == expected.tolist()


@pytest.mark.parametrize("part", [0.1, 0.9])
def test_a_box_beside_a_line_is_not_within_it(part: float) -> None:
    """Use a box whose ray crosses the line once, as it would cross a ring around the box."""
    lines = frame_of("interconnectors")
    for west, south, east, north in lines.bounds.to_numpy().tolist():
        x, y = west + part * (east - west), south + 0.5 * (north - south)
        expected = np.flatnonzero(lines.intersects(shapely.Point(x, y)))
        assert index_of("interconnectors").select({"bbox": (x, y, x, y)}).tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(
    zones=st.lists(st.sampled_from(list(ZONES)), max_size=4),
    fuels=st.lists(st.sampled_from(PLANT_FUELS), max_size=3),
    least=st.one_of(st.none(), st.floats(250, 5000).map(lambda megawatts: round(megawatts, 6))),
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
        ("zone=GB,XX", "zone", "Use one of US-CAISO"),
        ("fuel=uranium", "fuel", "use nuclear, coal"),
        ("min_mw=nan", "min_mw", "must be a number from 250"),
        ("min_mw=249.9", "min_mw", "must be a number from 250"),
        ("bbox=1,2,3", "bbox", "west,south,east,north in degrees"),
        ("bbox=1,5,3,2", "bbox", "south before north"),
        ("bbox=-200,0,0,1", "bbox", "-180 to 180"),
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
    assert "contains the point 45,-30" in answer.json["detail"]
    far = client.get("/v1/geo/zones?at=151.2,-33.9").json["errors"][0]["detail"]
    assert far == "looks like longitude,latitude; send latitude first: -33.9,151.2"
    assert client.get("/v1/geo/zones?at=151.2,-133.9").json["errors"][0]["detail"].startswith("must be a latitude")
    for wrong in ("45", "45,x", "91,0", "0,181", "0,0,0", ""):
        assert client.get(f"/v1/geo/zones?at={wrong}").status_code == 400


@pytest.mark.parametrize(("layer", "format_"), CUT_FORMATS)
@pytest.mark.parametrize("query", ["", "&bbox=-11,35,25,62", "&bbox=0,0,1,1"])
def test_other_formats_hold_the_same_features(client: FlaskClient, layer: str, format_: str, query: str) -> None:
    expected = ids(client, f"/v1/geo/{layer}?{query[1:]}")
    answer = client.get(f"/v1/geo/{layer}?format={format_}{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    match format_:
        case "csv":
            rows = list(csv.DictReader(io.StringIO(answer.text)))
            features = [row["id"] for row in rows]
            assert "attribution" not in answer.text.splitlines()[0]
            assert answer.headers["Link"].endswith(f'/v1/geo/collections/{layer}>; rel="describedby"')
            for row in rows:
                assert ("lon" in row) is (layer == "plants")
                assert "wkt" not in row or shapely.from_wkt(row["wkt"]).is_valid
        case "parquet":
            features = pq.read_table(io.BytesIO(answer.data))["id"].to_pylist()
            read = geopandas.read_parquet(io.BytesIO(answer.data))
            assert len(read) == len(expected)
            assert pq.read_schema(io.BytesIO(answer.data)).metadata[b"attribution"].decode() == ATTRIBUTION[layer]
            covering = json.loads(pq.read_schema(io.BytesIO(answer.data)).metadata[b"geo"])["columns"]["geometry"]
            assert covering["covering"]["bbox"]["xmin"] == ["bbox", "xmin"]
        case _:
            read = geopandas.read_file(io.BytesIO(answer.data))
            features = list(read["id"])
            assert LICENCE[layer].encode() in answer.data
            if not query:  # the whole file has a spatial index, which orders the features
                assert pyogrio.read_info(io.BytesIO(answer.data))["capabilities"]["fast_spatial_filter"]
                features, expected = sorted(features), sorted(expected)
            if expected:
                extent = orjson.loads(client.get(f"/v1/geo/{layer}?{query[1:]}").data)["bbox"]
                assert read.total_bounds.tolist() == extent
    assert features == expected


def test_a_flatgeobuf_header_without_a_count_is_refused() -> None:
    """Use the smallest FlatBuffer: root offset 8, an empty vtable of 4 bytes, and a table that points back at it."""
    header = bytes.fromhex("080000000400040004000000")
    with pytest.raises(ValueError, match="has no envelope or feature count"):
        cut_flatgeobuf(b"fgb\x03fgb\x01" + len(header).to_bytes(4, "little") + header)


def test_a_suffix_says_geojson_whatever_accept_says(client: FlaskClient) -> None:
    for layer in DATA_LAYERS:
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
        ("application/geo+json, application/json;q=0.5", "application/geo+json"),
        ("text/csv", "text/csv; charset=utf-8; header=present"),
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/flatgeobuf", "application/flatgeobuf"),
    ],
)
def test_accept_chooses_the_format(client: FlaskClient, accept: str | None, expected: str) -> None:
    answer = client.get("/v1/geo/plants?zone=AU-TAS", headers={"Accept": accept} if accept else {})
    assert answer.content_type == expected
    assert {"Accept", "Accept-Encoding"} <= {word.strip() for word in answer.headers["Vary"].split(",")}


def test_topojson_holds_the_zones_with_shared_borders(client: FlaskClient) -> None:
    collection = client.get("/v1/geo/zones.topojson").json
    shapes = collection["objects"]["zones"]["geometries"]
    drawn = [record.id for record in table_rows.zones()]
    assert [shape["id"] for shape in shapes] == drawn
    assert shapes[0]["properties"]["tz"] == "America/Los_Angeles"
    assert collection["attribution"] == ATTRIBUTION["zones"]
    arcs = [{abs(arc) if arc >= 0 else ~arc for arc in _arcs(shape["arcs"])} for shape in shapes]
    france, belgium = (arcs[drawn.index(zone)] for zone in ("FR", "BE"))
    assert france & belgium, "one border, one arc"
    assert client.get("/v1/geo/zones?format=topojson&bbox=0,0,1,1").status_code == 400


@pytest.mark.parametrize(("detail", "most"), [("low", 0.002), ("high", 0.0002)])
def test_shapes_of_topojson_are_valid_and_near_those_of_geojson(client: FlaskClient, detail: str, most: float) -> None:
    """Compare shapes in degrees. The tolerance is half a step of the grid in both directions."""
    file = io.BytesIO(client.get(f"/v1/geo/zones.topojson?detail={detail}").data)
    drawn = dict(pyogrio.read_dataframe(file).set_index("id").geometry)
    for feature in client.get(f"/v1/geo/zones.geojson?detail={detail}").json["features"]:
        shape = drawn.pop(feature["id"])
        assert shape.is_valid, feature["id"]
        assert shape.hausdorff_distance(shapely.geometry.shape(feature["geometry"])) < most
    assert not drawn


def test_tiles_are_served_as_they_are(client: FlaskClient) -> None:
    """Check that tiles are not compressed, because their directory refers to byte ranges of the file itself."""
    answer = client.get("/v1/geo/zones.pmtiles?detail=high", headers={"Accept-Encoding": "zstd, br, gzip"})
    assert (answer.status_code, answer.content_type) == (200, "application/vnd.pmtiles")
    assert "Content-Encoding" not in answer.headers
    assert answer.data == documents()["geo/zones.high.pmtiles"]
    assert client.get("/v1/geo/zones?format=pmtiles").data == documents()["geo/zones.low.pmtiles"]
    assert client.get("/v1/geo/zones", headers={"Accept": "application/vnd.pmtiles"}).data[:7] == b"PMTiles"
    unchanged = client.get("/v1/geo/zones.pmtiles?detail=high", headers={"If-None-Match": answer.headers["ETag"]})
    assert unchanged.status_code == 304
    part = client.get("/v1/geo/zones.pmtiles?detail=high", headers={"Range": "bytes=100-4000"})
    assert (part.status_code, part.data) == (206, answer.data[100:4001])
    coded = client.get("/v1/geo/plants.fgb", headers={"Accept-Encoding": "gzip"})
    assert "Accept-Ranges" not in coded.headers
    for refused in ("bbox=0,0,1,1", "at=51.5,-0.1", "sample=true"):
        assert client.get(f"/v1/geo/zones.pmtiles?{refused}").status_code == 400


def _arcs(nested: list[object]) -> list[int]:
    return [arc for part in nested for arc in (_arcs(part) if isinstance(part, list) else [part])]
