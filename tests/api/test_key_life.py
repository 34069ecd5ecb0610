"""How a key is shown, told apart from a typing error, rotated and slowed down."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from api.access import sign_up as sign_ups
from api.access.email_address import identity
from api.access.keys import KEY_PREFIX, is_well_formed, spell
from api.access.limits import client_address
from api.access.sign_up import OVERLAP_S
from tests.api.key_service import NOON, PATH, Service, opened


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    built = opened(tmp_path)
    yield built
    built.gate.close()


def basic(user: str, password: str = "") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_a_key_comes_by_three_ways_and_counts_as_one(service: Service) -> None:
    key = service.sign_up().json["api_key"]
    ways: list[dict[str, str]] = [
        {"Authorization": f"Bearer {key}"},
        {"Authorization": basic(key)},
        {"Authorization": basic(key, "ignored")},
        {"X_API_Key": key},
        {"X_API_Key": key, "Authorization": "Bearer of something else"},
    ]
    for number, headers in enumerate(ways, 1):
        answer = service.get(**headers)
        assert (answer.status_code, answer.json["method"]) == (200, "key"), headers
        assert answer.headers["RateLimit"].startswith(f'"day";r={500 - number};')
    assert service.http.get("/v1/usage", headers={"X-API-Key": key}).json["quota"]["used"] == len(ways)
    for wrong in (basic("user"), "Basic !!!", basic("\xff"), "Basic " + base64.b64encode(b"\xff\xfe").decode()):
        assert service.get(Authorization=wrong).status_code == 401, wrong


def test_a_mistyped_key_is_told_without_a_look_at_the_database(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = service.sign_up().json["api_key"]
    monkeypatch.setattr(type(service.gate.usage), "reserve", lambda *_: pytest.fail("asked the database"))
    middle = len(key) // 2
    swapped = key[:middle] + key[middle + 1] + key[middle] + key[middle + 2 :]
    others = {swapped, key[:-1], key + "a", key[:10] + ("a" if key[10] != "a" else "b") + key[11:]} - {key}
    for other in others:
        answer = service.get(Authorization=f"Bearer {other}")
        assert answer.status_code == 401
        assert "mistyped" in answer.json["detail"]
        assert other not in answer.text


def test_every_single_typing_error_is_told() -> None:
    key = spell(bytes(range(32)))
    assert is_well_formed(key)
    assert is_well_formed(key[:48]), "keys made before checksums"
    assert len(key) == len(KEY_PREFIX) + 49
    for place in range(len(KEY_PREFIX), len(key)):
        other = key[:place] + ("0" if key[place] != "0" else "1") + key[place + 1 :]
        assert not is_well_formed(other), place


def test_a_rotated_key_keeps_its_day_and_the_old_one_opens_for_a_day_more(service: Service) -> None:
    old = service.sign_up().json["api_key"]
    service.get(Authorization=f"Bearer {old}")
    rotated = service.http.post("/v1/keys/rotate", headers={"Authorization": f"Bearer {old}"})
    assert (rotated.status_code, rotated.headers["Cache-Control"]) == (201, "no-store")
    new = rotated.json["api_key"]
    assert rotated.json["previous_valid_until"] == NOON + OVERLAP_S
    for number, key in enumerate((old, new, old), 2):
        answer = service.get(Authorization=f"Bearer {key}")
        assert answer.headers["RateLimit"].startswith(f'"day";r={500 - number};'), "one count for both"
    again = service.http.post("/v1/keys/rotate", headers={"Authorization": f"Bearer {old}"})
    assert (again.status_code, again.json["type"].rpartition("/")[2]) == (409, "key-rotated")
    service.now[0] += OVERLAP_S
    assert service.get(Authorization=f"Bearer {old}").status_code == 401
    assert service.get(Authorization=f"Bearer {new}").status_code == 200
    assert service.http.post("/v1/keys/rotate").status_code == 401


def test_an_old_key_ends_itself_alone_and_the_current_one_ends_both(service: Service) -> None:
    first = service.sign_up().json["api_key"]
    keys = [first]
    for _ in range(2):
        keys.append(
            service.http.post("/v1/keys/rotate", headers={"Authorization": f"Bearer {keys[-1]}"}).json["api_key"]
        )
    statuses = [service.get(Authorization=f"Bearer {key}").status_code for key in keys]
    assert statuses == [401, 200, 200], "a second rotation ends the first key"
    assert service.http.delete("/v1/keys/current", headers={"Authorization": f"Bearer {keys[1]}"}).status_code == 204
    assert [service.get(Authorization=f"Bearer {key}").status_code for key in keys] == [401, 401, 200]
    keys.append(service.http.post("/v1/keys/rotate", headers={"Authorization": f"Bearer {keys[2]}"}).json["api_key"])
    assert service.http.delete("/v1/keys/current", headers={"Authorization": f"Bearer {keys[3]}"}).status_code == 204
    assert [service.get(Authorization=f"Bearer {key}").status_code for key in keys] == [401] * 4


def at_once(service: Service, monkeypatch: pytest.MonkeyPatch, key: str, *calls: tuple[str, str]) -> list[TestResponse]:
    """Calls with one key, of which each has found it live before any goes on."""
    together = threading.Barrier(len(calls), timeout=20)
    for name in ("rotate", "revoke"):
        plain = getattr(sign_ups, name)
        monkeypatch.setattr(sign_ups, name, lambda *arguments, plain=plain: (together.wait(), plain(*arguments))[1])

    def call(method: str, path: str) -> TestResponse:
        client = service.http.application.test_client()
        return client.open(path, method=method, headers={"Authorization": f"Bearer {key}"})

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(lambda each: call(*each), calls))


def test_of_two_rotations_at_once_one_is_told_that_it_came_second(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = service.sign_up().json["api_key"]
    rotate = ("POST", "/v1/keys/rotate")
    answers = sorted(at_once(service, monkeypatch, old, rotate, rotate), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [201, 409]
    assert answers[1].json["type"].endswith("/key-rotated")
    for key in (old, answers[0].json["api_key"]):
        assert service.get(Authorization=f"Bearer {key}").status_code == 200


def test_a_rotation_beside_a_revocation_hands_out_no_dead_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        old = service.sign_up().json["api_key"]
        with monkeypatch.context() as patch:
            rotated, revoked = at_once(service, patch, old, ("POST", "/v1/keys/rotate"), ("DELETE", "/v1/keys/current"))
        assert revoked.status_code == 204
        assert service.get(Authorization=f"Bearer {old}").status_code == 401
        if rotated.status_code == 201:
            new = rotated.json["api_key"]
            assert service.get(Authorization=f"Bearer {new}").status_code == 200
            assert service.http.delete("/v1/keys/current", headers={"X-API-Key": new}).status_code == 204
        else:
            assert (rotated.status_code, rotated.json["type"].rpartition("/")[2]) == (401, "invalid-key")


def test_a_key_may_call_so_often_a_second(tmp_path: Path) -> None:
    service = opened(tmp_path, key_calls_per_second=3)
    first, second = (service.sign_up(f"{name}@example.org").json["api_key"] for name in "ab")
    assert [service.get(X_API_Key=first).status_code for _ in range(5)] == [200] * 3 + [429] * 2
    limited = service.get(Authorization=basic(first))
    assert (limited.headers["RateLimit-Policy"], limited.headers["Retry-After"]) == ('"second";q=3;w=1', "1")
    assert service.get(X_API_Key=second).status_code == 200
    service.now[0] += 1
    answer = service.get(X_API_Key=first)
    assert (answer.status_code, answer.headers["RateLimit"].split(";")[1]) == (200, "r=496"), "a 429 is not counted"
    service.gate.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a@example.org", "A@EXAMPLE.ORG"),
        ("a@example.org", "a+news@example.org"),
        ("a+x@example.org", "a+y@example.org"),
        ("a@example.org", "ａ@ｅｘａｍｐｌｅ.org"),
        ("ﬁne@example.org", "fine@example.org"),
    ],
)
def test_addresses_are_compared_in_normal_form(one: str, other: str) -> None:
    assert identity(one) == identity(other)


def test_addresses_of_two_people_stay_apart() -> None:
    people = ("a@example.org", "b@example.org", "a@example.com", "a.b@example.org", "+tag@example.org", "+@example.org")
    assert len({identity(person) for person in people}) == len(people)


def test_an_idempotency_key_belongs_to_one_address_and_one_client(service: Service) -> None:
    token = {"Idempotency-Key": "6b1f"}
    first = service.sign_up(**token).json["api_key"]
    assert service.sign_up(**token).json["api_key"] == first
    others = [
        service.sign_up("b@example.org", **token).json["api_key"],
        service.sign_up(client="192.0.2.9", **token).json["api_key"],
    ]
    assert len({first, *others}) == 3


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("198.51.100.1:1, 203.0.113.9:2", "203.0.113.9"),
        ("203.0.113.9:http", "10.0.0.2"),
    ],
)
def test_a_port_behind_a_forwarded_address_is_left_off(forwarded: str, client: str) -> None:
    from ipaddress import ip_network

    assert client_address("10.0.0.2", forwarded, [ip_network("10.0.0.0/8")]) == client


def test_a_parameters_name_may_be_percent_encoded(service: Service) -> None:
    assert service.http.get(PATH + "?%73ample=true").json["method"] == "sample"
    assert service.http.get(PATH + "?sampl%65=true").headers["X-Sample"] == "true"


def test_a_request_id_that_holds_a_key_is_not_taken_over(market: Any) -> None:
    client = market.client()
    key = spell(bytes(32))
    for name in (key, f"id.{key}", key.upper()):
        assert client.get("/healthz", headers={"X-Request-Id": name[:64]}).headers["X-Request-Id"] != name[:64]
    assert client.get("/healthz", headers={"X-Request-Id": "mine-1"}).headers["X-Request-Id"] == "mine-1"
