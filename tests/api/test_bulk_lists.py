"""What `/v1/bulk` gives besides the plain list: addresses that open without a key, what is new, descriptions."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.access import keys
from tests.api.conftest import NOW, Rig
from tests.api.test_bulk import used
from warehouse.market.clock import DAY, HOUR

SITE = "http://emds.example"
GATE_NOW = 1_800_000_000


@pytest.fixture
def client(market: Rig, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    client = market.client()
    monkeypatch.setattr(gate(client), "_clock", lambda: GATE_NOW)
    return client


def gate(client: FlaskClient) -> Any:
    return client.application.extensions["emds"].gate


def test_addresses_of_a_list_asked_with_a_key_open_for_an_hour(
    market: Rig, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = market.key(client)
    answer = client.get("/v1/bulk?zone=GB", headers=key)
    assert (answer.headers["Cache-Control"], answer.get_json()["signed_until"]) == ("no-store", GATE_NOW + HOUR)
    assert "ETag" not in answer.headers
    urls = [file["url"].removeprefix(SITE) for file in answer.get_json()["files"]]
    assert len(urls) == 5
    plain = [file["url"] for file in client.get("/v1/bulk?zone=GB").get_json()["files"]]
    assert [SITE + url.partition("?")[0] for url in urls] == plain
    for url in urls:
        assert client.head(url).status_code == 200
        assert client.get(url, headers={"Range": "bytes=-8"}).status_code == 206
        assert client.get(url).status_code == 200
    assert used(client, key) == len(urls), "the key's count, once a file"
    signature = urls[0].partition("?")[2]
    assert client.get(f"{urls[1].partition('?')[0]}?{signature}").status_code == 401, "signed for its own file"
    number, until, mac = signature.removeprefix("signature=").split(".")
    for forged in (f"{number}.{int(until) + 1}.{mac}", f"{int(number) + 1}.{until}.{mac}", f"{number}.{until}.x", "x"):
        refused = client.get(f"{urls[0].partition('?')[0]}?signature={forged}")
        assert (refused.status_code, refused.get_json()["type"].rpartition("/")[2]) == (401, "invalid-key"), forged
    digest = keys.digest_of(key["Authorization"][7:])
    own = keys.sign(urls[0].partition("?")[0], int(number), digest, GATE_NOW + 2 * HOUR)
    assert client.get(f"{urls[0].partition('?')[0]}?signature={own}").status_code == 401, "an hour, whoever signs"
    with monkeypatch.context() as patch:
        patch.setattr(gate(client), "_clock", lambda: GATE_NOW + HOUR)
        assert client.get(urls[0]).status_code == 401
    assert client.delete("/v1/keys/current", headers=key).status_code == 204
    assert client.get(urls[0]).status_code == 401, "a revoked key ends its addresses"


def test_a_list_asked_with_a_wrong_key_is_refused(client: FlaskClient) -> None:
    refused = client.get("/v1/bulk", headers={"Authorization": "Bearer emds_wrong"})
    assert (refused.status_code, refused.get_json()["type"].rpartition("/")[2]) == (401, "invalid-key")


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


def test_metrics_are_taken_as_the_list_and_as_paths_spell_them(client: FlaskClient) -> None:
    for written in ("carbon-intensity", "carbon_intensity"):
        files = client.get(f"/v1/bulk?metric={written}").get_json()["files"]
        assert {file["metric"] for file in files} == {"carbon_intensity"}


def test_the_descriptions_name_every_file_with_its_hash_and_licence(client: FlaskClient) -> None:
    files = client.get("/v1/bulk").get_json()["files"]
    package = client.get("/v1/bulk/datapackage.json").get_json()
    assert [(r["path"], r["hash"], r["bytes"]) for r in package["resources"]] == [
        (file["url"], f"sha256:{file['sha256']}", file["bytes"]) for file in files
    ]
    assert all(resource["licenses"][0]["title"] for resource in package["resources"])
    dataset = client.get("/v1/bulk/croissant.json").get_json()
    objects = {e["contentUrl"]: e["sha256"] for e in dataset["distribution"] if e["@type"] == "cr:FileObject"}
    assert objects == {file["url"]: file["sha256"] for file in files}
    assert {each["@id"] for each in dataset["recordSet"]} == {file["metric"] for file in files}
