"""A key's life over HTTP: sign-up, its day, its end; sixteen workers together answer 500 calls a day, not one more."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.database import Database
from api.access.email_address import is_address
from api.access.gate import Gate
from api.access.keys import digest_of
from api.access.usage import CALLS_PER_DAY, UsageCounter
from api.settings import Settings
from tests.stand_ins import postgres
from tests.stand_ins.served import Served
from tests.stand_ins.shop import shop
from warehouse.market.clock import DAY

NOON = 20_000 * DAY + DAY // 2


@dataclass
class SignUps:
    gate: Gate
    http: FlaskClient
    now: list[float]

    def sign_up(self, body: Any = None, **headers: str) -> TestResponse:
        return self.http.post(
            "/v1/keys/signup", json={"email": "a@example.org"} if body is None else body, headers=headers
        )

    def key(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.sign_up().json['api_key']}"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SignUps]:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'accounts.sqlite'}", base_url="https://emds.example")
    now = [float(NOON)]
    gate = Gate.open(settings, "live", lambda: now[0])
    yield SignUps(gate, shop(gate).test_client(), now)
    gate.close()


def kind(answer: TestResponse) -> str:
    assert answer.content_type == "application/problem+json"
    return str(answer.json["type"].rpartition("/")[2])


def test_a_sign_up_gives_a_key_that_opens(service: SignUps) -> None:
    answer = service.sign_up({"email": " Ada@Example.ORG ", "name": "ignored"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    key = answer.json.pop("api_key")
    assert answer.json == {
        "api_key": key,
        "email": "ada@example.org",
        "docs": "https://emds.example/docs",
        "quota": {"limit": 500, "window": "day", "resets_at": NOON + DAY // 2},
    }
    assert service.http.get("/v1/latest/GB", headers={"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "media", "status", "named"),
    [
        (b'{"email": "a@example.org"}', "text/plain", 415, "unsupported-media-type"),
        (b"email=a@example.org", "application/x-www-form-urlencoded", 415, "unsupported-media-type"),
        (b"{", "application/json", 400, "invalid-request"),
        (b"", "application/json", 400, "invalid-request"),
        (b"[]", "application/json", 400, "invalid-request"),
        (b"{}", "application/json", 400, "invalid-request"),
        (b'{"email": 7}', "application/json", 400, "invalid-request"),
        (b'{"email": "a@b"}', "application/json", 400, "invalid-request"),
        (b'{"email": "\xff"}', "application/json", 400, "invalid-request"),
        (b'{"email": "a@example.org", "x": "' + b"y" * 4096 + b'"}', "application/json", 413, "body-too-large"),
    ],
)
def test_what_is_no_sign_up_is_refused_and_not_counted(
    service: SignUps, body: bytes, media: str, status: int, named: str
) -> None:
    for _ in range(6):
        answer = service.http.post("/v1/keys/signup", data=body, content_type=media)
        assert (answer.status_code, kind(answer)) == (status, named)
    assert service.sign_up().status_code == 201


def test_a_charset_in_the_content_type_is_fine(service: SignUps) -> None:
    answer = service.http.post(
        "/v1/keys/signup", data=b'{"email": "a@example.org"}', content_type="application/json; charset=utf-8"
    )
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a@example.org", True),
        ("first.last+tag@sub.example.co.uk", True),
        ("o'brien@example.org", True),
        ("müller@bücher.example", True),
        ("a@example", False),
        ("@example.org", False),
        ("a@", False),
        ("a@@example.org", False),
        ("a b@example.org", False),
        ("a@exa mple.org", False),
        ("a@-example.org", False),
        ("a@example..org", False),
        (".a@example.org", False),
        ("a..b@example.org", False),
        ("a@example.org\r\nBcc: b@example.org", False),
        ("a@192.0.2.1", False),
        ("a" * 65 + "@example.org", False),
        ("a@" + "b" * 63 + ".org", True),
        ("a@" + "b" * 64 + ".org", False),
        ("a@" + "b.org" * 60, False),
        ("a\x00@example.org", False),
    ],
)
def test_addresses(text: str, good: bool) -> None:
    assert is_address(text) is good


def test_the_sixth_sign_up_of_an_hour_is_429(service: SignUps) -> None:
    for number in range(5):
        assert service.sign_up({"email": f"{number}@example.org"}).status_code == 201
    service.now[0] += 600
    refused = service.sign_up({"email": "b@example.org"})
    assert (refused.status_code, refused.headers["Retry-After"], kind(refused)) == (429, "3000", "too-many-sign-ups")
    elsewhere = service.http.post(
        "/v1/keys/signup", json={"email": "b@example.org"}, environ_base={"REMOTE_ADDR": "192.0.2.1"}
    )
    assert elsewhere.status_code == 201
    service.now[0] += 3000
    assert service.sign_up({"email": "b@example.org"}).status_code == 201


def test_a_fourth_key_of_an_address_is_409(service: SignUps) -> None:
    service.gate.settings = replace(service.gate.settings, signups_per_hour=0)
    for _ in range(3):
        assert service.sign_up().status_code == 201
    refused = service.sign_up({"email": "A@EXAMPLE.org"})
    assert (refused.status_code, kind(refused)) == (409, "too-many-keys")


def test_a_repeated_sign_up_gives_the_same_key(service: SignUps) -> None:
    first = service.sign_up(**{"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"})
    again = service.sign_up(**{"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"})
    assert (again.status_code, again.json) == (201, first.json)
    other = service.sign_up({"email": "b@example.org"}, **{"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324"})
    assert other.status_code == 201
    assert other.json["api_key"] != first.json["api_key"]
    assert service.sign_up(**{"Idempotency-Key": "é"}).status_code == 400


def test_a_key_sees_its_day_and_looking_is_free(service: SignUps) -> None:
    headers = service.key()
    for _ in range(3):
        service.http.get("/v1/latest/GB", headers=headers)
    for _ in range(2):
        answer = service.http.get("/v1/usage", headers=headers)
    assert answer.json == {
        "quota": {"limit": 500, "window": "day", "used": 3, "remaining": 497, "resets_at": NOON + DAY // 2},
        "created": NOON,
    }
    assert answer.headers["RateLimit"] == f'"day";r=497;t={DAY // 2}'
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_revoked_key_opens_nothing(service: SignUps) -> None:
    headers = service.key()
    ended = service.http.delete("/v1/keys/current", headers=headers)
    assert (ended.status_code, ended.data) == (204, b"")
    for answer in (
        service.http.get("/v1/latest/GB", headers=headers),
        service.http.get("/v1/usage", headers=headers),
        service.http.delete("/v1/keys/current", headers=headers),
        service.http.get("/v1/usage"),
    ):
        assert (answer.status_code, kind(answer)) == (401, "invalid-key")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


# Many workers, one key


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'accounts.sqlite'}"
        return
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed: make setup")
    server = postgres.Postgres()
    yield server.url
    server.close()


def _on_sixteen_connections(work: Callable[[http.client.HTTPConnection], None], port: int) -> None:
    """Runs `work` on sixteen connections at once."""
    failed: list[BaseException] = []

    def run() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            work(connection)
        except (AssertionError, OSError, http.client.HTTPException) as fault:
            failed.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(16)]
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
def test_sixteen_workers_answer_500_calls_across_a_restart_and_midnight(
    database: str, request: pytest.FixtureRequest
) -> None:
    started = int(time.time())
    noon = DAY // 2 - started % DAY  # however late it is, the service believes it is noon
    served = Served(
        {"EMDS_KEY_CALLS_PER_SECOND": "0", "EMDS_DATABASE_URL": database, "SHOP_CLOCK": str(noon)},
        workers=16,
        threads=1,
        more=["--preload"],
    )
    request.addfinalizer(served.kill)
    key = _sign_up(served)
    statuses: list[int] = []  # not counted by the threads: two that count at once count one

    def make_calls(connection: http.client.HTTPConnection) -> None:
        for number in range(20):
            path = "/v1/latest/GB?status=404" if number % 5 == 0 else "/v1/latest/GB"
            statuses.append(_ask(connection, key, path))

    _on_sixteen_connections(make_calls, served.port)
    assert Counter(statuses) == {200: 16 * 16, 404: 16 * 4}
    served.stop()
    begun = time.monotonic()
    served.start()
    start_s = time.monotonic() - begun
    _on_sixteen_connections(lambda connection: statuses.extend(_ask(connection, key) for _ in range(20)), served.port)
    assert Counter(statuses) == {200: CALLS_PER_DAY, 404: 64, 429: 16 * 36 - CALLS_PER_DAY}
    served.kill()

    midnight = started + noon - (started + noon) % DAY + DAY
    ahead = midnight - time.time() - max(4, 4 * start_s)  # midnight comes well after the service is up again
    served.start(SHOP_CLOCK=str(ahead))
    _check_spent(database, key, midnight)
    answers: list[tuple[bool, int]] = []

    def until_the_new_day_is_used_up(connection: http.client.HTTPConnection) -> None:
        while True:
            new = time.time() + ahead >= midnight  # a call that was asked before may be refused for the old day
            status = _ask(connection, key)
            answers.append((new, status))
            if new and status == 429:
                return
            time.sleep(0 if new else 0.02)

    _on_sixteen_connections(until_the_new_day_is_used_up, served.port)
    served.kill()
    around = Counter(answers)
    assert around[False, 429] > 0
    assert around[False, 200] + around[True, 200] == CALLS_PER_DAY
    assert {status for _, status in around} == {200, 429}


def _check_spent(database: str, key: str, midnight: int) -> None:
    """Checks that no call of the old day is left after the restarts."""
    accounts = UsageCounter(Database.opened(database))
    assert accounts.reserve(digest_of(key), midnight - 1) is None
    assert accounts.usage(digest_of(key), midnight) is not None
    accounts.close()
