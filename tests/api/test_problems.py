"""Test refusals: the problem, its page, and the order of errors. A refusal is never HTML and never charged."""

from __future__ import annotations

from typing import Any

import pytest

from api.http.problems import KINDS
from tests.api.conftest import fill
from warehouse.documents import catalogue
from warehouse.documents.catalogue_entries import Filling, FillProgress


@pytest.fixture(scope="module")
def client(shared_market: Any) -> Any:
    return shared_market.client()


def problem(answer: Any) -> Any:
    """Return the problem document after a check of its form."""
    body = answer.get_json(force=True)
    assert answer.content_type == "application/problem+json"
    assert body["status"] == answer.status_code
    assert body["instance"] == answer.headers["X-Request-Id"]
    assert {"type", "title", "detail"} <= body.keys()
    return body


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("start=abc", "start"),
        ("end=9999-12-31T23:59:59-01:00", "end"),
        ("limit=0", "limit"),
        ("order=up", "order"),
        ("by=border", "by"),
        ("sample=maybe", "sample"),
        ("cursor=xyz", "cursor"),
        ("limit=3&limit=4", "limit"),
        ("foo=1", "foo"),
        ("api_key=emds_1", "api_key"),
        ("start=x&limit=0&foo=1&order=up", "start limit foo order"),
    ],
)
def test_a_wrong_parameter_is_400_that_names_it_before_any_payment(client: Any, query: str, parameter: str) -> None:
    body = problem(client.get(f"/v1/price/GB?{query}"))
    assert (body["status"], body["type"]) == (400, "http://emds.example/problems/invalid-parameters")
    assert {fault["parameter"] for fault in body["errors"]} == set(parameter.split())


def test_a_probe_with_empty_parameters_is_offered_the_price_and_a_key_is_told_its_mistake(market: Any) -> None:
    """Request a path without credentials and with every known parameter empty, as x402 catalogues do."""
    client = market.client()
    key = market.key(client)
    for path in ("/v1/price/GB?start=&end=&limit=", "/v1/price/GB?order=", "/v1/price/GB?sample="):
        assert client.get(path).status_code == 402, path
        assert client.get(path, headers=key).status_code == 400, path
        assert client.get(path, headers={"X-PAYMENT": "junk"}).status_code == 400, path
    assert client.get("/v1/price/GB?unknown=").status_code == 402
    for yes in ("true", "TRUE", "1"):
        assert client.get(f"/v1/price/GB?limit=&sample={yes}").status_code == 400, "a sample is no probe"


def test_a_cursor_of_the_other_order_is_refused(shared_market: Any, client: Any) -> None:
    answer = client.get("/v1/price/GB?limit=3", headers=shared_market.key(client))
    cursor = answer.headers["Link"].split("cursor=")[1].split(">")[0]
    body = problem(client.get(f"/v1/price/GB?order=desc&cursor={cursor}"))
    assert body["errors"][0]["code"] == "conflict"


@pytest.mark.parametrize(
    "path", ["/v1/price/XX", "/v1/price/", "/v1/brief/GB%0A", "/v1/latest/US-CAISO%00", "/v1/demand/..%2fGB"]
)
def test_an_unknown_zone_is_404_with_the_zones(client: Any, path: str) -> None:
    body = problem(client.get(path))
    assert body["status"] == 404
    if body["type"].endswith("/unknown-zone"):
        assert "GB" in body["zones"]


def test_a_path_narrowed_to_some_zones_names_those(client: Any) -> None:
    assert len(problem(client.get("/v1/capacity/XX"))["zones"]) == 10
    assert len(problem(client.get("/v1/capacity/SE-3"))["zones"]) == 10
    assert problem(client.get("/v1/carbon-intensity/FR"))["zones"] == ["GB"]
    assert problem(client.get("/v1/generation/FR"))["zones"] == ["US-CAISO", "GB"], "the mix is another path"


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/zones/", "//v1/zones", "/v1/price/GB/x", "/.git/config"])
def test_an_unknown_path_is_404_and_nobody_is_sent_elsewhere(client: Any, path: str) -> None:
    assert problem(client.get(path))["type"].endswith("/not-found")


