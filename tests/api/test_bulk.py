"""`/v1/bulk`: the manifest says what may leave, with hashes; month files come whole, by ranges, as samples."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from flask.testing import FlaskClient

from api.access.key_listing import set_quota
from api.access.keys import digest_of
from api.documents.month_files import stored_month
from tests.api.conftest import NOW, Rig, fill
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.series import monthfile
from warehouse.store import layout

PRICE = "/v1/bulk/price/GB/2026-03.parquet"


@pytest.fixture
def files(market: Rig) -> Rig:
    """The market, its month files listed."""
    return market


def listed(rig: Rig, query: str = "") -> list[dict[str, Any]]:
    answer = rig.client().get(f"/v1/bulk{query}")
    assert answer.status_code == 200, answer.text
    body = answer.get_json()
    assert body["count"] == len(body["files"])
    return list(body["files"])


def test_the_manifest_is_free_and_says_of_every_file_what_it_is(files: Rig) -> None:
    client = files.client()
    answer = client.get("/v1/bulk")
    assert answer.headers["Cache-Control"].startswith("public")
    assert client.get("/v1/bulk", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert answer.get_json()["as_of"] == NOW
    listed_in = [(f["metric"], f["zone"], f["month"]) for f in answer.get_json()["files"]]
    keys = {layout.series(metric, zone, stored_month(metric, zone, month)) for metric, zone, month in listed_in}
    assert keys == {key for key in files.storage.keys(layout.series_prefix()) if layout.is_month_file(key)}
    key = files.key(client)
    for file in answer.get_json()["files"]:
        got = client.get(file["url"].removeprefix("http://emds.example"), headers=key)
        assert got.status_code == 200, file
        assert hashlib.sha256(got.data).hexdigest() == file["sha256"] == got.headers["ETag"].strip('"')
        table = pq.read_table(io.BytesIO(got.data))
        assert (table.num_rows, len(got.data)) == (file["rows"], file["bytes"])
        stamps = table.column("ts").to_pylist()
        assert (min(stamps), max(stamps)) == (file["first"], file["last"])
        assert set(table.column("source").to_pylist()) == set(file["sources"])
        metadata = table.schema.metadata
        assert file["license"] == metadata[b"license"].decode() == unquote(got.headers["X-EMDS-License"])
        assert file["attribution"] == metadata[b"attribution"].decode() == unquote(got.headers["X-EMDS-Attribution"])
        assert {*table.column("zone").to_pylist()} == {file["zone"]}
        assert {*table.column("metric").to_pylist()} == {file["metric"]}


def test_a_year_of_capacity_is_listed_under_its_january(rig: Rig) -> None:
    berlin = instant("2025-12-31T23:00:00Z")
    rig.put("north.plants", "DE-LU", "capacity", [(berlin, 900.0)], "MW", "1y", fuel="wind")
    rig.publish()
    [file] = listed(rig, "?metric=capacity")
    assert (file["month"], file["first"]) == ("2026-01", berlin)
    assert file["url"].endswith("/v1/bulk/capacity/DE-LU/2026-01.parquet")
    client = rig.client()
    key = rig.key(client)
    got = client.get(file["url"].removeprefix("http://emds.example"), headers=key)
    assert hashlib.sha256(got.data).hexdigest() == file["sha256"]
    assert client.get("/v1/bulk/capacity/DE-LU/2025-12.parquet", headers=key).status_code == 404


def test_it_is_narrowed_by_zone_and_metric(files: Rig) -> None:
    assert {f["zone"] for f in listed(files, "?zone=GB")} == {"GB"}
    assert {f["metric"] for f in listed(files, "?metric=price-day-ahead,price")} == {"price_day_ahead", "price"}
    assert listed(files, "?zone=AU-SA") == []
    for query, word in (("zone=XX", "XX"), ("metric=prices", "price-day-ahead"), ("month=2026-03", "unknown")):
        refused = files.client().get(f"/v1/bulk?{query}")
        assert refused.status_code == 400
        assert word in refused.text


def test_a_month_is_final_once_nobody_asks_for_it_any_more(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(rig)
    end = instant("2026-04-01T00:00:00Z")
    north = rig.sources["north"]
    yearly = tuple(replace(feed, yearly=feed.resolution == "1y") for feed in north.feeds)
    rig.sources["north"] = replace(north, feeds=yearly)
    rig.publish()
    for at, final in ((end + 11 * DAY - 1, False), (end + 11 * DAY, True)):
        monkeypatch.setenv("EMDS_NOW", str(at))
        assert {f["final"] for f in listed(rig, "?metric=price")} == {final}
    assert [f["final"] for f in listed(rig, "?metric=capacity")] == [False, False], "asked for two years"


def test_withheld_rows_are_in_no_list_and_no_file_until_rights_are_declared(rig: Rig) -> None:
    fill(rig)
    rig.put("south.hourly", "GB", "demand", [(NOW - 40 * DAY, 1.0)], "MW", "1h")
    rig.publish(rights=("shut",))
    open_path = "/v1/bulk/demand/GB/2026-02.parquet"
    client = rig.client()
    key = rig.key(client)
    assert client.get(open_path, headers=key).status_code == 200
    rig.sources["south"] = replace(rig.sources["south"], withheld=True, redistributable="no")
    rig.publish()
    client = rig.client()
    refused = client.get(open_path, headers=key)
    assert refused.status_code == 404
    assert refused.get_json()["type"].endswith("/withheld-by-terms")
    assert "2026-02" not in {f["month"] for f in listed(rig)}
    assert client.get("/v1/bulk/demand/US-NYISO/2026-03.parquet", headers=key).status_code == 404, "one row is enough"
    assert client.get("/v1/bulk/price/US-PJM/2026-03.parquet").get_json()["type"].endswith("/withheld-by-terms")


def test_one_withheld_feed_of_an_open_source_keeps_its_rows_in(files: Rig) -> None:
    """Right when its terms change: month files are resolved again later, by `emds rebuild`."""
    north, path = files.sources["north"], "/v1/bulk/generation/GB/2026-03.parquet"
    feeds = tuple(replace(feed, withheld=feed.id == "north.mix") for feed in north.feeds)
    files.sources["north"] = replace(north, feeds=feeds)
    files.publish()
    client = files.client()
    assert "generation" not in {file["metric"] for file in listed(files)}
    assert {"price", "demand"} <= {file["metric"] for file in listed(files)}
    refused = client.get(path, headers=files.key(client))
    assert refused.get_json()["type"].endswith("/withheld-by-terms")


def test_a_file_comes_by_ranges_and_its_hash_is_its_tag(files: Rig) -> None:
    client = files.client()
    key = files.key(client)
    whole = client.get(PRICE, headers=key)
    size = len(whole.data)
    for ranged, first, last in (("bytes=0-3", 0, 3), ("bytes=-8", size - 8, size - 1), ("bytes=100-", 100, size - 1)):
        part = client.get(PRICE, headers={**key, "Range": ranged})
        assert part.status_code == 206
        assert part.data == whole.data[first : last + 1]
        assert part.headers["Content-Range"] == f"bytes {first}-{last}/{size}"
        assert part.headers["ETag"] == whole.headers["ETag"]
    head = client.head(PRICE, headers=key)
    assert (head.status_code, head.headers["Content-Length"], head.headers["Accept-Ranges"]) == (
        200,
        str(size),
        "bytes",
    )
    other = client.get(PRICE, headers={**key, "Range": "bytes=0-3", "If-Range": '"another"'})
    assert (other.status_code, len(other.data)) == (200, size)
    beyond = client.get(PRICE, headers={**key, "Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{size}")
    assert client.get(PRICE, headers={**key, "If-None-Match": whole.headers["ETag"]}).status_code == 304
    assert whole.headers["Cache-Control"].startswith("private")
    exposed = {name.strip() for name in ",".join(whole.headers.getlist("Access-Control-Expose-Headers")).split(",")}
    assert {"X-EMDS-License", "X-EMDS-Attribution", "ETag"} <= exposed, "scripts of other pages may read them"
    assert used(client, key) == 1, "its parts, HEAD and repeats count nothing"


def used(client: FlaskClient, key: dict[str, str]) -> int:
    return int(client.get("/v1/usage", headers=key).get_json()["quota"]["used"])


def test_a_file_counts_once_a_key_and_hash_and_day(market: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    client = market.client()
    key, other = market.key(client), market.key(market.client())
    gate, now = client.application.extensions["emds"].gate, 1_800_000_000 // DAY * DAY
    monkeypatch.setattr(gate, "_clock", lambda: now)
    assert client.head(PRICE, headers=key).status_code == 200
    assert (used(client, key), client.head(PRICE).status_code) == (0, 402), "HEAD is free to who has a key"
    assert client.get(PRICE, headers={**key, "Range": "bytes=-8"}).status_code == 206
    assert used(client, key) == 1, "whichever part comes first"
    answers = [client.get(PRICE, headers=key) for _ in range(3)]
    assert {answer.headers["RateLimit"].partition(";t=")[0] for answer in answers} == {'"day";r=499'}
    assert (used(client, key), used(client, other)) == (1, 0)
    assert client.get(PRICE, headers={**key, "Range": "bytes=99999999-"}).status_code == 416
    assert client.get("/v1/bulk/demand/GB/2026-03.parquet", headers=key).status_code == 200
    assert used(client, key) == 2
    market.put("north.price", "GB", "price", [(NOW, 7.0)], "GBP/MWh", "30m")
    assert client.get(PRICE, headers=key).status_code == 200
    assert used(client, key) == 3, "other bytes"
    set_quota(gate.database, gate.usage.usage(digest_of(key["Authorization"][7:]), now).key, 3)
    assert client.get(PRICE, headers=key).status_code == 200, "a used up day still reads what it paid for"
    assert client.get("/v1/bulk/interchange/GB/2026-03.parquet", headers=key).status_code == 429
    monkeypatch.setattr(gate, "_clock", lambda: now + DAY)
    assert (client.get(PRICE, headers=key).status_code, used(client, key)) == (200, 1), "a new day"


def test_readers_of_one_moment_count_one_answer(market: Rig) -> None:
    client = market.client()
    key = market.key(client)
    with ThreadPoolExecutor(8) as threads:
        get = lambda _: client.application.test_client().get(PRICE, headers=key).status_code  # noqa: E731
        assert {*threads.map(get, range(40))} == {200}
    assert used(client, key) == 1


def test_a_sample_keeps_the_newest_rows_and_needs_no_key(files: Rig) -> None:
    client = files.client()
    assert client.get(PRICE).status_code == 402
    answer = client.get(f"{PRICE}?sample=true")
    assert answer.status_code == 200
    assert answer.headers["X-Sample"] == "true"
    rows = pq.read_table(io.BytesIO(answer.data))
    whole = pq.read_table(io.BytesIO(client.get(PRICE, headers=files.key(client)).data))
    assert rows.schema.metadata[b"sample"] == b"true"
    assert rows.schema.metadata[b"license"] == whole.schema.metadata[b"license"]
    assert rows.column("ts").to_pylist() == whole.column("ts").to_pylist()[-50:]
    assert rows.column("value").to_pylist() == whole.column("value").to_pylist()[-50:]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/bulk/price/GB/2026-04.parquet", 404, "/v1/bulk lists all"),
        ("/v1/bulk/price/GB/2026-13.parquet", 404, "/v1/bulk lists all"),
        ("/v1/bulk/price/GB/..%2f..%2fmode.parquet", 404, "openapi.json"),
        ("/v1/bulk/price/GX/2026-03.parquet", 404, "Did you mean GB?"),
        ("/v1/bulk/capacity/GB/2026-03.parquet", 404, "DE-LU"),
        ("/v1/bulk/prices/GB/2026-03.parquet", 404, "openapi.json"),
        ("/v1/bulk/price/GB", 404, "openapi.json"),
        (f"{PRICE}?start=0", 400, "unknown parameter"),
    ],
)
def test_bad_addresses_are_told_before_any_payment(files: Rig, path: str, status: int, said: str) -> None:
    answer = files.client().get(path)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert said in answer.text


def test_a_zone_is_found_in_any_spelling(files: Rig) -> None:
    client = files.client()
    for written, exact in (("de_lu", "DE-LU"), ("de-lu", "DE-LU"), ("gb", "GB"), ("us-caiso", "US-CAISO")):
        answer = client.get(f"/v1/bulk/price/{written}/2026-03.parquet?sample=true")
        assert answer.status_code == 308, written
        assert answer.headers["Location"] == f"/v1/bulk/price/{exact}/2026-03.parquet?sample=true"
    assert client.get("/v1/bulk/carbon-intensity/gb/2026-03.parquet").status_code == 308
    assert "Did you mean DE-LU?" in client.get("/v1/bulk/price/de-lx/2026-03.parquet").get_json()["detail"]


def test_before_the_first_publication_there_is_no_manifest_and_after_damage_no_bytes(market: Rig) -> None:
    client = market.client()
    market.storage.delete(layout.published(layout.MANIFEST))
    assert client.get("/v1/bulk").status_code == 503
    path = market.storage.path(layout.series("price", "GB", "2026-03"))
    body = bytearray(path.read_bytes())
    body[100] ^= 1
    path.write_bytes(body)
    market.publish()
    assert "price" not in {f["metric"] for f in listed(market, "?zone=GB")}
    answer = client.get(PRICE, headers=market.key(client))
    assert (answer.status_code, answer.get_json()["month"]) == (503, "2026-03")


def test_only_files_that_changed_are_read_again(market: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    market.publish()
    first = listed(market)
    market.put("north.price", "GB", "price", [(NOW + HOUR, 7.0)], "GBP/MWh", "30m")
    read: list[str] = []
    whole = monthfile.whole
    monkeypatch.setattr(monthfile, "whole", lambda storage, key: read.append(key) or whole(storage, key))
    market.publish()
    assert read == [layout.series("price", "GB", "2026-03")]
    monkeypatch.undo()
    changed = [b["metric"] for a, b in zip(first, listed(market), strict=True) if a["sha256"] != b["sha256"]]
    assert changed == ["price"]
