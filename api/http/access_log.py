"""The access log: one JSON line a request, without query, path or headers, which may hold keys and addresses."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, NamedTuple

import orjson


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
        """The JSON line."""
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


def write_line(line: bytes) -> None:
    """Write a line to standard output, whole."""
    with contextlib.suppress(OSError):  # the log's reader may be gone; the answer is not
        os.write(sys.stdout.fileno(), line)
