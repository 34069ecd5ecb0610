"""Connections on the wire: spread over workers, bounded by address, shed with 503; broken heads and bodies."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.http import connections
from api.http.connections import MOST_OF_AN_ADDRESS, OpenConnections
from tests.api.test_hostile import exchange, statuses
from tests.stand_ins.receiver import patient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
KEPT = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answer(client: socket.socket) -> bytes:
    """The next answer, to the end of its header."""
    text = b""
    while b"\r\n\r\n" not in text and (part := client.recv(4096)):
        text += part
    return text


def open_connections(worker: int, port: int) -> int:
    """How many connections to a port a process holds, by its open files."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    inodes = {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"}
    links = []
    for entry in Path(f"/proc/{worker}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(entry))
    return sum(link.removeprefix("socket:[").removesuffix("]") in inodes for link in links)


def port_of(served: Any) -> int:
    port = urlsplit(served.url).port
    assert port is not None
    return port


def test_clients_that_keep_their_connections_are_spread_over_the_workers(market: Any, serve: Any) -> None:
    served = serve(market, WEB_CONCURRENCY="2")
    port, workers = port_of(served), served.workers()
    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while min(counts := spread(port, workers)) < 6:  # one of the two may still be starting
        assert time.monotonic() < deadline, counts
        time.sleep(0.2)


def spread(port: int, workers: list[int]) -> list[int]:
    """How many of 16 connections, each used and kept, every worker holds."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(port)) for _ in range(16)]
        for client in clients:
            client.sendall(KEPT)
            assert b" 200 " in answer(client)
        return [open_connections(worker, port) for worker in workers]


def test_an_address_has_a_bound_of_connections_and_a_further_one_is_told_when_to_come(market: Any, serve: Any) -> None:
    served = serve(market)
    port = port_of(served)
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_OF_AN_ADDRESS):
            stack.enter_context(connected(port))
        deadline = time.monotonic() + 20
        while open_connections(served.workers()[0], port) < MOST_OF_AN_ADDRESS:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        text = exchange(port, KEPT)
        assert statuses(text) == [503]
        assert b"Retry-After: 1\r\n" in text
        assert b"/problems/overloaded" in text
    closing = KEPT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert patient(lambda: statuses(exchange(port, closing)) == [200])


def test_a_full_queue_answers_503(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for gunicorn's worker: what is queued, what is refused, and that counts go down again."""
    monkeypatch.setattr(connections, "MOST_WAITING", 3)
    worker = Worker()
    connections.share_and_shed(worker, OpenConnections(), b"HTTP/1.1 503 Overloaded\r\n\r\n", ())
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(listener.getsockname()[1])) for _ in range(5)]
        for _ in clients:
            worker.accept(listener)
        assert len(worker.queued) == 3
        assert worker.nr_conns == 3
        for client in clients[3:]:
            assert answer(client).startswith(b"HTTP/1.1 503")
        for connection in worker.queued:
            worker.handle(connection)
            connection.close()
        worker.queued.clear()
        clients.append(stack.enter_context(connected(listener.getsockname()[1])))
        worker.accept(listener)
        assert len(worker.queued) == 1
        worker.queued[0].close()


class Worker:
    """The attributes of a gunicorn worker that `share_and_shed` uses."""

    def __init__(self) -> None:
        self.age, self.pid, self.nr_conns, self.cfg = 1, os.getpid(), 0, None
        self.queued: list[Any] = []

    def enqueue_req(self, connection: Any) -> None:
        self.queued.append(connection)

    def handle(self, connection: Any) -> bool:
        return False

    def accept(self, listener: Any) -> None:
        raise AssertionError("replaced")


def test_a_worker_leaves_connections_to_one_that_has_fewer_but_not_for_long() -> None:
    shared, worker = OpenConnections(), Worker()
    shared.note(2, 99_999, 0)
    worker.nr_conns = 5
    connections.share_and_shed(worker, shared, b"", ())
    with socket.create_server(("127.0.0.1", 0)) as listener, connected(listener.getsockname()[1]):
        for _ in range(4):
            worker.accept(listener)
        assert not worker.queued, "left to the other worker, which is less busy"
        worker.accept(listener)
        assert len(worker.queued) == 1, "the other worker does not take it, so this one does"
        worker.queued[0].close()
    shared.leave(99_999)
    assert shared.least_of_others(worker.pid) is None


def test_a_body_that_ends_early_is_400_and_no_key_is_made(market: Any, serve: Any) -> None:
    port = port_of(serve(market))
    body = b'{"email": "a@example.org"}'
    head = b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    text = exchange(port, head + b"Content-Length: 400\r\n\r\n" + body)
    assert statuses(text) == [400]
    assert b"api_key" not in text
    assert statuses(exchange(port, head + b"Transfer-Encoding: chunked\r\n\r\n1a\r\n" + body)) in ([400], [])


def test_garbage_for_chunks_is_400_at_mcp_and_no_traceback(market: Any, serve: Any) -> None:
    served = serve(market)
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for garbage in (b"zz\r\nabc\r\n", b"5\r\nabc", b"5\r\nabcdefgh\r\n0\r\n\r\n"):
        assert statuses(exchange(port_of(served), head + garbage)) == [400]
    assert "Traceback" not in served.log.read_text()


def test_a_request_without_host_is_400_and_every_answer_says_nosniff(market: Any, serve: Any) -> None:
    port = port_of(serve(market))
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
