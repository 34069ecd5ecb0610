"""Test that hostile requests get a documented 4xx or a closed connection, and that the worker survives."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.api.gunicorn_server import Served, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
DOCUMENTED = {400, 401, 402, 404, 405, 406, 409, 413, 414, 415, 417, 422, 429, 431, 501}
_POST = b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


def exchange(port: int, request: bytes, wait: float = 10.0) -> bytes:
    """Send bytes on a new connection. Return everything received until it is closed or silent for `wait` seconds."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        answer = b""
        with contextlib.suppress(OSError):
            connection.sendall(request)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answer += part
        return answer


def statuses(answer: bytes) -> list[int]:
    """Return the status of each response on a connection."""
    return [int(line.split()[1]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.")]


def get(target: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join(
        [b"GET " + target + b" HTTP/1.1", b"Host: emds.example", b"Connection: close", *headers, b"", b""]
    )


def post(body: bytes, path: bytes = b"/v1/keys/signup") -> bytes:
    head = [
        b"POST " + path + b" HTTP/1.1",
        b"Host: emds.example",
        b"Connection: close",
        b"Content-Type: application/json",
    ]
    return b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])


REQUESTS = {
    "path traversal": get(b"/v1/price/../../../../etc/passwd"),
    "encoded traversal": get(b"/v1/price/%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    "NUL in the path": get(b"/v1/price/GB%00.json"),
    "NUL in a value": get(b"/v1/price/GB?start=%00"),
    "overlong UTF-8": get(b"/v1/price/%c0%ae%c0%ae/GB"),
    "broken escapes": get(b"/v1/price/%zz%1"),
    "a URL of 100 kB": get(b"/v1/price/GB?start=" + b"1" * 100_000),
    "a URL just below gunicorn's bound": get(b"/v1/price/GB?start=" + b"1" * 8_050),
    "100,000 parameters": get(b"/v1/price/GB?" + b"&".join(b"p%d=1" % i for i in range(100_000))),
    "as many parameters as a URL holds": get(b"/v1/price/GB?" + b"a&" * 3_900),
    "duplicate parameters": get(b"/v1/price/GB?limit=1&limit=2&limit=3"),
    "SQL": get(b"/v1/price/GB'%20OR%201=1--"),
    "a header of 100 kB": get(b"/v1/zones", b"X-Long: " + b"x" * 100_000),
    "1,000 headers": get(b"/v1/zones", *[b"X-%d: 1" % i for i in range(1_000)]),
    "a header with NUL": get(b"/v1/zones", b"X-Nul: a\0b"),
    "a header without colon": get(b"/v1/zones", b"nonsense"),
    "a folded header": get(b"/v1/zones", b"X-Fold: a", b" b"),
    "a space before the colon": get(b"/v1/zones", b"Content-Length : 0"),
    "two lengths": get(b"/v1/zones", b"Content-Length: 0", b"Content-Length: 5"),
    "a length and chunks": _POST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + b"GET /v1/zones HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "a disguised encoding": b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a length that is no number": get(b"/v1/zones", b"Content-Length: 1e3"),
    "a length with a sign": get(b"/v1/zones", b"Content-Length: +3"),
    "broken chunks": _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    "no version": b"GET /v1/zones\r\n\r\n",
    "a wrong version": b"GET /v1/zones HTTP/9.9\r\nHost: a\r\n\r\n",
    "no method": b" / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a strange method": b"GE\x00T /v1/zones HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS": bytes.fromhex("16030100f0010000ec0303") + b"\0" * 200,
    "noise": bytes(range(256)) * 20,
    "a proxy's request": get(b"http://evil.example/v1/price/XX"),
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a deep JSON body": post(b"[" * 4000),
    "no JSON": post(b"\xff\xfe\xfd"),
    "header injection": get(b"/v1/price/GB?start=1%0d%0aX-Injected:%20yes"),
    "a request id that splits lines": get(b"/v1/price/XX", b"X-Request-Id: a%0d%0ab"),
    "a forged key": get(b"/v1/price/GB", b"Authorization: Bearer emds_" + b"A" * 43),
    "a bearer of bytes": get(b"/v1/price/GB", b"Authorization: Bearer \xff\xfe"),
    "traversal in a month": get(b"/v1/bulk/price/GB/..%2f..%2fmode.parquet"),
    "1,000 ranges": get(b"/v1/bulk/price/GB/2026-03.parquet", b"Range: bytes=" + b",".join([b"0-1"] * 1_000)),
    "hours beyond all numbers": get(b"/v1/windows/DE-LU?hours=1e309"),
    "a threshold of digits": get(b"/v1/demand/GB?stats=true&above=" + b"9" * 5_000),
    "NUL in a cursor of changes": get(b"/v1/changes?since=%00"),
    "a deep subscription": post(b'{"url": ' + b"[" * 4000, b"/v1/webhooks"),
    "a payment of noise": get(b"/v1/price/GB", b"PAYMENT-SIGNATURE: " + b"!" * 5_000),
}


@pytest.fixture(scope="module")
def served(shared_market: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield one server for all requests. A request that stops it fails every later test."""
    with serving(tmp_path_factory.mktemp("served")) as start:
        yield start(shared_market)


def alive(served: Any) -> bool:
    """Check whether the server still responds."""
    return requests.get(f"{served.url}/v1/zones", timeout=20).status_code == 200


def test_hostile_requests_get_a_documented_4xx_or_nothing(served: Any) -> None:
    workers = served.workers()
    for name, request in REQUESTS.items():
        answer = exchange(served.port, request)
        codes = statuses(answer)
        assert set(codes) <= DOCUMENTED, f"{name}: {codes} {answer[:300]!r}"
        assert b"<html" not in answer.lower(), name
        assert b"Traceback" not in answer, name
        assert b"root:" not in answer, name
        assert not any(line.lower().startswith(b"x-injected") for line in answer.split(b"\r\n")), name
        for part in answer.split(b"\r\n\r\n")[1:]:
            if part.startswith(b"{"):
                assert json.loads(part.split(b"HTTP/1.1")[0]), name
        assert alive(served), name
    assert served.workers() == workers, "no worker was replaced"
    assert "Traceback" not in served.log.read_text()


@pytest.mark.parametrize("hosts", [b"", b"Host:\r\n", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nHost: a\r\n"])
def test_a_request_has_exactly_one_host(served: Any, hosts: bytes) -> None:
    request = b"GET /v1/zones HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n"
    assert statuses(exchange(served.port, request)) == [400]


def test_what_is_refused_unread_ends_the_connection_and_says_so(served: Any) -> None:
    long = b"GET /v1/zones HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"
    signup = _POST + b"Content-Length: 20000\r\n\r\n" + b"x" * 5000
    for head in (long, signup):
        began = time.monotonic()
        answer = exchange(served.port, head)
        assert statuses(answer) == [413]
        assert b"\r\nconnection: close\r\n" in answer.lower()
        assert time.monotonic() - began < 8, "answered without waiting for the rest of the body"


def test_a_get_with_a_body_does_not_start_another_request(served: Any) -> None:
    smuggled = b"GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n"
    request = b"GET /v1/price/XX HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(smuggled) + smuggled
    assert statuses(exchange(served.port, request)) == [404]


def test_a_client_that_reads_nothing_holds_up_nobody(served: Any) -> None:
    unread = []
    for _ in range(20):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(b"GET /docs HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
        unread.append(connection)
    time.sleep(1)
    assert alive(served)
    for connection in unread:
        connection.close()
    assert alive(served)


def test_the_log_of_what_could_not_be_read_holds_no_secret(served: Any) -> None:
    key = b"emds_" + b"Zz9" * 14 + b"Q"
    exchange(served.port, get(b"/v1/zones", b"Authorization: Bearer " + key + b"\0"))
    exchange(served.port, get(b"/v1/zones", b"Authorization Bearer " + key))
    exchange(served.port, get(b"/v1/zones", b"X-Mail reader@example.org"))
    text = served.log.read_text()
    assert "Invalid request" in text
    assert key.decode() not in text
    assert "reader@example.org" not in text


def test_a_body_that_ends_early_is_400_and_no_key_is_made(served: Any) -> None:
    port = served.port
    body = b'{"email": "a@example.org"}'
    head = b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    text = exchange(port, head + b"Content-Length: 400\r\n\r\n" + body)
    assert statuses(text) == [400]
    assert b"api_key" not in text
    assert statuses(exchange(port, head + b"Transfer-Encoding: chunked\r\n\r\n1a\r\n" + body)) in ([400], [])


def test_garbage_for_chunks_is_400_at_mcp_and_no_traceback(served: Any) -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for garbage in (b"zz\r\nabc\r\n", b"5\r\nabc", b"5\r\nabcdefgh\r\n0\r\n\r\n"):
        assert statuses(exchange(served.port, head + garbage)) == [400]
    assert "Traceback" not in served.log.read_text()


def test_a_request_without_host_is_400_and_every_answer_says_nosniff(served: Any) -> None:
    port = served.port
    closing = b"Connection: close\r\n\r\n"
    without = exchange(port, b"GET /healthz HTTP/1.1\r\n" + closing)
    assert statuses(without) == [400]
    assert b"/problems/missing-host" in without
    assert statuses(exchange(port, b"GET /healthz HTTP/1.0\r\n\r\n")) == [200]
    for request in (
        b"GET /healthz HTTP/1.1\r\nHost: a\r\n",
        b"GET /nowhere HTTP/1.1\r\nHost: a\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: a\r\n",
        b"OPTIONS /v1/zones HTTP/1.1\r\nHost: a\r\n",
        b"nonsense\r\n",
        b"GET /healthz HTTP/1.1\r\n",
    ):
        assert exchange(port, request + closing).lower().count(b"x-content-type-options: nosniff") == 1, request
