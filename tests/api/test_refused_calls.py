"""Test that refused calls are cheap, count like unpaid ones, and are limited before their content is read."""

from __future__ import annotations

import time
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http import parameters
from api.http.codings import MOST_RANGES
from api.http.parameters import MOST_FAULTS, MOST_PARAMETERS, Parameter
from api.http.responses import accepted
from tests.api.key_service import NOON

BAD, PATH = "/v1/price/GB?foo=1", "/v1/price/GB"


def client_of(market: Any, **limits: int) -> FlaskClient:
    """Return a client whose current minute and second never end."""
    client: FlaskClient = market.client(**limits)
    market.apps[-1].extensions["emds"].gate._clock = lambda: float(NOON)
    return client


def statuses(client: FlaskClient, path: str, times: int, **sent: Any) -> list[int]:
    return [client.get(path, **sent).status_code for _ in range(times)]


@pytest.mark.parametrize(
    ("path", "status"),
    [(BAD, 400), ("/v1/zones?foo=1", 400), ("/v1/price/XX", 404), ("/v1/nothing", 404), (f"{BAD}&sample=true", 400)],
)
def test_refused_calls_of_an_address_are_limited(market: Any, path: str, status: int) -> None:
    client = client_of(market, free_calls_per_minute=3)
    assert statuses(client, path, 5) == [status] * 3 + [429] * 2
    assert client.get(path, environ_base={"REMOTE_ADDR": "192.0.2.9"}).status_code == status


def test_a_402_and_a_refusal_share_their_limit_and_free_calls_have_their_own(market: Any) -> None:
    client = client_of(market, free_calls_per_minute=3)
    assert [client.get(path).status_code for path in (PATH, BAD, PATH, BAD)] == [402, 400, 402, 429]
    assert client.get("/v1/zones").status_code == 200
    assert client.get("/healthz").status_code == 200


def test_an_address_out_of_free_calls_gets_429_whatever_the_parameters(market: Any) -> None:
    client = client_of(market, free_calls_per_minute=3)
    assert statuses(client, "/v1/zones", 3) == [200] * 3
    for path in (BAD, PATH, f"{PATH}?sample=true", "/v1/zones?foo=1", "/v1/price/XX"):
        assert client.get(path).status_code == 429, path
    assert client.get(BAD, headers={"X-API-Key": "emds_wrong"}).status_code == 429
    assert client.get(BAD, headers={"X-PAYMENT": "junk"}).status_code == 400, "a payment is looked at"


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (BAD, {"headers": {"X-PAYMENT": "junk"}}),
        ("/v1/price/XX", {"headers": {"PAYMENT-SIGNATURE": "junk"}}),
        ("/v1/zones?foo=1", {"headers": {"X-PAYMENT": "junk"}}),
        ("/v1/bulk/price/GB/2026-01.parquet?signature=x", {}),
    ],
)
def test_what_is_not_a_payment_or_a_signature_ends_no_limit(market: Any, path: str, sent: dict[str, Any]) -> None:
    client = client_of(market, free_calls_per_minute=3)
    found = statuses(client, path, 6, **sent)
    assert 429 not in found[:3]
    assert found[3:] == [429] * 3


def test_paths_that_do_not_exist_count_against_a_valid_key(market: Any) -> None:
    client = client_of(market, free_calls_per_minute=2, key_calls_per_second=4)
    key = market.key(client)
    assert statuses(client, "/v1/price/XX", 3, headers=key) == [404] * 3
    assert client.get("/v1/price/gb", headers=key).status_code == 308
    assert client.get("/v1/zones").status_code == 200, "the address has its own calls"


