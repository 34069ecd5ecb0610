"""The access log: one JSON line a request, without query, path or headers, which may hold keys and addresses.

A worker of gunicorn gathers the lines, and a thread of its own writes them twice a second: a write for each request
would release Python's global lock each time, which under load costs more than the rest of this layer. Elsewhere they
are written at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from api.http import metrics

EVERY_S = 0.5


class LogEntry(NamedTuple):
    """One answered request."""

    at: float
    id: str
    method: str
    route: str
    """Its endpoint, `none` where no path fits."""
    zone: str | None
    status: int
    seconds: float
    trace: str
    """The caller's traceparent, where it is one."""

    @property
    def line(self) -> bytes:
        """As the log has it."""
        entry: dict[str, Any] = {
            "at": round(self.at, 3),
            "id": self.id,
            "method": self.method,
            "route": self.route,
            "zone": self.zone,
            "status": self.status,
            "ms": round(self.seconds * 1000, 2),
        }
        if self.trace:
            entry["trace"] = self.trace
        return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)


class AccessLog:
    """Takes entries from any thread. `write` takes lines; standard output by default."""

    def __init__(self, write: Callable[[bytes], object] | None = None) -> None:
        self._write = write or _to_stdout
        self._noted: deque[LogEntry] = deque()
        self._writing = threading.Lock()
        self._stopped: threading.Event | None = None

    def note(self, entry: LogEntry) -> None:
        """Notes a request that was answered."""
        self._noted.append(entry)
        if self._stopped is None:
            self.flush()

    def flush(self) -> None:
        """Writes and counts what was noted."""
        with self._writing:
            entries = [self._noted.popleft() for _ in range(len(self._noted))]
            if entries:
                self._write(b"".join([entry.line for entry in entries]))
            metrics.count((entry.route, entry.status, entry.seconds) for entry in entries)

    def start(self) -> None:
        """From now on gathers: called in a worker, after the fork."""
        self._stopped = threading.Event()
        threading.Thread(target=self._run, args=(self._stopped,), name="access log", daemon=True).start()

    def stop(self) -> None:
        """Writes what is left; from now on at once."""
        if self._stopped is not None:
            self._stopped.set()
            self._stopped = None
        self.flush()

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(EVERY_S):
            self.flush()


def _to_stdout(lines: bytes) -> None:
    with contextlib.suppress(OSError):  # who read the log is gone; the answers are not
        os.write(sys.stdout.fileno(), lines)


ACCESS_LOG = AccessLog()
"""This process's."""
