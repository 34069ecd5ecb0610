"""Run servers as child processes that end together: with this process, and with the first of them that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warehouse.errors import StorageError

STOP_WITHIN_S = 15.0
"""What has not ended so long after SIGTERM is killed."""
_LIBC = ctypes.CDLL(None)
_PARENT_DEATH_SIGNAL = 1


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one `emds up`, by name; they write where this process does."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a server in a process group of its own: Ctrl-C reaches us first, and we stop its children too."""
        self.running[name] = subprocess.Popen(argv, cwd=self.folder, start_new_session=True, preexec_fn=end_with_parent)

    def require_all(self) -> None:
        """Raise StorageError where a server has ended."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise StorageError(f"{name} ended ({process.returncode})")

    def stop(self, *names: str) -> None:
        """End the process groups of these servers (all by default): SIGTERM, and SIGKILL for what is left."""
        chosen = [process for name, process in self.running.items() if not names or name in names]
        for number, wait_s in ((signal.SIGTERM, STOP_WITHIN_S), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + wait_s
            groups = [process for process in chosen if _signal(process, number)]
            while groups and time.monotonic() < deadline:
                time.sleep(0.1)
                groups = [process for process in groups if _signal(process, 0)]


def end_with_parent() -> None:
    """Have the kernel send SIGTERM to this child when its parent ends, however that ends (Linux)."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal a server's process group; return whether any process of it lives. 0 only asks."""
    process.poll()  # a zombie would count as alive
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
