"""Run servers as child processes that end together: with this process, and with the first of them that ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warehouse.bookkeeping import logged
from warehouse.errors import StorageError

MOST_LOG_BYTES = 10_000_000
STOP_WITHIN_S = 15.0
"""What has not ended so long after SIGTERM is killed."""
_LIBC = ctypes.CDLL(None)
_PARENT_DEATH_SIGNAL = 1


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `log`: the file of its output; None for standard output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None

    def last_lines(self) -> str:
        """Return the end of its log; empty where it has none."""
        if self.log is None:
            return ""
        return f"\n-- {self.log}\n{self.log.read_bytes()[-2000:].decode(errors='replace').rstrip()}"


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one `emds up`. `logs`: a folder for a log each; None for standard output.

    `signals`: those that have told this process to stop.
    """

    folder: Path
    logs: Path | None
    signals: Sequence[int] = ()
    running: list[Server] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str]) -> Server:
        """Start a server in a process group of its own: Ctrl-C reaches us first, and we stop its children too."""
        log = stream = None
        if self.logs is not None:
            self.logs.mkdir(parents=True, exist_ok=True)
            log = self.logs / f"{name}.log"
            stream = log.open("ab")
        process = subprocess.Popen(
            argv, cwd=self.folder, start_new_session=True, stdout=stream, stderr=stream, preexec_fn=end_with_parent
        )
        if stream is not None:
            stream.close()
        server = Server(name, process, log)
        self.running.append(server)
        return server

    def require_all(self) -> None:
        """Raise StorageError with the last lines of a server that has ended, and KeyboardInterrupt after a signal.

        Also bounds the logs: call it often.
        """
        if self.signals:
            raise KeyboardInterrupt
        for server in self.running:
            if server.process.poll() is not None:
                raise StorageError(f"{server.name} ended ({server.process.returncode}){server.last_lines()}")
            with logged("logs"):
                if server.log and server.log.stat().st_size > MOST_LOG_BYTES:
                    shutil.copyfile(server.log, server.log.with_suffix(".log.1"))
                    os.truncate(server.log, 0)  # the server has it open, and appends

    def stop(self, *names: str) -> None:
        """End the process groups of these servers (all by default): SIGTERM, and SIGKILL for what is left."""
        chosen = [server for server in self.running if not names or server.name in names]
        for number, wait_s in ((signal.SIGTERM, STOP_WITHIN_S), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + wait_s
            groups = [server for server in chosen if _signal(server, number)]
            while groups and time.monotonic() < deadline:
                time.sleep(0.1)
                groups = [server for server in groups if _signal(server, 0)]


def end_with_parent() -> None:
    """Have the kernel send SIGTERM to this child when its parent ends, however that ends (Linux)."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _signal(server: Server, number: int) -> bool:
    """Signal a server's process group; return whether any process of it lives. 0 only asks."""
    server.process.poll()  # a zombie would count as alive
    try:
        os.killpg(server.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
