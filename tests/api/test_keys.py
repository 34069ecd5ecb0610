"""Test a key's life over HTTP from sign-up to revocation. Four workers serve exactly 500 calls per day."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from api.access import key_life
from api.access.database import Database
from api.access.key_life import OVERLAP_S
from api.access.key_spelling import KEY_PREFIX, digest_of, is_well_formed, spell
from api.access.keys import CALLS_PER_DAY, Keys
from api.access.sign_up import is_address
from api.access.tables import identity
from tests.api.key_service import NOON, Service, opened, problem_of
from tests.stand_ins.served import Served
from warehouse.market.clock import DAY


def test_a_sign_up_gives_a_key_that_opens_and_sees_its_day(service: Service) -> None:
    answer = service.sign_up(" Ada@Example.ORG ")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    key = answer.json["api_key"]
    assert answer.json == {
        "api_key": key,
        "email": "ada@example.org",
        "docs": "https://emds.example/docs",
        "quota": {"limit": 500, "window": "day", "resets_at": NOON + DAY // 2},
    }
    assert service.get(X_API_Key=key).status_code == 200
    for _ in range(2):  # usage requests are free
        usage = service.get("/v1/usage", X_API_Key=key)
    assert usage.json == {
        "quota": {"limit": 500, "window": "day", "used": 1, "remaining": 499, "resets_at": NOON + DAY // 2},
        "created": NOON,
    }
    assert (usage.headers["RateLimit"], usage.headers["Cache-Control"]) == (f'"day";r=499;t={DAY // 2}', "no-store")


@pytest.mark.parametrize(
    ("body", "media", "status", "named"),
    [
        (b'{"email": "a@example.org"}', "text/plain", 415, "unsupported-media-type"),
        (b"{", "application/json", 400, "invalid-request"),
        (b'{"email": 7}', "application/json", 400, "invalid-request"),
        (b'{"email": "\xff"}', "application/json", 400, "invalid-request"),
        (b'{"email": "a@example.org", "x": "' + b"y" * 4096 + b'"}', "application/json", 413, "body-too-large"),
    ],
)
def test_what_is_no_sign_up_is_refused_and_not_counted(
    service: Service, body: bytes, media: str, status: int, named: str
) -> None:
    for _ in range(6):
        answer = service.http.post("/v1/keys/signup", data=body, content_type=media)
        assert problem_of(answer) == (status, named)
    good = service.http.post(
        "/v1/keys/signup", data=b'{"email": "a@example.org"}', content_type="application/json; charset=utf-8"
    )
    assert good.status_code == 201


def test_five_sign_ups_an_hour_then_the_next_hour(tmp_path: Path) -> None:
    service = opened(tmp_path, signups_per_hour=5)
    again = {"Idempotency-Key": "one sign-up, sent again and again"}
    assert [service.sign_up(**again).status_code for _ in range(6)] == [201] * 6
    assert [service.sign_up(f"{number}@example.org").status_code for number in range(4)] == [201] * 4
    refused = service.sign_up("5@example.org")
    assert problem_of(refused) == (429, "too-many-sign-ups")
    assert refused.headers["Retry-After"] == "3600"
    assert service.sign_up(**again).status_code == 201
    assert service.sign_up("5@example.org", client="192.0.2.2").status_code == 201
    service.now[0] += 3600
    assert service.sign_up("5@example.org").status_code == 201
    service.gate.close()


def test_the_networks_of_one_ipv6_site_share_its_sign_ups(tmp_path: Path) -> None:
    service = opened(tmp_path, signups_per_hour=5)
    clients = [f"2001:db8:5:{number:x}::1" for number in range(20)]
    statuses = [service.sign_up(f"{n}@example.org", client=client).status_code for n, client in enumerate(clients)]
    assert statuses == [201] * 5 + [429] * 15
    assert service.sign_up("other@example.org", client="2001:db8:6::1").status_code == 201
    service.gate.close()


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("first.last+tag@sub.example.co.uk", True),
        ("o'brien@example.org", True),
        ("müller@bücher.example", True),
        ("a@example", False),
        ("@example.org", False),
        ("a@-example.org", False),
        ("a..b@example.org", False),
        ("a@example.org\r\nBcc: b@example.org", False),
        ("a@192.0.2.1", False),
        ("a" * 65 + "@example.org", False),
        ("a@" + "b" * 64 + ".org", False),
        ("a@" + "b.org" * 60, False),
        ("a\x00@example.org", False),
    ],
)
def test_addresses(text: str, good: bool) -> None:
    assert is_address(text) is good


def test_addresses_are_compared_in_normal_form() -> None:
    for one, other in (
        ("a@example.org", "A@EXAMPLE.ORG"),
        ("a@example.org", "a+news@example.org"),
        ("a@example.org", "ａ@ｅｘａｍｐｌｅ.org"),
        ("ﬁne@example.org", "fine@example.org"),
    ):
        assert identity(one) == identity(other)
    people = ("a@example.org", "b@example.org", "a@example.com", "a.b@example.org", "+tag@example.org", "+@example.org")
    assert len({identity(person) for person in people}) == len(people)


def test_a_revoked_key_opens_nothing(service: Service) -> None:
    key = service.key()
    ended = service.http.delete("/v1/keys/current", headers={"X-API-Key": key})
    assert (ended.status_code, ended.data) == (204, b"")
    for answer in (
        service.get(X_API_Key=key),
        service.get("/v1/usage", X_API_Key=key),
        service.http.delete("/v1/keys/current", headers={"X-API-Key": key}),
        service.get("/v1/usage"),
    ):
        assert problem_of(answer) == (401, "invalid-key")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def basic(user: str, password: str = "") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_a_key_comes_by_three_ways_and_counts_as_one(service: Service) -> None:
    key = service.key()
    ways: list[dict[str, str]] = [
        {"Authorization": f"bearer  {key}"},
        {"Authorization": basic(key, "ignored")},
        {"X_API_Key": key},
        {"X_API_Key": key, "Authorization": "Bearer of something else"},
    ]
    for number, headers in enumerate(ways, 1):
        answer = service.get(**headers)
        assert (answer.status_code, answer.json["method"]) == (200, "key"), headers
        assert answer.headers["RateLimit"].startswith(f'"day";r={500 - number};')
    for wrong in (basic("user"), "Basic !!!", basic("\xff"), "Basic " + base64.b64encode(b"\xff\xfe").decode()):
        assert service.get(Authorization=wrong).status_code == 401, wrong


@pytest.mark.parametrize(
    ("header", "form", "wrong"),
    [
        ("Authorization", "{}", "without the scheme Bearer"),
        ("Authorization", "Token {}", "does not have the scheme Bearer"),
        ("Authorization", "ApiKey {}", "does not have the scheme Bearer"),
        ("Authorization", "Basic {}", "does not have the scheme Bearer"),
        ("Authorization", "Bearer Bearer {}", "contains more than the key after Bearer"),
        ("Authorization", 'Bearer "{}"', "contains more than the key after Bearer"),
        ("X_API_Key", "Bearer {}", "X-API-Key contains more than the key"),
        ("Api_Key", "{}", "The key is in the header Api-Key"),
        ("X_Auth_Token", "{}", "The key is in the header X-Auth-Token"),
    ],
)
def test_a_key_in_another_form_is_told_the_right_one(service: Service, header: str, form: str, wrong: str) -> None:
    key = service.key()
    for path in ("/v1/latest/GB", "/v1/usage"):
        refused = service.get(path, **{header: form.format(key)})
        assert problem_of(refused) == (401, "invalid-key")
        detail = refused.json["detail"]
        assert wrong in detail
        assert "`Authorization: Bearer emds_...`" in detail
        assert "unknown or revoked" not in detail
        assert key not in refused.text
    assert service.get("/v1/latest/GB?sample=true", **{header: form.format(key)}).status_code == 200
    assert "as its password" in service.get(Authorization=basic("user", key)).json["detail"]
    assert service.used(key) == 0
    assert "unknown or revoked" in service.get(Authorization=f"Bearer {spell(bytes(32))}").json["detail"]
    assert "wrong length or checksum" in service.get(Authorization=f"Bearer  {key}x").json["detail"]


def test_a_cookie_that_begins_as_a_key_is_none(service: Service) -> None:
    assert service.get(Cookie="emds_theme=dark").status_code == 402


def test_every_single_typing_error_is_told() -> None:
    key = spell(bytes(range(32)))
    assert is_well_formed(key)
    assert is_well_formed(key[:48]), "keys made before checksums"
    assert len(key) == len(KEY_PREFIX) + 49
    for place in range(len(KEY_PREFIX), len(key)):
        other = key[:place] + ("0" if key[place] != "0" else "1") + key[place + 1 :]
        assert not is_well_formed(other), place


def test_a_rotated_key_keeps_its_day_and_the_old_one_opens_for_a_day_more(service: Service) -> None:
    old = service.key()
    service.get(X_API_Key=old)
    rotated = service.http.post("/v1/keys/rotate", headers={"X-API-Key": old})
    assert (rotated.status_code, rotated.headers["Cache-Control"]) == (201, "no-store")
    new = rotated.json["api_key"]
    assert rotated.json["previous_valid_until"] == NOON + OVERLAP_S
    for number, key in enumerate((old, new, old), 2):
        assert service.get(X_API_Key=key).headers["RateLimit"].startswith(f'"day";r={500 - number};'), "one count"
    again = service.http.post("/v1/keys/rotate", headers={"X-API-Key": old})
    assert problem_of(again) == (409, "key-rotated")
    service.now[0] += OVERLAP_S
    assert service.get(X_API_Key=old).status_code == 401
    assert service.get(X_API_Key=new).status_code == 200
    assert service.http.post("/v1/keys/rotate").status_code == 401


def test_an_old_key_ends_itself_alone_and_the_current_one_ends_both(service: Service) -> None:
    def rotate(key: str) -> str:
        return str(service.http.post("/v1/keys/rotate", headers={"X-API-Key": key}).json["api_key"])

    def end(key: str) -> int:
        return service.http.delete("/v1/keys/current", headers={"X-API-Key": key}).status_code

    keys = [service.key()]
    keys.append(rotate(keys[-1]))
    keys.append(rotate(keys[-1]))
    assert [service.get(X_API_Key=key).status_code for key in keys] == [401, 200, 200], "a second rotation ends one"
    assert end(keys[1]) == 204
    assert [service.get(X_API_Key=key).status_code for key in keys] == [401, 401, 200]
    keys.append(rotate(keys[2]))
    assert end(keys[3]) == 204
    assert [service.get(X_API_Key=key).status_code for key in keys] == [401] * 4


def at_once(service: Service, monkeypatch: pytest.MonkeyPatch, key: str, *calls: tuple[str, str]) -> list[TestResponse]:
    """Make calls with one key at once. Each call finds the key active before any call continues."""
    together = threading.Barrier(len(calls), timeout=20)
    for name in ("rotate", "revoke"):
        plain = getattr(key_life, name)
        monkeypatch.setattr(key_life, name, lambda *arguments, plain=plain: (together.wait(), plain(*arguments))[1])

    def call(method: str, path: str) -> TestResponse:
        return service.http.application.test_client().open(path, method=method, headers={"X-API-Key": key})

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(lambda each: call(*each), calls))


def test_of_two_rotations_at_once_one_is_told_that_it_came_second(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, rotate = service.key(), ("POST", "/v1/keys/rotate")
    answers = sorted(at_once(service, monkeypatch, old, rotate, rotate), key=lambda answer: answer.status_code)
    assert answers[0].status_code == 201
    assert problem_of(answers[1]) == (409, "key-rotated")
    for key in (old, answers[0].json["api_key"]):
        assert service.get(X_API_Key=key).status_code == 200


def test_a_rotation_beside_a_revocation_hands_out_no_dead_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        old = service.key()
        with monkeypatch.context() as patch:
            rotated, revoked = at_once(service, patch, old, ("POST", "/v1/keys/rotate"), ("DELETE", "/v1/keys/current"))
        assert revoked.status_code == 204
        assert service.get(X_API_Key=old).status_code == 401
        if rotated.status_code == 201:
            assert service.get(X_API_Key=rotated.json["api_key"]).status_code == 200
        else:
            assert problem_of(rotated) == (401, "invalid-key")


def test_a_request_id_that_holds_a_key_is_not_taken_over(market: Any) -> None:
    client = market.client()
    key = spell(bytes(32))
    for name in (key, f"id.{key}", key.upper()):
        assert client.get("/healthz", headers={"X-Request-Id": name[:64]}).headers["X-Request-Id"] != name[:64]
    for wrong in ("", "a b", "x" * 65, "é", "a\tb"):
        made = client.get("/healthz", headers={"X-Request-Id": wrong}).headers["X-Request-Id"]
        assert (len(made), made != wrong) == (32, True)
    assert client.get("/healthz", headers={"X-Request-Id": "a-1_b.2"}).headers["X-Request-Id"] == "a-1_b.2"


# Many workers, one key


def _on_eight_connections(work: Callable[[http.client.HTTPConnection], None], port: int) -> None:
    """Run `work` on eight connections at once, and raise the first failure."""
    failed: list[BaseException] = []

    def run() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            work(connection)
        except (AssertionError, OSError, http.client.HTTPException) as fault:
            failed.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _ask(connection: http.client.HTTPConnection, key: str, path: str = "/v1/latest/GB") -> int:
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _sign_up(served: Served) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", "/v1/keys/signup", '{"email": "a@example.org"}', {"Content-Type": "application/json"})
    key: str = json.load(connection.getresponse())["api_key"]
    connection.close()
    return key


@pytest.mark.slow
def test_four_workers_answer_500_calls_across_a_restart(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    database = f"sqlite:///{tmp_path / 'accounts.sqlite'}"
    started = int(time.time())
    noon = DAY // 2 - started % DAY  # the service takes the start time for noon
    served = Served(
        {"EMDS_KEY_CALLS_PER_SECOND": "0", "EMDS_DATABASE_URL": database, "SHOP_CLOCK": str(noon)},
        workers=4,
        threads=1,
        more=["--preload"],
    )
    request.addfinalizer(served.kill)
    key = _sign_up(served)
    statuses: list[int] = []  # threads append, because a counter that threads share loses counts

    def make_calls(connection: http.client.HTTPConnection) -> None:
        for number in range(40):
            path = "/v1/latest/GB?status=404" if number % 5 == 0 else "/v1/latest/GB"
            statuses.append(_ask(connection, key, path))

    _on_eight_connections(make_calls, served.port)
    assert Counter(statuses) == {200: 8 * 32, 404: 8 * 8}
    served.stop()
    served.start()
    _on_eight_connections(lambda connection: statuses.extend(_ask(connection, key) for _ in range(40)), served.port)
    assert Counter(statuses) == {200: CALLS_PER_DAY, 404: 64, 429: 8 * 72 - CALLS_PER_DAY}
    served.kill()

    _check_spent(database, key, started + noon - (started + noon) % DAY + DAY)


def _check_spent(database: str, key: str, midnight: int) -> None:
    """Check that no call of the old day is left after the restarts."""
    accounts = Keys(Database(database))
    assert accounts.reserve(digest_of(key), midnight - 1) is None
    assert accounts.usage(digest_of(key), midnight) is not None
    accounts.database.close()
