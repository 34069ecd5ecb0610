"""Who is let in, in which order, and what a call costs (payments: `test_x402_*`)."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.access import sign_up as sign_ups
from api.access.database import AccountsUnavailable
from api.access.gate import Gate, replayed_response
from api.access.keys import digest_of
from api.access.limits import RateLimits, client_address, client_unit, limits_path
from api.access.prices import PRICES
from api.access.sign_up import SignUp
from api.access.usage import CALLS_PER_DAY
from api.access.values import Answer, Call, Grant, Receipt, Refusal
from api.http.messages import Request
from api.settings import Settings
from tests.stand_ins import postgres
from tests.stand_ins.shop import shop
from warehouse.market.clock import DAY
from warehouse.market.metrics import BY_PATH

NOON = 20_000 * DAY + DAY // 2


@dataclass
class GateClient:
    """A gate with a clock that the test moves, and a client of the shop behind it."""

    gate: Gate
    http: FlaskClient
    now: list[float]

    def key(self) -> str:
        return sign_ups.sign_up(
            self.gate.database, SignUp(f"{os.urandom(4).hex()}@example.org", "x"), 0, self.gate.now
        ).key

    def used(self, key: str) -> int:
        usage = self.gate.usage.usage(digest_of(key), self.gate.now)
        assert usage
        return usage.used

    def spend(self, key: str, calls: int) -> None:
        for _ in range(calls):
            self.gate.usage.reserve(digest_of(key), self.gate.now)


def gate_client(folder: Path, **changes: object) -> GateClient:
    settings = replace(Settings(database_url=f"sqlite:///{folder / 'accounts.sqlite'}"), **changes)  # type: ignore[arg-type]
    now = [float(NOON)]
    gate = Gate.open(settings, "live", lambda: now[0])
    return GateClient(gate, shop(gate).test_client(), now)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[GateClient]:
    built = gate_client(tmp_path)
    yield built
    built.gate.close()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


PATH = "/v1/latest/GB"


def test_a_key_opens_and_tells_what_is_left(client: GateClient) -> None:
    key = client.key()
    answer = client.http.get(PATH, headers=bearer(key))
    assert answer.json["method"] == "key"
    assert answer.headers["RateLimit-Policy"] == '"day";q=500;w=86400'
    assert answer.headers["RateLimit"] == f'"day";r=499;t={DAY // 2}'
    assert client.http.get(PATH, headers={"Authorization": f"bearer  {key}"}).json["method"] == "key"
    assert client.used(key) == 2


@pytest.mark.parametrize("query", ["?status=404", "?status=500", "?status=302", "?raise=1"])
def test_what_is_not_answered_is_not_counted(client: GateClient, query: str) -> None:
    key = client.key()
    answer = client.http.get(PATH + query, headers=bearer(key))
    assert answer.status_code == int(query.partition("=")[2]) if "status" in query else 500
    assert client.used(key) == 0
    if "status" in query:
        assert "r=500;" in answer.headers["RateLimit"]


def test_304_is_not_counted_and_an_empty_answer_and_head_are(client: GateClient) -> None:
    key = client.key()
    assert client.http.get(PATH, headers=bearer(key) | {"If-None-Match": '"tag"'}).status_code == 304
    assert client.used(key) == 0
    assert client.http.get(PATH + "?rows=0", headers=bearer(key)).status_code == 200
    assert client.http.head(PATH, headers=bearer(key)).status_code == 200
    assert client.used(key) == 2


def test_the_501st_answer_is_429_until_midnight(client: GateClient) -> None:
    key = client.key()
    client.spend(key, CALLS_PER_DAY - 1)
    assert client.http.get(PATH, headers=bearer(key)).status_code == 200
    refused = client.http.get(PATH, headers=bearer(key))
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == str(DAY // 2)
    assert refused.headers["RateLimit"] == f'"day";r=0;t={DAY // 2}'
    assert refused.headers["Cache-Control"] == "no-store"
    assert refused.json["type"].endswith("/problems/quota-exceeded")
    assert "payment" not in refused.json["detail"], "nothing is sold here"
    client.now[0] = NOON + DAY // 2
    assert client.http.get(PATH, headers=bearer(key)).headers["RateLimit"] == f'"day";r=499;t={DAY}'


@pytest.mark.parametrize(
    "credentials", ["Bearer emds_" + "x" * 43, "Bearer ", "Bearer short", "Basic YTpi", "Bearer emds_ü", "x"]
)
def test_a_wrong_key_is_401(client: GateClient, credentials: str) -> None:
    answer = client.http.get(PATH, headers={"Authorization": credentials})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json["type"].endswith("/problems/invalid-key")


def test_without_anything_it_is_402_in_both_versions(client: GateClient) -> None:
    answer = client.http.get(PATH)
    assert answer.status_code == 402
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers.getlist("Content-Type") == ["application/json"]
    second = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
    assert (answer.json["x402Version"], second["x402Version"]) == (1, 2)
    # no receiver is set: it names the ways that are open
    assert answer.json["accepts"] == second["accepts"] == []
    assert "signup" in answer.json["error"]
    assert "sample=true" in second["error"]


def test_a_sample_needs_nothing_and_uses_nothing_up(client: GateClient) -> None:
    key = client.key()
    answer = client.http.get(PATH + "?sample=true", headers=bearer(key) | {"X-PAYMENT": "junk"})
    assert (answer.status_code, answer.json["method"], answer.headers["X-Sample"]) == (200, "sample", "true")
    assert client.used(key) == 0
    assert client.http.get(PATH + "?sample=false").status_code == 402
    assert client.http.get("/v1/zones?sample=true").headers["X-Sample"] == "true"
    assert "X-Sample" not in client.http.get("/v1/zones").headers


def test_free_calls_need_no_key_and_look_at_none(client: GateClient) -> None:
    answer = client.http.get("/v1/zones", headers=bearer("emds_wrong"))
    assert (answer.status_code, answer.json["method"]) == (200, "free")


def test_free_and_sample_calls_share_a_minute(tmp_path: Path) -> None:
    client = gate_client(tmp_path, free_calls_per_minute=5)
    for path in ("/v1/zones", PATH + "?sample=true") * 2:
        assert client.http.get(path).status_code == 200
    assert client.http.get("/v1/zones").status_code == 200
    refused = client.http.get(PATH + "?sample=true")
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "60"
    assert refused.json["type"].endswith("/problems/too-many-calls")
    assert client.http.get(PATH, headers=bearer(client.key())).status_code == 200
    assert client.http.get("/v1/zones", environ_base={"REMOTE_ADDR": "192.0.2.8"}).status_code == 200
    client.now[0] += 60
    assert client.http.get("/v1/zones").status_code == 200
    client.gate.close()


def test_samples_have_a_day_of_their_own(tmp_path: Path) -> None:
    client = gate_client(tmp_path, sample_calls_per_day=3)
    for minute in range(3):
        client.now[0] = NOON + minute * 60
        assert client.http.get(PATH + "?sample=true").status_code == 200
    refused = client.http.get(PATH + "?sample=1")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, str(DAY // 2 - 120))
    assert client.http.get("/v1/zones").status_code == 200
    client.now[0] = NOON + DAY // 2
    assert client.http.get(PATH + "?sample=true").status_code == 200
    client.gate.close()


def test_zero_is_unlimited(tmp_path: Path) -> None:
    client = gate_client(tmp_path, free_calls_per_minute=0, sample_calls_per_day=0)
    assert {client.http.get(PATH + "?sample=true").status_code for _ in range(130)} == {200}
    client.gate.close()


def test_workers_of_a_host_count_clients_together(tmp_path: Path) -> None:
    path = tmp_path / "counts.limits"
    first, second = RateLimits(path), RateLimits(path)
    answers = [each.take("calls", "192.0.2.1", 4, 60, NOON) for each in (first, second) * 3]
    assert answers == [0] * 4 + [60] * 2
    first.close()
    second.close()
    assert RateLimits(path).take("calls", "192.0.2.1", 4, 60, NOON + 59) == 1


def test_many_clients_do_not_push_out_a_busy_one(tmp_path: Path) -> None:
    limits = RateLimits(tmp_path / "counts.limits")
    for _ in range(10):
        limits.take("calls", "192.0.2.1", 10, 60, NOON)
    for number in range(70_000):
        limits.take("calls", f"2001:db8::{number:x}", 10, 60, NOON)
    assert limits.take("calls", "192.0.2.1", 10, 60, NOON) == 60
    limits.close()


def test_where_the_counts_of_clients_lie() -> None:
    assert limits_path(Settings(database_url="sqlite:////srv/accounts.sqlite")) == Path("/srv/accounts.limits")
    paths = {limits_path(Settings(home=home, database_url="postgresql+psycopg://h/d")) for home in ("s3://a", "s3://b")}
    assert len(paths) == 2


def test_mcp_shows_its_key_as_an_argument_and_samples_without(client: GateClient) -> None:
    call = Call("/mcp", "latest", "192.0.2.1", api_key=client.key(), authorization="Bearer other")
    entry = client.gate.admit(call)
    assert isinstance(entry, Grant)
    assert entry.method == "key"
    assert isinstance(entry.settle(Answer(200, 1)), Receipt)
    assert isinstance(client.gate.admit(replace(call, api_key="wrong")), Refusal)
    sampled = client.gate.admit(Call("/mcp", "latest", "192.0.2.1", sample=True))
    assert isinstance(sampled, Grant)
    assert sampled.method == "sample"


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "client"),
    [
        ("192.0.2.1", "", [], "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", [], "192.0.2.1"),
        ("10.0.0.2", "203.0.113.9", ["10.0.0.0/8"], "203.0.113.9"),
        ("10.0.0.2", "198.51.100.1, 203.0.113.9, 10.0.0.3", ["10.0.0.0/8"], "203.0.113.9"),
        ("10.0.0.2", "junk", ["10.0.0.0/8"], "10.0.0.2"),
        ("10.0.0.2", "203.0.113.9, junk", ["10.0.0.0/8"], "10.0.0.2"),
        ("192.0.2.1", "203.0.113.9", ["10.0.0.0/8"], "192.0.2.1"),
        ("", "203.0.113.9", ["10.0.0.0/8"], "203.0.113.9"),
        ("", "203.0.113.9", [], ""),
    ],
)
def test_the_client_is_the_nearest_address_that_is_no_trusted_proxy(
    peer: str, forwarded: str, trusted: list[str], client: str
) -> None:
    assert client_address(peer, forwarded, [ip_network(each) for each in trusted]) == client


@pytest.mark.parametrize(
    ("address", "unit"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2002:c000:201:7::1", "192.0.2.1"),
        ("", ""),
    ],
)
def test_limits_count_an_ipv6_subscriber_once(address: str, unit: str) -> None:
    assert client_unit(address) == unit


def test_the_networks_of_one_site_share_the_days_samples(tmp_path: Path) -> None:
    gate = gate_client(tmp_path, free_calls_per_minute=0, sample_calls_per_day=3).gate
    answers = [gate.admit(Call("/", "", f"2001:db8:1:{net:x}::1", sample=True)) for net in range(5)]
    assert [isinstance(answer, Grant) for answer in answers] == [True, True, True, False, False]
    gate.close()


def test_prices_are_the_specifications() -> None:
    """A metric that the specification does not name has the price of its record."""
    specified = {
        "snapshot": "0.002",
        "brief": "0.02",
        "latest": "0.001",
        "demand": "0.01",
        "generation": "0.01",
        "price": "0.01",
        "carbon-intensity": "0.01",
        "interchange": "0.01",
        "capacity": "0.01",
        "windows": "0.005",
        "records": "0.002",
        "bulk-file": "0.02",
    }
    charged = {key: price.usd for key, price in PRICES.items()}
    assert specified.items() <= charged.items()
    assert charged.keys() - specified.keys() == {*BY_PATH, *(f"{name}-zones" for name in BY_PATH)} - specified.keys()
    assert all(charged[name] == charged[f"{name}-zones"] for name in BY_PATH)
    assert {PRICES[key].units for key in specified} == {1000, 2000, 5000, 10_000, 20_000}
    assert all(len(price.title) <= 500 for price in PRICES.values())


def test_a_body_packed_for_another_client_is_unpacked(client: GateClient) -> None:
    stored = Answer(200, 1, gzip.compress(b'{"rows": 1}'), (("Content-Encoding", "gzip"), ("ETag", '"t-gzip"')))
    assert replayed_response(stored, Request({"HTTP_ACCEPT_ENCODING": "gzip"})).header("Content-Encoding") == "gzip"
    response = replayed_response(stored, Request({}))
    assert response.body == b'{"rows": 1}'
    assert not response.header("Content-Encoding")
    assert not response.header("ETag")


def test_a_database_that_refuses_stops_what_is_counted_and_nothing_else(
    client: GateClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = client.key()

    def locked(*_: object) -> None:
        raise AccountsUnavailable("database is locked")

    for statement in ("reserve", "usage"):
        monkeypatch.setattr(client.gate.usage, statement, locked)
    refused = client.http.get(PATH, headers=bearer(key))
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert refused.json["type"].endswith("/problems/accounts-unavailable")
    assert client.http.get("/v1/usage", headers=bearer(key)).status_code == 503
    assert client.http.get(PATH + "?sample=true").status_code == 200
    assert client.http.get("/v1/zones").status_code == 200
    assert client.http.get(PATH).status_code == 402


@pytest.mark.slow
@postgres.NEEDS_POSTGRES
def test_postgres_that_is_away_for_a_while_is_503_for_that_while(tmp_path: Path) -> None:
    server = postgres.Postgres()
    client = gate_client(tmp_path, database_url=server.url, home=str(tmp_path))
    key = client.key()
    assert client.http.get(PATH, headers=bearer(key)).status_code == 200
    server.stop()
    assert client.http.get(PATH, headers=bearer(key)).status_code == 503
    assert client.http.post("/v1/keys/signup", json={"email": "b@example.org"}).status_code == 503
    assert client.http.get("/v1/zones").status_code == 200
    server.start()
    assert client.http.get(PATH, headers=bearer(key)).headers["RateLimit"].startswith('"day";r=498')
    assert client.http.post("/v1/keys/signup", json={"email": "b@example.org"}).status_code == 201
    client.gate.close()
    server.close()
