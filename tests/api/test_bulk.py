"""Test which monthly files are listed, their hashes and URLs, and what newer paths count against a key's quota."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from flask.testing import FlaskClient

from api.access.accounts_engine import AccountsUnavailable
from api.access.key_life import set_quota
from api.access.key_spelling import digest_of
from api.access.keys import Keys
from api.access.signed_addresses import sign
from api.documents.bulk import stored_month
from tests.api.conftest import NOW, Rig, fill
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.store import layout

PRICE = "/v1/bulk/price/GB/2026-03.parquet"


def listed(rig: Rig, query: str = "") -> list[dict[str, Any]]:
    answer = rig.client().get(f"/v1/bulk{query}")
    assert answer.status_code == 200, answer.text
    body = answer.get_json()
    assert body["count"] == len(body["files"])
    return list(body["files"])


def test_the_manifest_is_free_and_says_of_every_file_what_it_is(market: Rig) -> None:
    client = market.client()
    answer = client.get("/v1/bulk")
    assert answer.headers["Cache-Control"].startswith("public")
    assert client.get("/v1/bulk", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert answer.get_json()["as_of"] == NOW
    listed_in = [(f["metric"], f["zone"], f["month"]) for f in answer.get_json()["files"]]
    keys = {layout.series(metric, zone, stored_month(metric, zone, month)) for metric, zone, month in listed_in}
    assert keys == {key for key in market.storage.keys(layout.series_prefix()) if layout.is_month_file(key)}
    key = market.key(client)
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
        assert (file["license"], file["attribution"]) == (
            metadata[b"license"].decode(),
            metadata[b"attribution"].decode(),
        )
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


def test_a_month_is_final_once_nobody_asks_for_it_any_more(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(rig)
    end = instant("2026-04-01T00:00:00Z")
    rig.publish()
    client = rig.client()
    for at, final in ((end + 11 * DAY - 1, False), (end + 11 * DAY, True)):
        monkeypatch.setenv("EMDS_NOW", str(at))
        files = client.get("/v1/bulk?metric=price").get_json()["files"]
        assert {file["final"] for file in files} == {final}, "without another publication"
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


def test_one_withheld_feed_of_an_open_source_keeps_its_rows_in(market: Rig) -> None:
    """Check that rows are withheld as soon as the terms change, before `emds rebuild` resolves monthly files again."""
    north, path = market.sources["north"], "/v1/bulk/generation/GB/2026-03.parquet"
    feeds = tuple(replace(feed, withheld=feed.id == "north.mix") for feed in north.feeds)
    market.sources["north"] = replace(north, feeds=feeds)
    market.publish()
    client = market.client()
    assert "generation" not in {file["metric"] for file in listed(market)}
    assert {"price", "demand"} <= {file["metric"] for file in listed(market)}
    refused = client.get(path, headers=market.key(client))
    assert refused.get_json()["type"].endswith("/withheld-by-terms")


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
    set_quota(gate.database, gate.keys.usage(digest_of(key["Authorization"][7:]), now).key, 3)
    assert client.get(PRICE, headers=key).status_code == 200, "a used up day still reads what it paid for"
    assert client.get("/v1/bulk/interchange/GB/2026-03.parquet", headers=key).status_code == 429
    monkeypatch.setattr(gate, "_clock", lambda: now + DAY)
    assert (client.get(PRICE, headers=key).status_code, used(client, key)) == (200, 1), "a new day"


def test_the_final_files_of_a_series_and_year_count_one_answer(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", "2026-11-28T12:00:00Z")
    months = [f"{year}-{month:02}" for year in (2025, 2026) for month in range(1, 13)][:-1]
    for zone, metric, unit in (("GB", "price", "GBP/MWh"), ("DE-LU", "price", "EUR/MWh")):
        for month in months:
            rig.put("north.price", zone, metric, [(instant(f"{month}-07T00:00:00Z"), 1.0)], unit, "30m")
    rig.publish()
    client = rig.client()
    key = rig.key(client)
    files = client.get("/v1/bulk?metric=price&zone=GB").get_json()["files"]
    assert [file["final"] for file in files] == [True] * 22 + [False]

    def read(zone: str, month: str) -> int:
        assert client.get(f"/v1/bulk/price/{zone}/{month}.parquet", headers=key).status_code == 200
        return used(client, key)

    assert [read("GB", month) for month in months] == [1] * 12 + [2] * 10 + [3], "the running year; a month that runs"
    assert read("GB", months[-1]) == 3, "once a day"
    rig.put("north.price", "GB", "price", [(instant("2026-11-27T00:00:00Z"), 2.0)], "GBP/MWh", "30m")
    rig.put("north.price", "GB", "price", [(instant("2025-03-08T00:00:00Z"), 2.0)], "GBP/MWh", "30m")
    assert [read("GB", "2025-03"), read("GB", months[-1])] == [3, 4], "other bytes of a final month are the same year"
    assert [read("DE-LU", month) for month in months] == [5] * 12 + [6] * 10 + [7]


def test_a_failure_after_the_count_gives_the_call_back(market: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    client = market.client()
    key = market.key(client)

    def fail(*_: Any) -> bool:
        raise AccountsUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(Keys, "record_read", fail)
        answer = client.get(PRICE, headers=key)
    assert (answer.status_code, used(client, key)) == (503, 0)
    assert "counted" not in answer.json["detail"], "the database may fail before the call is given back"
    assert (client.get(PRICE, headers=key).status_code, used(client, key)) == (200, 1)


def test_readers_of_one_moment_count_one_answer(market: Rig) -> None:
    client = market.client()
    key = market.key(client)
    with ThreadPoolExecutor(8) as threads:
        get = lambda _: client.application.test_client().get(PRICE, headers=key).status_code  # noqa: E731
        assert {*threads.map(get, range(40))} == {200}
    assert used(client, key) == 1


def test_a_sample_keeps_the_newest_rows_and_needs_no_key(market: Rig) -> None:
    client = market.client()
    assert client.get(PRICE).status_code == 402
    answer = client.get(f"{PRICE}?sample=true")
    assert answer.status_code == 200
    assert answer.headers["X-Sample"] == "true"
    rows = pq.read_table(io.BytesIO(answer.data))
    whole = pq.read_table(io.BytesIO(client.get(PRICE, headers=market.key(client)).data))
    assert rows.schema.metadata[b"sample"] == b"true"
    assert rows.schema.metadata[b"license"] == whole.schema.metadata[b"license"]
    assert rows.column("ts").to_pylist() == whole.column("ts").to_pylist()[-50:]
    assert rows.column("value").to_pylist() == whole.column("value").to_pylist()[-50:]


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


# Signed URLs, the `since` filter and descriptions

SITE = "http://emds.example"
AT = 1_800_000_000


@pytest.fixture
def noon(market: Rig, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    client = market.client()
    monkeypatch.setattr(gate(client), "_clock", lambda: AT)
    return client


def gate(client: FlaskClient) -> Any:
    return client.application.extensions["emds"].gate


def test_addresses_of_a_list_asked_with_a_key_open_for_an_hour(
    market: Rig, noon: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = market.key(noon)
    answer = noon.get("/v1/bulk?zone=GB", headers=key)
    assert (answer.headers["Cache-Control"], answer.get_json()["signed_until"]) == ("no-store", AT + HOUR)
    assert "ETag" not in answer.headers
    urls = [file["url"].removeprefix(SITE) for file in answer.get_json()["files"]]
    assert len(urls) == 5
    plain = [file["url"] for file in noon.get("/v1/bulk?zone=GB").get_json()["files"]]
    assert [SITE + url.partition("?")[0] for url in urls] == plain
    for url in urls:
        assert noon.head(url).status_code == 200
        assert noon.get(url, headers={"Range": "bytes=-8"}).status_code == 206
        assert noon.get(url).status_code == 200
    assert used(noon, key) == len(urls), "the key's count, once a file"
    signature = urls[0].partition("?")[2]
    assert noon.get(f"{urls[1].partition('?')[0]}?{signature}").status_code == 401, "signed for its own file"
    number, until, mac = signature.removeprefix("signature=").split(".")
    for forged in (f"{number}.{int(until) + 1}.{mac}", f"{int(number) + 1}.{until}.{mac}", f"{number}.{until}.x", "x"):
        refused = noon.get(f"{urls[0].partition('?')[0]}?signature={forged}")
        assert (refused.status_code, refused.get_json()["type"].rpartition("/")[2]) == (401, "invalid-key"), forged
        assert noon.get(f"{urls[0].partition('?')[0]}?signature={forged}&sample=true").status_code == 401, forged
    assert noon.get(f"{urls[0]}&sample=true").headers["X-Sample"] == "true"
    digest = digest_of(key["Authorization"][7:])
    own = sign(urls[0].partition("?")[0], int(number), digest, AT + 2 * HOUR)
    assert noon.get(f"{urls[0].partition('?')[0]}?signature={own}").status_code == 401, "an hour, whoever signs"
    with monkeypatch.context() as patch:
        patch.setattr(gate(noon), "_clock", lambda: AT + HOUR)
        assert noon.get(urls[0]).status_code == 401
    assert noon.delete("/v1/keys/current", headers=key).status_code == 204
    assert noon.get(urls[0]).status_code == 401, "a revoked key ends its addresses"


def test_a_list_requested_with_a_rotated_key_has_urls_that_work(market: Rig, noon: FlaskClient) -> None:
    old = market.key(noon)
    rotated = noon.post("/v1/keys/rotate", headers=old)
    assert rotated.status_code == 201
    for key in (old, {"X-API-Key": rotated.get_json()["api_key"]}):
        urls = [
            file["url"].removeprefix(SITE) for file in noon.get("/v1/bulk?zone=GB", headers=key).get_json()["files"]
        ]
        assert [noon.get(url).status_code for url in urls] == [200] * 5
    assert used(noon, old) == 5


def test_addresses_of_a_public_place_stay_as_they_are(market: Rig) -> None:
    hashes = [file["sha256"] for file in market.client().get("/v1/bulk").get_json()["files"]]
    market.put_document("public_months.json", {"sha256": hashes[1:]})
    client = market.client(public_url="https://files.example/emds")
    urls = [file["url"] for file in client.get("/v1/bulk", headers=market.key(client)).get_json()["files"]]
    assert ["?signature=" in url for url in urls] == [True] + [False] * (len(urls) - 1)
    assert all(url.startswith("https://files.example/emds/series/metric=") for url in urls[1:])


def test_since_gives_the_files_whose_bytes_are_new(market: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    first = market.client().get("/v1/bulk").get_json()
    assert {file["changed_at"] for file in first["files"]} == {NOW}
    market.put("north.price", "GB", "price", [(NOW + HOUR, 7.0)], "GBP/MWh", "30m")
    market.now = NOW + DAY
    market.publish()
    client = market.client()
    since = client.get(f"/v1/bulk?since={NOW + 1}").get_json()
    assert [(file["zone"], file["metric"], file["changed_at"]) for file in since["files"]] == [
        ("GB", "price", NOW + DAY)
    ]
    assert since["as_of"] == NOW + DAY
    assert client.get(f"/v1/bulk?since={first['as_of']}").get_json()["count"] == first["count"], (
        "inclusive: none missed"
    )
    assert client.get(f"/v1/bulk?since={NOW + DAY + 1}").get_json()["count"] == 0
    assert client.get("/v1/bulk?since=2026-03-31&zone=GB").get_json()["count"] == 1
    assert client.get("/v1/bulk?since=yesteryear").status_code == 400


def test_the_descriptions_name_every_file_with_its_hash_and_licence(noon: FlaskClient) -> None:
    files = noon.get("/v1/bulk").get_json()["files"]
    package = noon.get("/v1/bulk/datapackage.json").get_json()
    assert [(r["path"], r["hash"], r["bytes"]) for r in package["resources"]] == [
        (file["url"], f"sha256:{file['sha256']}", file["bytes"]) for file in files
    ]
    assert all(resource["licenses"][0]["title"] for resource in package["resources"])
    dataset = noon.get("/v1/bulk/croissant.json").get_json()
    objects = {e["contentUrl"]: e["sha256"] for e in dataset["distribution"] if e["@type"] == "cr:FileObject"}
    assert objects == {file["url"]: file["sha256"] for file in files}
    assert {each["@id"] for each in dataset["recordSet"]} == {file["metric"] for file in files}
    columns = {field["name"]: field.get("description", "") for field in dataset["recordSet"][0]["field"]}
    assert all(columns.values()), "no column without its meaning"
    assert "null for the net" in columns["counterparty"], "nobody adds a zone's borders to its net"


WINDOW = "/v1/windows/DE-LU?hours=1"
STATS = "/v1/demand/GB?stats=true&start=2026-03-29"
FILE = "/v1/bulk/price/GB/2026-03.parquet"
COUNTED = [WINDOW, f"{WINDOW}&find=highest", STATS, f"{STATS}&above=31000", FILE]
EMPTY = ["/v1/windows/GB?hours=1", "/v1/demand/GB?stats=true&start=100001000&end=100002000"]
"""Requests that cost no money, because no values are known. Each still counts against a key's daily quota."""
NOT_COUNTED = {
    "/v1/windows/DE-LU?hours=0": 400,
    "/v1/windows/DE-LU?hours=nan": 400,
    "/v1/windows/DE-LU?hours=1&within=0": 400,
    "/v1/windows/DE-LU?hours=1&find=best": 400,
    "/v1/windows/XX?hours=1": 404,
    f"{STATS}&limit=5": 400,
    f"{STATS}&above=inf": 400,
    "/v1/demand/GB?above=1": 400,
    "/v1/capacity/DE-LU?stats=true": 400,
    "/v1/changes": 200,
    "/v1/changes?since=now&zone=GB": 200,
    "/v1/changes?since=00000000-7": 410,
    "/v1/changes?since=%00": 400,
    "/v1/changes?limit=99999": 400,
    "/v1/bulk": 200,
    "/v1/bulk?metric=nonsense": 400,
    "/v1/bulk/price/GB/2019-01.parquet": 404,
    "/v1/bulk/price/GB/2026-3.parquet": 404,
    f"{FILE}?start=1": 400,
    "/v1/webhooks": 200,
    "/v1/webhooks/wh_none": 404,
}


