"""Test a worker's connections and cores: threads yield to waiting clients, and a few open files are enough."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from api.http import web_server
from orchestration.servers import serve as verb
from tests.stand_ins.receiver import patient


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def connection_of(sock: socket.socket, read_ahead: bytes = b"") -> Any:
    unreader = SimpleNamespace(buf=io.BytesIO(read_ahead))
    return SimpleNamespace(sock=sock, parser=SimpleNamespace(unreader=unreader))


def reading(most: int) -> tuple[Callable[[Any], bool], list[bytes]]:
    """Return `handle`, which reads a byte per request and keeps the connection until `most` are read, and the bytes."""
    read: list[bytes] = []

    def handle(connection: Any) -> bool:
        read.append(connection.sock.recv(1))
        return len(read) < most

    return handle, read


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
        pool.submit(over.wait)  # waits for the only thread
        worker.handle(connection_of(ours))
        over.set()
    assert read == [b"a", b"b", b"c", b"d"]


FEW = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")


@pytest.mark.parametrize(
    ("text", "count"),
    [("50000 100000", 1), ("150000 100000", 2), ("max 100000", 8), ("0 100000", 1), (f"1{'0' * 400} 1", 8), (None, 8)],
)
def test_a_quota_of_cpu_time_bounds_the_cores(
    text: str | None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    if text is not None:
        (tmp_path / "cpu.max").write_text(f"{text}\n")
    assert web_server.usable_cores(tmp_path / "cpu.max") == count


@pytest.mark.slow
@FEW
def test_each_worker_keeps_to_a_core_of_its_own(market: Any, serve: Any) -> None:
    usable = len(os.sched_getaffinity(0))
    served = serve(market, WEB_CONCURRENCY="2")
    deadline = time.monotonic() + 60
    bound = [cores_of(worker) for worker in served.workers()]
    while {len(each) for each in bound} != {1} and time.monotonic() < deadline:  # one may still be starting
        time.sleep(0.1)
        bound = [cores_of(worker) for worker in served.workers()]
    assert len(set.union(*bound)) == min(2, usable)


def cores_of(worker: int) -> set[int]:
    """Return the cores of all threads."""
    found: set[int] = set()
    for thread in Path(f"/proc/{worker}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(int(thread.name))
    return found


@pytest.mark.slow
def test_more_clients_than_descriptors_end_no_worker(market: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = verb.command
    few = ["sh", "-c", 'ulimit -n 80; exec "$@"', "sh"]
    monkeypatch.setattr(verb, "command", lambda port: [*few, *command(port)])
    served = serve(market)
    [worker] = served.workers()
    clients = [socket.create_connection(("127.0.0.1", served.port), timeout=10) for _ in range(120)]
    assert patient(lambda: len(list(Path(f"/proc/{worker}/fd").iterdir())) > 25)
    for client in clients:
        client.close()
    assert requests.get(f"{served.url}/v1/zones", timeout=20).status_code == 200
    assert served.workers() == [worker]
    assert "few open files are allowed (ulimit -n): 12 connections a worker" in served.log.read_text()
