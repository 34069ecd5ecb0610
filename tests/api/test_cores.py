"""How many cores a process may use, how many workers there are then, and that each keeps to one."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from api.http import web_server

FEW = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "0 100000\n"}, 1),
        ({"cpu.max": f"1{'0' * 400} 1\n"}, 8),
        ({}, 8),
        # Without a namespace of its own a group lies below: /proc/self/cgroup says where, and each above it counts.
        ({"own": "0::/system.slice/emds.service\n", "system.slice/emds.service/cpu.max": "200000 100000\n"}, 2),
        ({"own": "0::/a/b\n", "a/cpu.max": "100000 100000\n", "a/b/cpu.max": "300000 100000\n"}, 1),
        ({"own": "0::/a/b\n", "a/cpu.max": "max 100000\n", "a/b/cpu.max": "300000 100000\n"}, 3),
        ({"own": "12:memory:/a\n0::/\n", "cpu.max": "200000 100000\n"}, 2),
    ],
)
def test_a_quota_of_cpu_time_bounds_the_cores(
    files: dict[str, str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server.os, "sched_getaffinity", lambda _: set(range(8)))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert web_server.usable_cores(tmp_path, tmp_path / "own") == count


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
    """The cores of all threads."""
    found: set[int] = set()
    for thread in Path(f"/proc/{worker}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(int(thread.name))
    return found