@pytest.fixture
def client(everywhere: Rig) -> FlaskClient:
    everywhere.put("north.price", "DE-LU", "price", everywhere.every(everywhere.now // 900 * 900, 900, 40), "EUR/MWh")
    return everywhere.client()


@pytest.mark.slow
def test_an_answer_counts_once_and_a_refusal_not(everywhere: Rig, client: FlaskClient) -> None:
    key = everywhere.key(client)
    for count, path in enumerate(COUNTED + EMPTY, 1):
        answer = client.get(path, headers=key)
        assert answer.status_code == 200, (path, answer.text)
        assert used(client, key) == count, path
        unchanged = client.get(path, headers={**key, "If-None-Match": answer.headers["ETag"]})
        assert (unchanged.status_code, used(client, key)) == (304, count), path
    for path, status in NOT_COUNTED.items():
        answer = client.get(path, headers=key)
        assert answer.status_code == status, (path, answer.text)
        assert status == 200 or answer.content_type == "application/problem+json", path
        assert used(client, key) == len(COUNTED + EMPTY), path
    wish: dict[str, Any] = {"url": "https://hook.example/", "events": ["changes"]}
    webhook = client.post("/v1/webhooks", json=wish, headers=key).get_json()["id"]
    for method, path, status in (
        ("post", "/v1/webhooks", 415),
        ("post", f"/v1/webhooks/{webhook}/test", 202),
        ("get", f"/v1/webhooks/{webhook}", 200),
        ("delete", f"/v1/webhooks/{webhook}", 204),
        ("delete", f"/v1/webhooks/{webhook}", 404),
    ):
        assert getattr(client, method)(path, headers=key).status_code == status
    assert used(client, key) == len(COUNTED + EMPTY)
