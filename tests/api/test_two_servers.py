"""gunicorn and granian give the same answers: status, headers and bytes of 120 requests of all kinds."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from api.endpoints.table import ENDPOINTS
from tests.api.conftest import Rig
from tests.api.gunicorn_server import Served

granian = pytest.importorskip("granian", reason="granian IS NOT INSTALLED: the two servers are not compared here")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SERVERS_OWN = {"date", "server", "connection", "keep-alive"}
Ask = tuple[str, str, dict[str, str], bytes]
PUBLIC = {"EMDS_BASE_URL": "https://emds.example"}
JSON = {"Content-Type": "application/json"}
WINDOW = "start=2026-03-29T00:00:00Z&end=2026-03-29T12:00:00Z"


def requests_of(key: str) -> Iterator[Ask]:
    """Method, path, headers and body of each request."""
    keyed = {"Authorization": f"Bearer {key}"}
    free = [each.path for each in ENDPOINTS.values() if each.method == "GET" and "{" not in each.path]
    series = ["price/GB", "demand/GB", "generation/GB", "price/DE-LU", "demand/US-NYISO", "price/XX", "price/GB,DE-LU"]
    for path in free:
        if path not in ("/healthz", "/metrics"):
            yield "GET", path, {}, b""
    for name, form in product(series, ("json", "csv", "parquet")):
        yield "GET", f"/v1/{name}?{WINDOW}&format={form}", keyed, b""
    for name, coding in product(series[:4], ("gzip", "br", "zstd")):
        yield "GET", f"/v1/{name}?sample=true", {"Accept-Encoding": coding}, b""
    for method, name in product(("HEAD", "OPTIONS", "PUT", "BREW"), ("/v1/zones", "/v1/price/GB", "/mcp", "/nowhere")):
        yield method, name, {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}, b""
    for name in ("/v1/price/GB", "/v1/latest/GB", "//v1/zones", "/v1/price/%00", "/v1/zones?" + "a" * 8100):
        yield "GET", name, {}, b""
        yield "GET", name, keyed | {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}, b""
    for payment in ("!", "e30=", "x" * 15_000):
        yield "GET", "/v1/price/GB", {"X-PAYMENT": payment}, b""
        yield "GET", "/v1/price/GB", {"PAYMENT-SIGNATURE": payment}, b""
    for layer, scope in product(("zones", "plants"), ("bytes=0-9", "bytes=-5", "bytes=99999999-", "lines=1-2")):
        yield "GET", f"/v1/geo/{layer}", {"Range": scope}, b""
    for tool, zone in product(("get_latest", "get_history"), ("GB", "XX")):
        call = {"name": tool, "arguments": {"zone": zone, "metric": "price"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
        yield "POST", "/mcp", JSON | keyed, body
    for body in (b"", b"{", b"[" * 3000, b'{"email": 7}', b"\xff", b"x" * 70_000, b"x" * 1_100_000):
        yield "POST", "/v1/keys/signup", JSON, body
        yield "POST", "/mcp", JSON, body


def answer_of(served: Served, ask: Ask, tag: str = "") -> tuple[Any, ...]:
    """Status, headers but for the server's own and the seconds until a limit's window ends, and body."""
    method, path, headers, body = ask
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    sent = headers | {"X-Request-Id": "the-same"} | ({"If-None-Match": tag} if tag else {})
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused by its length: the answer is there
            connection.request(method, path, body or None, sent)
        answer = connection.getresponse()
        fields = sorted(
            (name.lower(), re.sub(r";t=\d+", "", text) if name.lower() == "ratelimit" else text)
            for name, text in answer.getheaders()
            if name.lower() not in SERVERS_OWN
        )
        return answer.status, fields, answer.read()
    finally:
        connection.close()


def signed_up(served: Served) -> str:
    ask = ("POST", "/v1/keys/signup", JSON, b'{"email": "a@example.org"}')
    return str(json.loads(answer_of(served, ask)[2])["api_key"])


@pytest.fixture
def servers(shared_everywhere: Rig, serve: Callable[..., Served], tmp_path: Path) -> dict[str, Served]:
    accounts = {name: f"sqlite:///{tmp_path / name}.sqlite" for name in ("gunicorn", "granian")}
    return {name: serve(shared_everywhere, name, EMDS_DATABASE_URL=url, **PUBLIC) for name, url in accounts.items()}


def test_both_servers_give_the_same_answers(servers: dict[str, Served]) -> None:
    keys = {name: signed_up(served) for name, served in servers.items()}
    asks = {name: list(requests_of(key)) for name, key in keys.items()}
    assert len(asks["gunicorn"]) >= 120
    statuses = set()
    for first, second in zip(*asks.values(), strict=True):
        answers = [answer_of(served, ask) for served, ask in zip(servers.values(), (first, second), strict=True)]
        assert answers[0] == answers[1], (first[0], first[1][:100], first[3][:20])
        statuses.add(answers[0][0])
        tag = dict(answers[0][1]).get("etag")
        if tag and first[0] == "GET":
            again = [answer_of(s, a, tag) for s, a in zip(servers.values(), (first, second), strict=True)]
            assert again[0] == again[1], first[1]
            statuses.add(again[0][0])
    assert {200, 206, 304, 400, 402, 404, 405, 413, 414, 416} <= statuses


def test_both_servers_take_one_host_alone(servers: dict[str, Served]) -> None:
    for name, served in servers.items():
        for hosts in (b"", b"Host:\r\n", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nHost: a\r\n"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
                connection.sendall(b"GET /v1/zones HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n")
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 400 "), (name, hosts)


def test_slow_bodies_hold_a_quarter_of_granians_threads_at_most(
    shared_everywhere: Rig, serve: Callable[..., Served]
) -> None:
    served = serve(shared_everywhere, "granian")
    head = b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{"
    with contextlib.ExitStack() as stack:
        for _ in range(80):  # more than a worker has threads
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=20))
            slow.sendall(head)
        time.sleep(3)
        assert answer_of(served, ("GET", "/v1/zones", {}, b""))[0] == 200
        assert answer_of(served, ("POST", "/mcp", JSON, b"{}"))[0] == 503
    time.sleep(1)
    assert answer_of(served, ("POST", "/v1/keys/signup", JSON, b'{"email": "b@example.org"}'))[0] == 201
