"""Test which calls the gate admits, in which order, their cost, and limits by client (not payments)."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from api.access import accounts_engine, database
from api.access import limits as rate_limits
from api.access.client_address import client_address, client_unit
from api.access.gate import replayed_response
from api.access.keys import CALLS_PER_DAY
from api.access.limits import RateLimits
from api.access.prices import PRICES, units_of
from api.access.values import Call, Grant, WholeAnswer
from api.http.messages import HttpRequest
from tests.api.key_service import NOON, PATH, Service, opened, problem_of
from tests.stand_ins.postgres import NEEDS_POSTGRES, Postgres
from tests.stand_ins.trade import Trade, at_once
from warehouse.market.clock import DAY
from warehouse.market.metrics import BY_PATH


@pytest.mark.parametrize("query", ["?status=404", "?status=500", "?status=302", "?raise=1"])
def test_what_is_not_answered_is_not_counted(service: Service, query: str) -> None:
    key = service.key()
    answer = service.get(PATH + query, X_API_Key=key)
    assert answer.status_code == int(query.partition("=")[2]) if "status" in query else 500
    assert service.used(key) == 0
    if "status" in query:
        assert "r=500;" in answer.headers["RateLimit"]


def test_the_501st_answer_is_429_until_midnight(service: Service) -> None:
    key = service.key()
    service.spend(key, CALLS_PER_DAY - 1)
    assert service.get(X_API_Key=key).status_code == 200
    refused = service.get(X_API_Key=key)
    assert problem_of(refused) == (429, "quota-exceeded")
    assert refused.headers["Retry-After"] == str(DAY // 2)
    assert refused.headers["RateLimit"] == f'"day";r=0;t={DAY // 2}'
    assert refused.headers["Cache-Control"] == "no-store"
    service.now[0] = NOON + DAY // 2
    assert service.get(X_API_Key=key).headers["RateLimit"] == f'"day";r=499;t={DAY}'


def test_a_sample_needs_nothing_and_uses_nothing_up(service: Service) -> None:
    key = service.key()
    answer = service.get(PATH + "?sample=true", X_API_Key=key, X_PAYMENT="junk")
    assert (answer.status_code, answer.json["method"], answer.headers["X-Sample"]) == (200, "sample", "true")
    assert service.used(key) == 0
    assert service.get(PATH + "?sample=false").status_code == 402
    assert service.get(PATH + "?%73ampl%65=true").headers["X-Sample"] == "true"
    assert service.get("/v1/zones?sample=true").headers["X-Sample"] == "true"
    free = service.get("/v1/zones", Authorization="Bearer emds_wrong")
    assert (free.status_code, free.json["method"], "X-Sample" in free.headers) == (200, "free", False)


def test_free_and_sample_calls_share_a_minute(tmp_path: Path) -> None:
    service = opened(tmp_path, free_calls_per_minute=5)
    for path in ("/v1/zones", PATH + "?sample=true") * 2:
        assert service.get(path).status_code == 200
    assert service.get("/v1/zones").status_code == 200
    refused = service.get(PATH + "?sample=true")
    assert problem_of(refused) == (429, "too-many-calls")
    assert refused.headers["Retry-After"] == "60"
    assert service.get(X_API_Key=service.key()).status_code == 200
    assert service.http.get("/v1/zones", environ_base={"REMOTE_ADDR": "192.0.2.8"}).status_code == 200
    service.now[0] += 60
    assert service.get("/v1/zones").status_code == 200
    service.gate.close()


def test_samples_have_a_day_of_their_own(tmp_path: Path) -> None:
    service = opened(tmp_path, sample_calls_per_day=3)
    for minute in range(3):
        service.now[0] = NOON + minute * 60
        assert service.get(PATH + "?sample=true").status_code == 200
    refused = service.get(PATH + "?sample=1")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, str(DAY // 2 - 120))
    assert service.get("/v1/zones").status_code == 200
    service.now[0] = NOON + DAY // 2
    assert service.get(PATH + "?sample=true").status_code == 200
    service.gate.close()


def test_the_networks_of_one_site_share_the_days_samples(tmp_path: Path) -> None:
    gate = opened(tmp_path, free_calls_per_minute=0, sample_calls_per_day=3).gate
    answers = [gate.admit(Call("/", "", f"2001:db8:1:{net:x}::1", sample=True)) for net in range(5)]
    assert [isinstance(answer, Grant) for answer in answers] == [True, True, True, False, False]
    gate.close()


def test_a_key_may_call_so_often_a_second(tmp_path: Path) -> None:
    service = opened(tmp_path, key_calls_per_second=3)
    first, second = service.key(), service.key()
    assert [service.get(X_API_Key=first).status_code for _ in range(5)] == [200] * 3 + [429] * 2
    limited = service.get(X_API_Key=first)
    assert (limited.headers["RateLimit-Policy"], limited.headers["Retry-After"]) == ('"second";q=3;w=1', "1")
    assert service.get(X_API_Key=second).status_code == 200
    service.now[0] += 1
    answer = service.get(X_API_Key=first)
    assert (answer.status_code, answer.headers["RateLimit"].split(";")[1]) == (200, "r=496"), "a 429 is not counted"
    service.gate.close()


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "client"),
    [
        ("192.0.2.1", "", [], "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", [], "192.0.2.1"),
        ("10.0.0.2", "198.51.100.1, 203.0.113.9, 10.0.0.3", ["10.0.0.0/8"], "203.0.113.9"),
        ("10.0.0.2", "203.0.113.9, junk", ["10.0.0.0/8"], "10.0.0.2"),
        ("192.0.2.1", "203.0.113.9", ["10.0.0.0/8"], "192.0.2.1"),
        ("", "203.0.113.9", ["10.0.0.0/8"], "203.0.113.9"),
        ("", "203.0.113.9", [], ""),
        ("10.0.0.2", "198.51.100.1:1, 203.0.113.9:4711", ["10.0.0.0/8"], "203.0.113.9"),
        ("10.0.0.2", "[2001:db8::1]:443", ["10.0.0.0/8"], "2001:db8::1"),
        ("10.0.0.2", "2001:db8::1", ["10.0.0.0/8"], "2001:db8::1"),
        ("10.0.0.2", "203.0.113.9:http", ["10.0.0.0/8"], "10.0.0.2"),
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


def test_prices_are_the_specifications() -> None:
    """Check that a metric that the specification does not name has the price of its record."""
    specified = dict.fromkeys(("demand", "generation", "price", "carbon-intensity", "interchange", "capacity"), "0.01")
    specified |= {"snapshot": "0.002", "brief": "0.02", "latest": "0.001", "windows": "0.005"}
    specified |= {"records": "0.002", "all-records": "0.002", "bulk-file": "0.02"}
    charged = {key: price.price for key, price in PRICES.items()}
    assert specified.items() <= charged.items()
    assert charged.keys() - specified.keys() == {*BY_PATH, *(f"{name}-zones" for name in BY_PATH)} - specified.keys()
    assert all(charged[name] == charged[f"{name}-zones"] for name in BY_PATH)
    assert {units_of(key) for key in specified} == {1000, 2000, 5000, 10_000, 20_000}


def test_a_body_packed_for_another_client_is_unpacked() -> None:
    stored = WholeAnswer(200, 1, gzip.compress(b'{"rows": 1}'), (("Content-Encoding", "gzip"), ("ETag", '"t-gzip"')))
    assert replayed_response(stored, HttpRequest({"HTTP_ACCEPT_ENCODING": "gzip"})).header("Content-Encoding") == "gzip"
    response = replayed_response(stored, HttpRequest({}))
    assert response.body == b'{"rows": 1}'
    assert not response.header("Content-Encoding")
    assert not response.header("ETag")


@pytest.mark.slow
@NEEDS_POSTGRES
def test_postgres_that_is_away_for_a_while_is_503_for_that_while(postgres_server: Postgres, tmp_path: Path) -> None:
    postgres_server.empty()
    service = opened(tmp_path, database_url=postgres_server.url, home=str(tmp_path))
    key = service.key()
    assert service.get(X_API_Key=key).status_code == 200
    postgres_server.stop()
    assert service.get(X_API_Key=key).status_code == 503
    assert service.sign_up().status_code == 503
    assert service.get("/v1/zones").status_code == 200
    postgres_server.start()
    assert service.get(X_API_Key=key).headers["RateLimit"].startswith('"day";r=498')
    assert service.sign_up().status_code == 201
    service.gate.close()


@pytest.mark.slow
@NEEDS_POSTGRES
def test_postgres_that_hangs_is_503_for_every_kind_of_call(
    postgres_server: Postgres, trade: Trade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send twelve calls of each kind at once, which is more than there are connections."""
    for module in (accounts_engine, database):
        monkeypatch.setattr(module, "WITHIN_S", 1.0)
    monkeypatch.setitem(accounts_engine._LIBPQ_TIMEOUTS, "connect_timeout", "2")  # the driver's minimum
    postgres_server.empty()
    service = opened(tmp_path, database_url=postgres_server.url, home=str(tmp_path))
    sqlite, gate = trade.gate.database, trade.gate
    gate.database = service.gate.database
    trade.restart()
    key, payments = service.key(), [trade.payment() for _ in range(14)]
    assert (service.get(X_API_Key=key).status_code, trade.get(payments.pop()).status_code) == (200, 200)
    shop, sold = service.http.application, trade.http.application
    calls: list[Callable[[], TestResponse]] = []
    for number in range(12):
        headers, body = {"PAYMENT-SIGNATURE": payments.pop()}, {"email": f"{number}@example.org"}
        calls.append(lambda headers=headers: sold.test_client().get(PATH, headers=headers))  # type: ignore[misc]
        calls.append(lambda body=body: shop.test_client().post("/v1/keys/signup", json=body))  # type: ignore[misc]
        calls.append(lambda: shop.test_client().get(PATH, headers={"X-API-Key": key}))
    with postgres_server.standing_still():
        began = time.monotonic()
        answers = at_once(calls)
        assert time.monotonic() - began < 10, "limits of 1 and 2 seconds, each met a few times"
    assert [problem_of(answer) for answer in answers] == [(503, "accounts-unavailable")] * 36
    assert service.get(X_API_Key=key).status_code == service.get("/v1/zones").status_code == 200
    assert (service.sign_up().status_code, trade.get(payments.pop()).status_code) == (201, 200)
    service.gate.close()
    gate.database = sqlite
    trade.restart()
    trade.book.transfers.clear()  # their rows are in PostgreSQL
    trade.answered.clear()


