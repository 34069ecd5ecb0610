"""What is refused: which problem, in which order, with pages that exist; never HTML, never a cost."""

from __future__ import annotations

from typing import Any

import pytest

from api.http.problems import KINDS
from warehouse.store import layout


@pytest.fixture
def client(market: Any) -> Any:
    return market.client()


def problem(answer: Any) -> Any:
    """The problem document, its form checked."""
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
        ("start=-1", "start"),
        ("start=1.5", "start"),
        ("start=2026-03-01T00:00:00CET", "start"),
        ("end=253402300800", "end"),
        ("end=9999-12-31T23:59:59-01:00", "end"),
        ("start=0001-01-01T00:00:00Z", "start"),
        ("start=1e9", "start"),
        ("start=100001000&end=100001000", "start"),
        ("start=100001001&end=100001000", "start"),
        ("start=%D9%A3", "start"),
        ("limit=0", "limit"),
        ("limit=5001", "limit"),
        ("limit=-5", "limit"),
        ("limit=ten", "limit"),
        ("limit=1_0", "limit"),
        ("order=up", "order"),
        ("by=border", "by"),
        ("interval=5m", "interval"),
        ("market=real_time", "market"),
        ("sample=maybe", "sample"),
        ("cursor=xyz", "cursor"),
        ("limit=3&limit=4", "limit"),
        ("Limit=3", "Limit"),
        ("foo=1", "foo"),
        ("api_key=emds_1", "api_key"),
        ("end=99999999999999999999", "end"),
        ("as_of=tomorrow", "as_of"),
    ],
)
def test_a_wrong_parameter_is_400_that_names_it_before_any_payment(client: Any, query: str, parameter: str) -> None:
    body = problem(client.get(f"/v1/price/GB?{query}"))
    assert (body["status"], body["type"]) == (400, "http://emds.example/problems/invalid-parameters")
    assert [fault["parameter"] for fault in body["errors"]] == [parameter]


def test_a_probe_with_empty_parameters_is_offered_the_price_and_a_key_is_told_its_mistake(market: Any) -> None:
    """x402 catalogues call a path without credentials and with every known parameter empty."""
    client = market.client()
    key = market.key(client)
    for path in ("/v1/price/GB?start=&end=&limit=", "/v1/price/GB?order=", "/v1/price/GB?sample="):
        assert client.get(path).status_code == 402, path
        assert client.get(path, headers=key).status_code == 400, path
        assert client.get(path, headers={"X-PAYMENT": "junk"}).status_code == 400, path
    assert client.get("/v1/price/GB?unknown=").status_code == 402
    for yes in ("true", "TRUE", "1"):
        assert client.get(f"/v1/price/GB?limit=&sample={yes}").status_code == 400, "a sample is no probe"


def test_what_this_service_lacks_is_not_said_of_the_publisher(client: Any) -> None:
    for path, said in (
        ("/v1/capacity/GB", "This service has no capacity of GB."),
        ("/v1/price/GB?market=day_ahead", "This service has no price?market=day_ahead of GB."),
    ):
        assert problem(client.get(path))["detail"] == said


def test_a_leap_second_behind_the_last_instant_is_refused(client: Any) -> None:
    answer = client.get("/v1/demand/GB?start=1970&end=9999-12-31T23:59:60Z")
    assert "outside 1970 to 9999" in problem(answer)["errors"][0]["detail"]


def test_every_fault_is_told_at_once(client: Any) -> None:
    body = problem(client.get("/v1/price/GB?start=x&limit=0&foo=1&order=up"))
    assert {fault["parameter"] for fault in body["errors"]} == {"start", "limit", "foo", "order"}


def test_a_cursor_of_the_other_order_is_refused(market: Any, client: Any) -> None:
    answer = client.get("/v1/price/GB?limit=3", headers=market.key(client))
    cursor = answer.headers["Link"].split("cursor=")[1].split(">")[0]
    body = problem(client.get(f"/v1/price/GB?order=desc&cursor={cursor}"))
    assert body["errors"][0]["code"] == "conflict"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/price/XX",
        "/v1/price/",
        "/v1/brief/GB%0A",
        "/v1/latest/US-CAISO%00",
        "/v1/demand/..%2fGB",
    ],
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


