"""Processes that ingest into a copy, forked before they are needed: a bucket's client forbids to fork later."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

MOST_S = 900
"""A process that has not ended after so many seconds hangs, and is killed."""


@dataclass(frozen=True)
class Writer:
    """A child that waits for an address and then works on it."""

    pid: int
    told: int
    """The pipe that it waits at."""

    def start(self, address: str) -> None:
        """Lets it work."""
        os.write(self.told, address.encode())
        os.close(self.told)

    def ended(self) -> int:
        """Waits for it; its exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def forked(work: Callable[[str], bool]) -> Writer:
    """A child that calls `work` with the address that it will be told; exit code 1 where that is true, else 0."""
    waits, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(MOST_S)
        os.close(told)
        code = 2
        try:
            address = os.read(waits, 4096).decode()
            code = int(work(address)) if address else 3
        finally:
            os._exit(code)
    os.close(waits)
    return Writer(pid, told)
