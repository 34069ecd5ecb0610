"""A worker's threads keep to one core, which is chosen apart from its siblings' and left where others need it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http import worker_core
from api.http.worker_core import Ticks
from tests.bench.servers import ROOT

STAT = """\
cpu  100 0 100 1800 0 0 0 0 0 0
cpu0 10 20 30 400 50 6 7 8 900 0
cpu1 0 0 0 100 0 0 0 0 0 0
cpu12 1 0 0 0 0 0 0 0 0 0
intr 5 cpu0
"""
FEW = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a machine of one core has none to choose from")
MOVED = """
import contextlib, os, sys, threading, time
from api.http import worker_core
from api.http.worker_core import Ticks

cores = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, cores)
waiting = threading.Event()
threading.Thread(target=waiting.wait, daemon=True).start()
worker_core._LOOK_S = 0.02
looked = 0

def ticks_now(of):
    # One core is taken by others for good, the other is free.
    global looked
    looked += 1
    return {cores[0]: Ticks(100 * looked, 100 * looked), cores[1]: Ticks(0, 100 * looked)}

def bound():
    found = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
            found.add(tuple(os.sched_getaffinity(int(thread))))
    return found

def until(wanted):
    deadline = time.monotonic() + 30
    while bound() != wanted:
        assert time.monotonic() < deadline, bound()
        time.sleep(0.01)

worker_core._ticks_now = ticks_now
worker_core.keep_to_one(0, [])
until({(cores[1],)})
own = next(thread for thread in threading.enumerate() if thread.name == "own core")
for thread in os.listdir("/proc/self/task"):
    with contextlib.suppress(ProcessLookupError):
        os.sched_setaffinity(int(thread), {cores[0]})