@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v1/zones/",
        "//v1/zones",
        "/V1/zones",
        "/v2/zones",
        "/index.php",
        "/v1/price/GB/x",
        "/.git/config",
    ],
)
def test_an_unknown_path_is_404_and_nobody_is_sent_elsewhere(client: Any, path: str) -> None:
    assert problem(client.get(path))["type"].endswith("/not-found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/price/GB"),
        ("PUT", "/v1/zones"),
        ("DELETE", "/v1/brief/GB"),
        ("PATCH", "/catalog"),
        ("GET", "/v1/keys/signup"),
        ("POST", "/openapi.json"),
    ],
)
def test_a_wrong_method_is_405_that_allows_the_right_ones(client: Any, method: str, path: str) -> None:
    answer = client.open(path, method=method)
    assert problem(answer)["status"] == 405
    assert {"GET", "HEAD"} <= set(answer.headers["Allow"].split(", ")) or path == "/v1/keys/signup"
    assert method not in answer.headers["Allow"].split(", ")


def test_errors_come_in_their_order(client: Any) -> None:
    assert client.post("/v1/price/XX?limit=0").status_code == 404
    assert client.post("/v1/price/GB?limit=0").status_code == 405
    wrong = {"Authorization": "Bearer emds_" + "0" * 43}
    assert client.get("/v1/price/GB?limit=0", headers=wrong).status_code == 400
    assert client.get("/v1/generation/FR", headers=wrong).status_code == 404
    assert client.get("/v1/price/GB?format=xml", headers=wrong).status_code == 406
    assert client.get("/v1/price/GB", headers=wrong).status_code == 401
    assert client.get("/v1/price/GB").status_code == 402


def test_an_error_costs_a_key_nothing(market: Any, client: Any) -> None:
    headers = market.key(client)
    for path in (
        "/v1/price/GB?limit=0",
        "/v1/price/XX",
        "/v1/generation/FR",
        "/v1/latest/GB",
        "/v1/price/GB?format=xml",
    ):
        assert client.get(path, headers=headers).status_code >= 400
    assert client.get("/v1/usage", headers=headers).get_json()["quota"]["used"] == 0
    assert client.get("/v1/price/GB?start=100000000&end=100000060", headers=headers).get_json()["count"] == 0
    assert client.head("/v1/price/GB", headers=headers).status_code == 200
    assert client.get("/v1/usage", headers=headers).get_json()["quota"]["used"] == 2


def test_every_kind_has_a_page(client: Any) -> None:
    for kind in KINDS.values():
        page = client.get(f"/problems/{kind.name}")
        assert page.status_code == 200
        assert kind.title.replace("'", "&#39;") in page.text
    assert client.get("/problems/nothing").status_code == 404


def test_the_detail_says_what_is_allowed(client: Any) -> None:
    assert "1 to 5000" in problem(client.get("/v1/price/GB?limit=9999"))["detail"]


def test_a_failure_of_ours_is_a_problem_without_a_stack_trace(
    market: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = client.application.extensions["emds"]
    monkeypatch.setattr(type(service.reader), "files", lambda *_: 1 / 0)
    client.application.testing = False
    body = problem(client.get("/v1/price/GB?sample=true"))
    assert (body["status"], body["type"]) == (500, "http://emds.example/problems/internal-error")
    assert "Traceback" not in str(body)
    assert "division" not in str(body)


def test_a_broken_month_file_is_503(market: Any, client: Any) -> None:
    for path in (market.home / layout.series_prefix("price", "GB")).glob("*.parquet"):
        path.write_bytes(b"PAR1 not really")
    answer = client.get("/v1/price/GB?sample=true")
    assert problem(answer)["type"].endswith("/damaged-file")
    assert answer.headers["Retry-After"] == "60"


@pytest.mark.parametrize(
    "path", ["/v1/latest/FR?sample=true", "/v1/brief/FR?sample=true", "/v1/map/snapshot?sample=true"]
)
def test_a_document_that_does_not_exist_yet_is_503_with_a_reason(client: Any, path: str) -> None:
    answer = client.get(path)
    assert problem(answer)["type"].endswith("/not-yet-available")
    assert answer.headers["Retry-After"] == "60"


def test_before_the_first_start_nothing_is_ready(rig: Any) -> None:
    client = rig.client()
    assert client.get("/healthz").status_code == 200
    assert problem(client.get("/readyz"))["status"] == 503
    assert problem(client.get("/v1/zones"))["status"] == 503
    rig.publish()
    assert client.get("/readyz").get_json() == {"status": "ready", "catalogue": rig.now}
    assert len(client.get("/v1/zones").get_json()["zones"]) == 25