NOW, LIMIT = 1_800_000_000, 120


@pytest.fixture
def limits(tmp_path: Path) -> Iterator[RateLimits]:
    opened = RateLimits(tmp_path / "limits")
    yield opened
    opened.close()


def test_workers_share_a_client_s_window(limits: RateLimits, tmp_path: Path) -> None:
    other = RateLimits(tmp_path / "limits")
    taken = [each.refuse("minute", "192.0.2.1", LIMIT, NOW) for each in [limits, other] * 61]
    assert taken[:LIMIT] == [None] * LIMIT
    assert all(taken[LIMIT:])
    other.close()


def test_a_table_of_an_earlier_release_is_used_on(tmp_path: Path) -> None:
    (tmp_path / "limits").write_bytes(b"\0" * (1 << 16) * 16)
    limits = RateLimits(tmp_path / "limits")
    assert limits.refuse("minute", "192.0.2.1", 1, NOW) is None
    assert limits.refuse("minute", "192.0.2.1", 1, NOW)
    limits.close()


def place(client: str) -> int:
    """Return the slot of a client's counter under a hash without a secret, which anyone can compute."""
    digest = hashlib.blake2b(f"minute\n{client}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % rate_limits._SLOTS


@pytest.mark.slow
def test_clients_who_share_his_place_do_not_push_a_client_s_counter_out(limits: RateLimits) -> None:
    """Try to evict a counter by eight busier clients that would share its slot if the hash had no secret."""
    mine, taken = "192.0.2.1", 0
    numbered = (f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::" for number in itertools.count())
    others = list(itertools.islice((each for each in numbered if place(each) == place(mine)), rate_limits._PROBES))
    for _ in range(4):
        taken += sum(limits.refuse("minute", mine, LIMIT, NOW) is None for _ in range(40))
        for client in others:
            for _ in range(60):
                limits.refuse("minute", client, LIMIT, NOW)
    assert taken == LIMIT