own.join(30)
assert not own.is_alive()
print(bound() == {(cores[0],)})
"""


def alone(cores: set[int] | list[int]) -> dict[int, int]:
    """Cores of one thread each."""
    return {core: core for core in sorted(cores)}


@given(st.sets(st.integers(0, 63), min_size=1), st.lists(st.integers(0, 63)), st.integers(0, 10**6))
def test_the_core_is_one_that_the_fewest_siblings_hold(cores: set[int], held: list[int], number: int) -> None:
    chosen = worker_core.choose(alone(cores), held, number)
    assert chosen in cores
    assert all(held.count(chosen) <= held.count(core) for core in cores)


def test_workers_that_start_at_the_same_moment_choose_apart() -> None:
    assert {worker_core.choose(alone([2, 3, 5]), [], number) for number in (7, 8, 9)} == {2, 3, 5}


@pytest.mark.parametrize("pairs", ["0-1 2-3 4-5 6-7", "0,4 1,5 2,6 3,7"])
@pytest.mark.parametrize("together", [True, False])
def test_four_workers_take_four_physical_cores_before_the_second_thread_of_one(
    tmp_path: Path, pairs: str, together: bool
) -> None:
    for pair in pairs.split():
        for core in re.split("[-,]", pair):
            listed = tmp_path / f"cpu{core}" / "topology" / "thread_siblings_list"
            listed.parent.mkdir(parents=True)
            listed.write_text(f"{pair}\n")
    physical = worker_core.physical_cores(range(8), tmp_path)
    for begun in range(100):
        held: list[int] = []
        for number in range(4):
            held.append(worker_core.choose(physical, [] if together else held, begun * 7 + number))
        assert len({physical[core] for core in held}) == 4
        held += [worker_core.choose(physical, held, begun)]
        assert len({*held}) == 5


@pytest.mark.parametrize("begun", range(5))
def test_physical_cores_of_one_thread_and_of_two_are_all_taken(begun: int) -> None:
    physical = {0: 0, 1: 1, 3: 3, 2: 0}
    chosen = [worker_core.choose(physical, [], begun + number) for number in range(3)]
    assert {physical[core] for core in chosen} == {0, 1, 3}


def test_cores_whose_threads_are_not_told_stand_alone(tmp_path: Path) -> None:
    (tmp_path / "cpu1" / "topology").mkdir(parents=True)
    (tmp_path / "cpu1" / "topology" / "thread_siblings_list").write_text("?\n")
    assert worker_core.physical_cores([3, 1], tmp_path) == {1: 1, 3: 3}


@pytest.mark.parametrize(
    ("own", "busy", "wanted"),
    [
        (0.5, {0: 1.0, 1: 0.0, 2: 0.1}, 1),
        (0.5, {0: 1.0, 1: 0.25, 2: 0.1}, 2),
        (0.5, {0: 1.0, 1: 0.4}, None),  # there is as much to do there
        (1.0, {0: 1.0, 1: 0.0}, None),  # it has its core to itself
        (0.0, {0: 0.29, 1: 0.0}, None),
        (0.5, {0: 1.0}, None),
        (0.5, {1: 0.0}, None),  # nothing is known of its own core
        (0.5, {}, None),
    ],
)
def test_a_worker_moves_to_where_others_leave_more_room(own: float, busy: dict[int, float], wanted: int | None) -> None:
    assert worker_core.roomier(0, own, busy) == wanted


def test_ticks_are_those_of_the_cores_asked_for_without_idle_ones_and_guests() -> None:
    assert worker_core.ticks(STAT, [0, 1, 2]) == {0: Ticks(81, 531), 1: Ticks(0, 100)}


def test_a_part_is_of_the_time_that_passed() -> None:
    before = {0: Ticks(100, 1000), 1: Ticks(5, 5), 2: Ticks(7, 7)}
    after = {0: Ticks(150, 1200), 1: Ticks(5, 5), 2: Ticks(9, 9)}
    assert worker_core.taken(before, after, alone([0, 1, 2])) == {0: 0.25, 2: 1.0}


def test_a_busy_twin_takes_half_a_core() -> None:
    before, after = {core: Ticks(0, 0) for core in range(4)}, {core: Ticks(50 * core, 100) for core in range(3)}
    after[3] = Ticks(0, 100)
    assert worker_core.taken({**before, 4: Ticks(0, 0)}, after, {0: 0, 1: 0, 2: 2, 3: 2, 4: 4}).keys() == {*range(4)}
    assert worker_core.taken(before, after, {0: 0, 1: 0, 2: 2, 3: 2}) == {0: 0.25, 1: 0.5, 2: 1.0, 3: 0.5}


@pytest.mark.slow
@FEW
def test_all_threads_move_together_until_somebody_else_binds_them() -> None:
    done = subprocess.run([sys.executable, "-c", MOVED], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr


def test_a_move_binds_each_thread_once_so_that_what_others_bind_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, more = [], iter([["1", "2"], ["1", "2", "3"], ["1", "3"], ["1"]])
    monkeypatch.setattr(os, "listdir", lambda _: next(more))
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, cores: told.append((thread, cores)))
    worker_core._bind(5)
    assert sorted(told, key=str) == [(1, {5}), (2, {5}), (3, {5})]


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "3200000 100000\n"}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "250000\n"}, 8),
        ({"cpu.max": ""}, 8),
        ({"cpu.max": "100000 0\n"}, 8),
        ({"cpu.max": f"1{'0' * 400} 1\n"}, 8),
        ({}, 8),
        # Without a namespace of its own a group lies below: /proc/self/cgroup says where, and each above it counts.
        ({"own": "0::/system.slice/emds.service\n", "system.slice/emds.service/cpu.max": "200000 100000\n"}, 2),
        ({"own": "0::/a/b\n", "a/cpu.max": "100000 100000\n", "a/b/cpu.max": "300000 100000\n"}, 1),
        ({"own": "0::/a/b\n", "a/cpu.max": "max 100000\n", "a/b/cpu.max": "300000 100000\n"}, 3),
        ({"own": "0::/a\n", "b/cpu.max": "100000 100000\n"}, 8),
        (
            {
                "own": "12:memory:/a\n4:cpu,cpuacct:/a/b\n0::/c\n",
                "cpu/a/b/cpu.cfs_quota_us": "300000\n",
                "cpu/a/b/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        ({"own": "0::/\n", "cpu.max": "200000 100000\n"}, 2),
        ({"own": "what is this\n", "cpu.max": "200000 100000\n"}, 2),
        ({"own": "", "cpu.max": "200000 100000\n"}, 2),
    ],
)
def test_a_quota_of_cpu_time_bounds_the_cores_that_may_be_used(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_core.os, "sched_getaffinity", lambda _: set(range(8)))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert worker_core.usable(tmp_path, tmp_path / "own") == cores


@pytest.mark.slow
@FEW
def test_there_are_as_many_workers_as_cores_may_be_used() -> None:
    program = "import os, runpy; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); " + (
        "print(runpy.run_path('api/gunicorn.conf.py')['workers'])"
    )
    environ = {name: value for name, value in os.environ.items() if name != "WEB_CONCURRENCY"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "1\n", done.stderr


@pytest.mark.slow
@FEW
@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("_bind", PermissionError(1, "forbidden")),
        ("_bind", AttributeError("sched_setaffinity")),
        ("_look_on", RuntimeError("can't start new thread")),
    ],
)
def test_what_keeps_a_worker_from_its_core_does_not_keep_it_from_serving(
    monkeypatch: pytest.MonkeyPatch, call: str, fault: Exception
) -> None:
    tried = []

    def refuse(*_: Any, **__: Any) -> None:
        tried.append(call)
        raise fault

    monkeypatch.setattr(worker_core, "_bind", refuse if call == "_bind" else lambda _: None)
    if call == "_look_on":
        monkeypatch.setattr(threading.Thread, "start", refuse)
    worker_core.keep_to_one(0, [])
    assert tried


@pytest.mark.slow
@FEW
def test_every_thread_of_a_served_worker_is_on_its_core(market: Any, serve: Any) -> None:
    served = serve(market, WEB_CONCURRENCY="2")
    deadline = time.monotonic() + 60
    while [len(cores_of(worker)) for worker in served.workers()] != [1, 1]:  # one of the two may still be starting
        assert time.monotonic() < deadline
        time.sleep(0.1)


def cores_of(worker: int) -> set[int]:
    cores: set[int] = set()
    for thread in Path(f"/proc/{worker}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            cores |= os.sched_getaffinity(int(thread.name))
    return cores
