"""The processes of runs: forked from one that has loaded what a run needs.

Dagster's code server starts a process a run by multiprocessing's `spawn`, and each would load Dagster, PyArrow and the
definitions' modules anew, most of the CPU time of a run over a day. By its `forkserver` they are loaded once, at the
first run, by a process that keeps nothing open (`orchestration.fork_server`) and makes the definitions too.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from types import FrameType, SimpleNamespace

PATIENCE_S = 5.0
"""So long a run goes on after its code server was told to end, and so long again after it was told itself."""


def fork_from_one() -> None:
    """For a process that is about to become a code server."""
    from dagster._grpc import server

    processes = get_context("forkserver")
    processes.set_forkserver_preload(["orchestration.fork_server"])
    # Dagster has no setting for it (its executors of steps have).
    vars(server)["multiprocessing"] = SimpleNamespace(get_context=lambda _: processes)
    signal.signal(signal.SIGINT, _end)  # Dagster's code server takes it for SIGTERM too


def _end(number: int, frame: FrameType | None) -> None:
    """Ends a code server and its runs: Dagster alone would wait for each of them to be done."""
    threading.Thread(target=end_all, name="end of runs", daemon=True).start()
    signal.default_int_handler(number, frame)


def end_all(patience_s: float = PATIENCE_S) -> None:
    """Ends the runs of this process.

    Who stops its whole process group has told them already, and a second signal would keep a run from saying how it
    ended: so they are left a while first.
    """
    runs = active_children()
    _wait(runs, patience_s)
    for run in runs:
        run.terminate()
    _wait(runs, patience_s)
    for run in runs:
        run.kill()


def _wait(runs: Sequence[BaseProcess], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for run in runs:
        run.join(max(0.0, deadline - time.monotonic()))
