"""Test on every path that each operation lists exactly its errors and describes its response headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.endpoints.endpoint import Endpoint
from api.endpoints.table import ENDPOINTS
from api.openapi.document import example_call

Asked = Callable[..., int]
PROVOKED: dict[int, Callable[[Asked, Endpoint], int]] = {
    400: lambda ask, e: ask(query="?nonsense=1"),
    401: lambda ask, e: ask(headers={"Authorization": "Bearer emds_wrong"}),
    402: lambda ask, e: ask(),
    405: lambda ask, e: ask(method="PATCH"),
    406: lambda ask, e: ask(headers={"Accept": "image/png"}),
    # Every path refuses a body that is too long. The error is described only where a body is accepted.
    413: lambda ask, e: ask(data=b"x" * 3_000_000) if e.body else 0,
    414: lambda ask, e: ask(query="?x=" + "a" * 20_000),
    415: lambda ask, e: ask(data=b"x", headers={"Content-Type": "text/plain"}, signed=bool(e.body)),
    429: lambda ask, e: [ask(limited=True, **_body(e)) for _ in range(3)][-1],
}


def _with(path: str, query: str) -> str:
    return path + (query.replace("?", "&", 1) if "?" in path else query)


def _body(endpoint: Endpoint) -> dict[str, Any]:
    return {"json": {"email": "reader@example.org"}} if endpoint.id == "sign-up" else {}


@pytest.fixture(scope="module")
def clients(shared_everywhere: Any) -> tuple[FlaskClient, FlaskClient, dict[str, str]]:
    client = shared_everywhere.client()
    limited = shared_everywhere.client(free_calls_per_minute=1, signups_per_hour=1, sample_calls_per_day=1)
    return client, limited, shared_everywhere.key(client)


_OF_HTTP = {"Content-Type", "Content-Length", "X-Content-Type-Options"}
"""Headers of every response that say nothing specific to this service. CORS headers are for browsers."""


@pytest.mark.parametrize("now", ["2026-03-30T12:10:00Z", "2026-04-02T12:10:00Z"])
def test_each_header_of_an_answer_is_described(clients: Any, monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    """Include stale and compressed responses."""
    client, _, key = clients
    described = client.get("/openapi.json").get_json()["paths"]
    monkeypatch.setenv("EMDS_NOW", now)
    wrong, stale = [], set()
    for endpoint in (each for each in ENDPOINTS.values() if each.method == "GET"):
        answer = client.get(example_call(endpoint), headers={**key, "Accept-Encoding": "gzip"})
        if answer.status_code != 200:
            continue
        names = {name for name in dict(answer.headers) if not name.startswith("Access-Control-")} - _OF_HTTP
        told = described[endpoint.path]["get"]["responses"]["200"]["headers"]
        wrong += [(endpoint.path, name) for name in names if name.lower() not in {known.lower() for known in told}]
        stale |= {endpoint.path} if "X-EMDS-Stale" in names else set()
    assert not wrong
    assert now < "2026-04" or stale >= {"/v1/geo/live", "/v1/geo/live/{zone}", "/v1/latest/{zone}"}


def test_each_error_is_listed_where_it_is_given_and_nowhere_else(clients: Any) -> None:
    client, limited_client, key = clients
    described = client.get("/openapi.json").get_json()["paths"]
    wrong = []
    for endpoint in ENDPOINTS.values():

        def ask(
            query: str = "",
            method: str = endpoint.method,
            limited: bool = False,
            signed: bool = False,
            headers: dict[str, str] | None = None,
            path: str = example_call(endpoint),
            **body: Any,
        ) -> int:
            sent = {**(key if signed else {}), **(headers or {})}
            return (
                (limited_client if limited else client)
                .open(_with(path, query), method=method, headers=sent, **body)
                .status_code
            )

        listed = described[endpoint.path][endpoint.method.lower()]["responses"]
        for status, provoke in PROVOKED.items():
            given = provoke(ask, endpoint) == status
            if given != (str(status) in listed):
                wrong.append(f"{endpoint.id}: {status} is {'given, not listed' if given else 'listed, never given'}")
    assert not wrong, "\n".join(wrong)
