"""The start of the process from which runs are forked (`orchestration.run_processes`); nothing else imports this.

It loads what a run loads, and makes the definitions, by the warehouse's first days as they are then: as the code server
does, to which it belongs. To make them, and load what they are made of, took a third of a run's CPU time.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType

from orchestration import collector

_IDLE_S = 600
"""Seconds after the last run's begin at which this process, 156 MB, ends where no run is under way."""
_SET_PARENT_DEATH_SIGNAL = 1
_SELF, _LIBC = os.getpid(), ctypes.CDLL(None)
_RUN: list[int] = []
"""The process of the run that this is; empty in the process from which runs are forked."""


def _begin_run() -> None:
    """In a forked run: ends as any process by SIGTERM, and with the process it was forked from (on Linux).

    The code server hears of a run's end from that process alone: it would start one that went on a second time. What
    a run forks in its turn is left as it is.
    """
    if _RUN:
        return
    _RUN.append(os.getpid())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != _SELF:  # it ended before
            os.kill(os.getpid(), signal.SIGKILL)


def _end_where_idle(_signal: int, _frame: FrameType | None) -> None:
    """The next run starts another. Where it cannot be told whether a run is under way (not on Linux), it stays."""
    runs = Path(f"/proc/{_SELF}/task/{_SELF}/children")
    if runs.exists() and not runs.read_text():
        os._exit(0)
    signal.alarm(_IDLE_S)


def _make_definitions() -> None:
    """So that a run finds them made. A bucket's client has threads, which no fork takes along: there a run makes them.

    Opens nothing that stays open.
    """
    from orchestration import definitions
    from orchestration.settings import PipelineSettings

    if isinstance(PipelineSettings.from_environ(os.environ).home.place, Path):
        definitions.defs().get_repository_def()


collector.hold_back()  # `definitions.defs` lets go
# Whoever stops a code server signals its whole process group. The server learns from this process how its runs ended,
# so this one ignores SIGTERM and ends by itself once they have.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.register_at_fork(after_in_child=_begin_run, after_in_parent=lambda: signal.alarm(_IDLE_S))
signal.signal(signal.SIGALRM, _end_where_idle)
signal.alarm(_IDLE_S)

for _module in (
    "orchestration.definitions",
    "dagster._grpc.impl",
    "dagster._core.storage.sqlite_storage",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.fs_io_manager",
    "dagster._core.storage.root",
    "dagster._core.instance.factory",
    "dagster._core.executor.in_process",
    "dagster._core.secrets.env_file",
    "dagster._core.workspace.autodiscovery",
    "upath.implementations.local",
    "assets.simulated.answer",
    "pandas",  # PyArrow looks for it as it makes its first array
):
    with suppress(Exception):  # a run loads it once more, and tells what is wrong
        import_module(_module)
with suppress(Exception):  # as above
    _make_definitions()
