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
    """The cores of all threads."""
    found: set[int] = set()
    for thread in Path(f"/proc/{worker}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(int(thread.name))
    return found
