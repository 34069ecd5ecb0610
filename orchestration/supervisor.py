"""Runs servers as child processes: one that ends is restarted with back-off, and none takes another down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from orchestration import with_parent
from orchestration.logs import Logs
from warehouse.bookkeeping import logged

STEADY_S = 60.0
"""A server that ran so long starts its back-off anew."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0


@dataclass(slots=True)
class Server:
    """A command line that is to run for ever, and its process while it runs. Times are of `time.monotonic`."""

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
class Supervisor:
    """The servers of one `emds up`, in the folder in which they run."""

    folder: Path
    logs: Logs
    servers: list[Server] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str]) -> Server:
        """Starts a server."""
        log = self.logs.of(name)
        server = Server(name, argv, log, self._spawn(argv, log), time.monotonic())
        self.servers.append(server)
        return server

    def tend(self) -> None:
        """Restarts what has ended and whose wait is over; says so on standard error. To be called every moment."""
        now = time.monotonic()
        for server in self.servers:
            if server.restart_at is None:
                if server.process.poll() is not None:
                    self._ended(server, now)
            elif now >= server.restart_at:
                self._restart(server, now)
        with logged("logs"):
            self.logs.bound()

    def stop(self) -> None:
        """Terminates every server's process group, and kills what is left after a while. Later signals are ignored."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for number, patience in ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0)):
            for server in self.servers:
                _signal_group(server.process, number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and any(s.process.poll() is None for s in self.servers):
                time.sleep(0.1)
        for server in self.servers:
            _signal_group(server.process, signal.SIGKILL)

    def _ended(self, server: Server, now: float) -> None:
        """What it started itself is ended too: a port that a worker holds would keep the next one from starting."""
        _signal_group(server.process, signal.SIGKILL)
        server.deaths = 1 if now - server.started_at >= STEADY_S else server.deaths + 1
        wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(server.deaths - 1, 10))
        server.restart_at = now + wait
        sys.stderr.write(
            f"{self.logs.end(server.name)}emds: {server.name} ended ({_cause(server.process.returncode)}); "
            f"restarted in {wait:.0f} s, the others go on\n"
        )
        sys.stderr.flush()

    def _restart(self, server: Server, now: float) -> None:
        with logged(f"start of {server.name}") as attempt:
            server.process, server.started_at, server.restart_at = self._spawn(server.argv, server.log), now, None
        if attempt.error is not None:
            server.restart_at = now + LONGEST_WAIT_S

    def _spawn(self, argv: Sequence[str], log: Path | None) -> subprocess.Popen[bytes]:
        """In a group of its own, so that Ctrl-C reaches us first and each server is stopped whole.

        It ends with us also where nothing can be stopped any more. To be called from the main thread.
        """
        with nullcontext() if log is None else log.open("ab") as stream:
            return subprocess.Popen(
                argv,
                cwd=self.folder,
                start_new_session=True,
                stdout=stream,
                stderr=stream,
                preexec_fn=with_parent.before_exec(),
            )


def _cause(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
