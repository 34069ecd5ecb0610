"""The start of the process from which runs are forked (`orchestration.run_processes`); nothing else imports this."""

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
"""Seconds after the last run's begin at which this process, 148 MB, ends where no run is under way."""
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


collector.hold_back()  # a run's process lets go once it has its definitions
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
    "assets.simulated.answer",
    "pandas",  # PyArrow looks for it as it makes its first array
):
    with suppress(Exception):  # a run loads it once more, and tells what is wrong
        import_module(_module)
