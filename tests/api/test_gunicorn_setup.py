"""What is changed in a worker and in gunicorn: how often cycles are looked for, how answers are sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.http.wsgi import Response

from api.http import gunicorn_setup
from tests.bench.servers import ROOT, fetch, gunicorn, running
from tests.stand_ins.ports import free_port

_PROGRAM = """
import gc, sys
from api.http import gunicorn_setup

gunicorn_setup.hold_back_collector()
held_back = not gc.isenabled()
gunicorn_setup.collect_rarely()
kept = gc.get_freeze_count()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(info["generation"]) if phase == "start" else None)
held = [[] for _ in range(9_000)]
few = list(seen)
held = [[] for _ in range(12_000)]
print(held_back, kept > 5_000, len(few), len(seen) >= 1)
"""
_APPLICATION = """
import gc

def app(environ, start_response):
    start_response("200 OK", [])
    return [f"{held_back} {gc.isenabled()} {gc.get_freeze_count() > 5_000}".encode()]

held_back = not gc.isenabled()
"""
_RELOADED = """
import gc, runpy
from gunicorn import util
from gunicorn.http import wsgi

for _ in range(2):
    runpy.run_path("api/gunicorn.conf.py")
changed = wsgi.Response.write, util.close_graceful
print(gc.isenabled(), gc.get_threshold()[0], *(hasattr(each.__wrapped__, "__wrapped__") for each in changed))
"""


_PRODUCT = """
import os, runpy

runpy.run_path("api/gunicorn.conf.py")
import numpy

numpy.dot(numpy.ones(100_000), numpy.ones(100_000))
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.slow
def test_products_of_vectors_have_no_threads_that_would_spin_on_one_core() -> None:
    threads = {}
    for stated in ("", "3"):
        environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environ |= {"OPENBLAS_NUM_THREADS": stated} if stated else {}
        ran = subprocess.run(
            [sys.executable, "-c", _PRODUCT], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60
        )
        threads[stated] = int(ran.stdout)
    assert threads[""] == threads["3"] - min(2, len(os.sched_getaffinity(0)) - 1)  # no more than there are cores


@pytest.mark.slow
def test_what_stands_at_start_is_not_collected_and_what_comes_is_seldom() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["True", "True", "0", "True"]


@pytest.mark.slow
def test_a_worker_loads_without_looking_for_cycles_and_serves_with_it(tmp_path: Path) -> None:
    (tmp_path / "cycles.py").write_text(_APPLICATION)
    port = free_port()
    alone = {
        "WEB_CONCURRENCY": "1"
    }  # a second worker that still loads when it is told to end may keep the master for 30 s
    with running(gunicorn("cycles:app", port, "--pythonpath", str(tmp_path)), alone, f"http://127.0.0.1:{port}/"):
        assert fetch(f"http://127.0.0.1:{port}/")[0] == b"True True True"


@pytest.mark.slow
def test_a_master_that_reads_its_settings_again_is_as_before() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _RELOADED], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert ran.stdout.split() == ["True", "10000", "False", "False"]


class Wire:
    """Stands for a socket and keeps each piece that is sent."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def sendall(self, piece: bytes) -> None:
        self.pieces.append(piece)


def sent(method: str, headers: list[tuple[str, str]], *bodies: bytes) -> list[bytes]:
    """What gunicorn sends of an answer, piece by piece, without its date."""
    wire, request = Wire(), SimpleNamespace(version=(1, 1), method=method, should_close=lambda: False)
    response: Any = Response(request, wire, SimpleNamespace())
    response.start_response("200 OK", headers)
    for body in bodies:
        response.write(body)
    response.close()
    assert response.sock is wire
    return [b"\r\n".join(line for line in piece.split(b"\r\n") if b"Date: " not in line) for piece in wire.pieces]


LONG = b"x" * 70_000
ANSWERS = [
    ("GET", [("Content-Length", "5")], (b"hello",), 1),
    ("GET", [("Content-Length", "5")], (b"he", b"llo"), 2),
    ("GET", [("Content-Length", "0")], (), 1),
    ("HEAD", [("Content-Length", "5")], (b"hello",), 1),
    ("GET", [], (b"hello",), 2),
    ("GET", [("Content-Length", "70000")], (LONG,), 2),
]


@pytest.mark.parametrize(("method", "headers", "bodies", "pieces"), ANSWERS)
def test_a_short_answer_is_sent_in_one_piece_with_the_same_bytes(
    method: str, headers: list[tuple[str, str]], bodies: tuple[bytes, ...], pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sent(method, headers, *bodies)
    monkeypatch.setattr(Response, "write", Response.write)  # put back at the end
    gunicorn_setup.send_short_answers_whole()
    whole = sent(method, headers, *bodies)
    assert b"".join(whole) == b"".join(plain)
    assert len(whole) == pieces