def test_errors_come_in_their_order(client: Any) -> None:
    assert client.post("/v1/price/XX?limit=0").status_code == 404
    refused = client.post("/v1/price/GB?limit=0")
    assert (refused.status_code, set(refused.headers["Allow"].split(", "))) == (405, {"GET", "HEAD", "OPTIONS"})
    wrong = {"Authorization": "Bearer emds_" + "0" * 43}
    assert client.get("/v1/price/GB?limit=0", headers=wrong).status_code == 400
    assert client.get("/v1/generation/FR", headers=wrong).status_code == 404
    assert client.get("/v1/price/GB?format=xml", headers=wrong).status_code == 406
    assert client.get("/v1/price/GB", headers=wrong).status_code == 401
    assert client.get("/v1/price/GB").status_code == 402


def test_every_kind_has_a_page(client: Any) -> None:
    for kind in KINDS.values():
        page = client.get(f"/problems/{kind.name}")
        assert page.status_code == 200
        assert kind.title.replace("'", "&#39;") in page.text
    assert client.get("/problems/nothing").status_code == 404


@pytest.mark.parametrize(
    "path", ["/v1/latest/FR?sample=true", "/v1/brief/FR?sample=true", "/v1/map/snapshot?sample=true", "/v1/publishers"]
)
def test_a_document_that_does_not_exist_yet_is_503_with_a_reason(client: Any, path: str) -> None:
    answer = client.get(path)
    assert problem(answer)["type"].endswith("/not-yet-available")
    assert answer.headers["Retry-After"] == "60"


def test_during_a_first_fill_documents_and_series_state_the_progress(rig: Any) -> None:
    zones = {"FR": {"done": 2, "of": 9}, "GB": {"done": 0, "of": 3}}
    filling = Filling(7, 40, {zone: FillProgress(**progress) for zone, progress in zones.items()})
    terms = rig.sources, rig.mode, (), tuple(rig.sources), rig.now
    fill(rig)
    rig.publish()
    catalogue.note_filling(rig.storage, filling)
    client = rig.client()
    key = rig.key(client)
    for path in ("latest/FR", "brief/FR"):
        refused = problem(client.get(f"/v1/{path}?sample=true"))
        assert refused["filling"] == zones["FR"]
        assert "2 of 9 runs of the first fill for FR are done" in refused["detail"]
    refused = problem(client.get("/v1/map/snapshot?sample=true"))
    assert refused["filling"] == {"done": 7, "of": 40}
    assert "7 of 40 runs of the first fill are done" in refused["detail"]
    one = client.get("/v1/price/GB", headers=key)
    assert (one.status_code, one.get_json()["filling"]) == (200, zones["GB"])
    for path in ("/v1/price/GB?stats=true", "/v1/windows/GB"):
        assert client.get(path, headers=key).get_json()["filling"] == zones["GB"], path
    several = client.get("/v1/demand?zones=GB,US-NYISO", headers=key).get_json()
    assert several["filling"] == {"GB": zones["GB"]}
    assert client.get("/v1/price/GB?format=csv", headers=key).headers["X-EMDS-Filling"] == '{"done":0,"of":3}'
    assert "filling" not in client.get("/v1/demand/US-NYISO", headers=key).get_json()
    catalogue.publish(rig.storage, *terms)
    ended = client.get("/v1/price/GB", headers={**key, "If-None-Match": one.headers["ETag"]})
    assert "filling" not in ended.get_json()
    assert "filling" not in problem(client.get("/v1/latest/FR?sample=true"))


def test_before_the_first_start_nothing_is_ready(rig: Any) -> None:
    client = rig.client()
    assert client.get("/healthz").status_code == 200
    assert problem(client.get("/readyz"))["status"] == 503
    assert problem(client.get("/v1/zones"))["status"] == 503
    rig.publish()
    assert client.get("/readyz").get_json() == {"status": "ready", "catalogue": rig.now}
    assert len(client.get("/v1/zones").get_json()["zones"]) == 25
