"""A thread answers what a connection asks within a moment, and gives way where others wait or the worker ends."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from api.http import web_server
from api.http.web_server import serve_on


def free() -> bool:
    return False


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def connection_of(sock: socket.socket, read_ahead: bytes = b"") -> Any:
    unreader = SimpleNamespace(buf=io.BytesIO(read_ahead))
    return SimpleNamespace(sock=sock, parser=SimpleNamespace(unreader=unreader))


def reading(most: int) -> tuple[Callable[[Any], bool], list[bytes]]:
    """A `handle` that reads one byte as a request, and keeps the connection until `most` were read."""
    read: list[bytes] = []

    def handle(connection: Any) -> bool:
        read.append(connection.sock.recv(1))
        return len(read) < most

    return handle, read


def test_requests_that_are_there_are_answered_by_the_same_thread(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(b"abc")
    handle, read = reading(3)
    assert serve_on(SimpleNamespace(alive=True), connection_of(ours), handle, free) is False
    assert read == [b"a", b"b", b"c"]


def test_a_silent_connection_goes_back_to_the_poller(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "_MOMENT_MS", 1)
    ours, theirs = pair
    theirs.sendall(b"a")
    handle, read = reading(9)
    assert serve_on(SimpleNamespace(alive=True), connection_of(ours), handle, free) is True
    assert read == [b"a"]


@pytest.mark.parametrize(("alive", "waiting"), [(False, False), (True, True)])
def test_others_that_wait_and_the_worker_s_end_come_first(
    pair: tuple[socket.socket, socket.socket], alive: bool, waiting: bool
) -> None:
    ours, theirs = pair
    theirs.sendall(b"ab")
    handle, read = reading(9)
    assert serve_on(SimpleNamespace(alive=alive), connection_of(ours), handle, lambda: waiting) is True
    assert read == [b"a"]


def test_the_threads_of_a_worker_stay_with_their_clients_while_nobody_waits(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    theirs.sendall(b"abc")
    handle, read = reading(9)
    with ThreadPoolExecutor(1) as pool:
        worker = SimpleNamespace(alive=True, handle=handle, tpool=pool)
        web_server.stay_with_clients(worker)
        worker.handle(connection_of(ours))
        assert read == [b"a", b"b", b"c"]
        theirs.sendall(b"de")
        over = threading.Event()
        pool.submit(over.wait)
        pool.submit(over.wait)  # waits for the one thread
        worker.handle(connection_of(ours))
        over.set()
    assert read == [b"a", b"b", b"c", b"d"]
