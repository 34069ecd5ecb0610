"""`/v1/geo/*`: formats by query, suffix and `Accept`, with the same features, validators and ranges."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import geopandas
import orjson
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from flask.testing import FlaskClient

from api.geo.layers import cut_flatgeobuf
from geo_data import records
from geo_data.terms import ATTRIBUTION, LAYERS, LICENCE
from tests.api.geo_answers import CUT_FORMATS, documents, ids, served_layers


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with served_layers(tmp_path_factory.mktemp("home")) as made:
        yield made


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
    """The smallest FlatBuffer: root offset 8, a vtable of 4 bytes without a field, a table that points back at it."""
    header = bytes.fromhex("080000000400040004000000")
    with pytest.raises(ValueError, match="without envelope or count"):
        cut_flatgeobuf(b"fgb\x03fgb\x01" + len(header).to_bytes(4, "little") + header)


def test_a_suffix_says_geojson_whatever_accept_says(client: FlaskClient) -> None:
    for layer in LAYERS:
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


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/v1/geo/plants?format=xlsx", "*/*"),
        ("/v1/geo/live?format=parquet", "*/*"),
        ("/v1/geo/plants", "image/png"),
        ("/v1/geo/plants", "text/csv;q=nan"),
        ("/v1/geo/interconnectors", "application/topo+json"),
    ],
)
def test_a_format_that_the_layer_has_not_is_406(client: FlaskClient, path: str, accept: str) -> None:
    answer = client.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.content_type) == (406, "application/problem+json")
    assert "application/geo+json" in answer.json["acceptable"]


@pytest.mark.parametrize(
    "path",
    ["/v1/geo/zones", "/v1/geo/plants?zone=GB", "/v1/geo/plants?format=parquet", "/v1/geo/plants?format=fgb&fuel=gas"],
)
@pytest.mark.parametrize("coding", ["identity", "br"])
def test_validators_are_strong_one_a_representation_and_give_304(client: FlaskClient, path: str, coding: str) -> None:
    first = client.get(path, headers={"Accept-Encoding": coding})
    assert first.headers.get("Content-Encoding", "identity") == ("identity" if "parquet" in path else coding)
    assert first.headers["Cache-Control"].startswith("public, max-age=")
    again = client.get(path, headers={"Accept-Encoding": coding, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    other = client.get(path, headers={"Accept-Encoding": coding, "If-None-Match": '"other"'})
    assert other.data == first.data
    assert not first.headers["ETag"].startswith("W/")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/geo/plants.fgb",
        "/v1/geo/plants.fgb?zone=GB",
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
    coded = {"Accept-Encoding": "gzip"}
    known = client.get(path, headers=coded).headers["ETag"]
    assert "Accept-Ranges" not in client.get(path, headers={**coded, "If-None-Match": known}).headers
    changed = client.get(path, headers={"Range": "bytes=0-9", "If-Range": '"another"'})
    assert (changed.status_code, len(changed.data)) == (200, length)


def test_topojson_holds_the_zones_with_shared_borders(client: FlaskClient) -> None:
    collection = client.get("/v1/geo/zones.topojson").json
    shapes = collection["objects"]["zones"]["geometries"]
    drawn = [record.id for record in records.zones()]
    assert [shape["id"] for shape in shapes] == drawn
    assert shapes[0]["properties"]["tz"] == "America/Los_Angeles"
    assert collection["attribution"] == ATTRIBUTION["zones"]
    arcs = [{abs(arc) if arc >= 0 else ~arc for arc in _arcs(shape["arcs"])} for shape in shapes]
    france, belgium = (arcs[drawn.index(zone)] for zone in ("FR", "BE"))
    assert france & belgium, "one border, one arc"
    assert client.get("/v1/geo/zones?format=topojson&bbox=0,0,1,1").status_code == 400


@pytest.mark.parametrize(("detail", "most"), [("low", 0.002), ("high", 0.0002)])
def test_shapes_of_topojson_are_valid_and_near_those_of_geojson(client: FlaskClient, detail: str, most: float) -> None:
    """Degrees: half a step of the grid in both directions."""
    file = io.BytesIO(client.get(f"/v1/geo/zones.topojson?detail={detail}").data)
    drawn = dict(pyogrio.read_dataframe(file).set_index("id").geometry)
    for feature in client.get(f"/v1/geo/zones.geojson?detail={detail}").json["features"]:
        shape = drawn.pop(feature["id"])
        assert shape.is_valid, feature["id"]
        assert shape.hausdorff_distance(shapely.geometry.shape(feature["geometry"])) < most
    assert not drawn


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
