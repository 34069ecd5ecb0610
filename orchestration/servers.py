"""Runs servers as child processes: one that ends is started again with back-off, and none takes another down."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warehouse.bookkeeping import logged

STEADY_S = 60.0
"""A server that ran so long starts its back-off anew."""
LONGEST_WAIT_S = 60.0
MOST_LOG_BYTES = 10_000_000
PATIENCE_S = 15.0
_LIBC = ctypes.CDLL(None)
_PARENT_DEATH_SIGNAL = 1


@dataclass(slots=True)
class Server:
    """A command line that is to run for ever, and its process. Times are of `time.monotonic`."""

    name: str
    argv: Sequence[str]
    log: Path | None
    process: subprocess.Popen[bytes]
    started_at: float
    deaths: int = 0
    """In a row, each soon after its start."""
    restart_at: float | None = None
    """None while it runs."""


@dataclass(slots=True)
class Servers:
    """The servers of one `emds up`. `logs`: a folder for a log each; None for standard output."""

    folder: Path
    logs: Path | None
    running: list[Server] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str]) -> Server:
        """Starts a server."""
        log = None if self.logs is None else self.logs / f"{name}.log"
        server = Server(name, argv, log, self._spawn(argv, log), time.monotonic())
        self.running.append(server)
        return server

    def tend(self) -> None:
        """Starts again what has ended, once its wait is over, and bounds the logs. To be called every moment."""
        now = time.monotonic()
        for server in self.running:
            if server.restart_at is None and server.process.poll() is not None:
                _signal(server, signal.SIGKILL)  # a worker that holds the port would keep the next one from starting
                server.deaths = 1 if now - server.started_at >= STEADY_S else server.deaths + 1
                wait = min(LONGEST_WAIT_S, 2.0 ** min(server.deaths - 1, 10))
                server.restart_at = now + wait
                code = server.process.returncode
                sys.stderr.write(f"{tail(server)}emds: {server.name} ended ({code}); started again in {wait:.0f} s\n")
            elif server.restart_at is not None and now >= server.restart_at:
                server.restart_at = now + LONGEST_WAIT_S
                with logged(f"start of {server.name}"):
                    server.process, server.started_at = self._spawn(server.argv, server.log), now
                    server.restart_at = None
            with logged("logs"):
                if server.log and server.log.stat().st_size > MOST_LOG_BYTES:
                    shutil.copyfile(server.log, server.log.with_suffix(".log.1"))
                    os.truncate(server.log, 0)  # the server holds it open, and appends

    def stop(self, *names: str) -> None:
        """Terminates the process groups of these servers (all by default), and kills what is left after a while."""
        chosen = [server for server in self.running if not names or server.name in names]
        for number, patience in ((signal.SIGTERM, PATIENCE_S), (signal.SIGKILL, 5.0)):
            for server in chosen:
                _signal(server, number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and any(_lives(server) for server in chosen):
                time.sleep(0.1)

    def _spawn(self, argv: Sequence[str], log: Path | None) -> subprocess.Popen[bytes]:
        """In a group of its own: Ctrl-C reaches us first, and each server is stopped with what it started."""
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        stream = None if log is None else log.open("ab")
        try:
            return subprocess.Popen(
                argv, cwd=self.folder, start_new_session=True, stdout=stream, stderr=stream, preexec_fn=end_with_parent
            )
        finally:
            if stream is not None:
                stream.close()


def tail(server: Server) -> str:
    """The last lines of a server's log; empty where it has none."""
    if server.log is None or not server.log.exists():
        return ""
    return f"-- {server.log}\n{server.log.read_bytes()[-2000:].decode(errors='replace').rstrip()}\n"


def end_with_parent() -> None:
    """In a child, on Linux: SIGTERM comes when the process that started it ends, however that ends."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _signal(server: Server, number: int) -> None:
    try:
        os.killpg(server.process.pid, number)
    except ProcessLookupError:
        return


def _lives(server: Server) -> bool:
    """Whether any process of a server's group lives: its runs end after it."""
    server.process.poll()
    try:
        os.killpg(server.process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
