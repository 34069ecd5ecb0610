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
    is_task: bool


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one `emds up`. `logs`: a folder for a log each; None for standard output.

    `signals`: those that have told this process to stop.
    """

    folder: Path
    logs: Path | None
    signals: Sequence[int] = ()
    running: list[Server] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str], is_task: bool = False) -> Server:
        """Start a server in a process group of its own: Ctrl-C reaches us first, and we stop its children too.

        A task has no log, and is one of them until it ends with 0.
        """
        log = stream = None
        if self.logs is not None and not is_task:
            self.logs.mkdir(parents=True, exist_ok=True)
            log = self.logs / f"{name}.log"
            stream = log.open("ab")
        process = subprocess.Popen(
            argv, cwd=self.folder, start_new_session=True, stdout=stream, stderr=stream, preexec_fn=_end_with_parent
        )
        if stream is not None:
            stream.close()
        server = Server(name, process, log, is_task)
        self.running.append(server)
        return server

    def require_all(self) -> None:
        """Raise StorageError with the last lines of a server that has ended, and KeyboardInterrupt after a signal.

        Also bounds the logs: call it often.
        """
        if self.signals:
            raise KeyboardInterrupt
        for server in [*self.running]:
            code = server.process.poll()
            if code == 0 and server.is_task:
                self.running.remove(server)
            elif code is not None:
                text = server.log.read_bytes()[-2000:].decode(errors="replace").rstrip() if server.log else ""
                log = f"\n-- {server.log}\n{text}" if server.log else ""
                raise StorageError(f"{server.name} ended ({code}){log}")
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


def _end_with_parent() -> None:
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
