"""The processes of runs: forked from one that has loaded what a run needs.

Dagster's code server starts a process a run by multiprocessing's `spawn`, and each would load Dagster, PyArrow and the
definitions' modules anew, most of the CPU time of a run over a day. By its `forkserver` they are loaded once, at the
first run, by a process that opens nothing (`orchestration.fork_server`); each run still builds its own definitions.
"""

from __future__ import annotations

from multiprocessing import get_context
from types import SimpleNamespace


def fork_from_one() -> None:
    """For a process that is about to become a code server."""
    from dagster._grpc import server

    processes = get_context("forkserver")
    processes.set_forkserver_preload(["orchestration.fork_server"])
    # Dagster has no setting for it (its executors of steps have).
    vars(server)["multiprocessing"] = SimpleNamespace(get_context=lambda _: processes)