def test_parameters_are_not_read_once_a_call_is_refused(market: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(market, free_calls_per_minute=1)
    assert client.get(BAD).status_code == 400
    monkeypatch.setattr(parameters, "values", lambda *_: pytest.fail("the parameters were read"))
    assert client.get(BAD).status_code == 429


def test_refused_calls_with_a_key_count_against_its_second_and_never_its_quota(market: Any) -> None:
    client = client_of(market, free_calls_per_minute=2, key_calls_per_second=3)
    key = market.key(client)
    assert statuses(client, BAD, 5, headers=key) == [400] * 3 + [429] * 2
    refused = client.get(PATH, headers=key)
    assert (refused.status_code, refused.headers["RateLimit-Policy"]) == (429, '"second";q=3;w=1')
    assert client.get("/v1/usage", headers=key).json["quota"]["used"] == 0
    assert client.get(PATH).status_code == 402, "the address has its own calls"


def test_an_address_out_of_free_calls_is_served_with_a_valid_key(market: Any) -> None:
    client = client_of(market, free_calls_per_minute=2)
    key = market.key(client)
    assert statuses(client, BAD, 3) == [400, 400, 429]
    assert client.get(PATH, headers=key).status_code == 200
    assert client.get(BAD, headers=key).status_code == 400
    unknown = {"X-API-Key": "emds_" + "0" * 43}
    assert client.get(PATH, headers=unknown).status_code == 429


def test_more_than_100_parameters_are_one_fault(shared_market: Any) -> None:
    client = shared_market.client()
    for path in ("/v1/price/GB", "/v1/zones", "/v1/geo/zones"):
        body = client.get(f"{path}?{'&'.join(f'p{i}=1' for i in range(MOST_PARAMETERS + 1))}").json
        assert (body["status"], "at most 100 parameters" in body["detail"], "errors" in body) == (400, True, False)
    listed = client.get(f"{PATH}?{'&'.join(f'p{i}=1' for i in range(MOST_PARAMETERS))}").json["errors"]
    assert len(listed) == MOST_FAULTS


def test_only_the_first_three_faults_have_a_hint(shared_market: Any) -> None:
    body = shared_market.client().get(f"{PATH}?{'&'.join(f'start{i}=1' for i in range(30))}").json
    hinted = ["did you mean start?" in fault["detail"] for fault in body["errors"]]
    assert hinted == [True] * 3 + [False] * (MOST_FAULTS - 3)


OTHER_NAMES = {
    "api_key=emds_x": "do not send a key in the URL. Send the key as `Authorization: Bearer emds_...`",
    "key=emds_x": "do not send a key in the URL",
    "token=emds_x": "do not send a key in the URL",
    "access-token=emds_x": "do not send a key in the URL",
    "from=2026-11-20": "use start=-24h or start=2026-11-20",
    "to=2026-11-20": "use end=now or end=2026-11-21",
    "date=2026-11-20": "use start=2026-11-20&end=2026-11-21",
    "days=7": "use start=-7d",
    "last=24h": "use start=-7d",
    "hours=24": "use start=-7d",
    "tz=Europe/Paris": "use time=local",
    "resolution=1h": "use interval=1h",
    "page=2": "use cursor with the value of `next`",
}


@pytest.mark.parametrize("query", OTHER_NAMES)
def test_a_name_from_another_service_points_to_ours(shared_market: Any, query: str) -> None:
    refused = shared_market.client().get(f"{PATH}?{query}")
    assert refused.status_code == 400
    assert OTHER_NAMES[query] in refused.json["detail"]
    assert "emds_x" not in refused.text


def test_no_more_parameters_are_read_than_faults_are_listed() -> None:
    read = list[str]()

    def refuse(text: str) -> None:
        read.append(text)
        raise ValueError("is not allowed")

    known = {f"p{i}": Parameter(f"p{i}", "", refuse, {}) for i in range(60)}
    with pytest.raises(parameters.Problem):
        parameters.values(known, parameters.MultiDict((name, name) for name in known))
    assert len(read) == MOST_FAULTS


def test_a_long_accept_header_is_read_in_part() -> None:
    """Check the bound on work. The time limit only guards against a parser whose cost grows with the square."""
    began = time.process_time()
    assert accepted(",".join(f"a/b{i};q=0.{i % 9 + 1}" for i in range(500)), ("text/csv",)) is None
    assert time.process_time() - began < 0.05
    near = ",".join(["a/b"] * (MOST_RANGES - 1))
    assert accepted(f"{near},text/csv", ("text/csv",)) == "text/csv"
    assert accepted(f"{near},a/b,text/csv", ("text/csv",)) is None
