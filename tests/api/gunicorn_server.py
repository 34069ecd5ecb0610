"""Start the API over a rig's warehouse as `emds serve` does, wait for it, and stop it."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestration.servers import serve as verb
from tests.stand_ins.ports import free_port


class Homed(Protocol):
    """A warehouse in a folder."""

    home: Path


@dataclass
class Served:
    """The API over a warehouse, started as `emds serve` does."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def workers(self) -> list[int]:
        """Return the process IDs of the workers."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]


ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def serving(folder: Path) -> Iterator[Callable[..., Served]]:
    """Yield a function that serves a warehouse on a free port, with logs in `folder`. All servers stop at the end."""
    running: list[Served] = []

    def start(rig: Homed | Path, **environ: str) -> Served:
        log = folder / f"gunicorn{len(running)}.log"
        given = {
            "EMDS_HOME": str(rig if isinstance(rig, Path) else rig.home),
            "EMDS_NOW": "2026-03-30T12:10:00Z",
            "EMDS_FREE_CALLS_PER_MINUTE": "0",
            "EMDS_SAMPLE_CALLS_PER_DAY": "0",
            "EMDS_SIGNUPS_PER_HOUR": "0",
            "EMDS_KEY_CALLS_PER_SECOND": "0",
            "WEB_CONCURRENCY": "1",
            **environ,
        }
        port, inherited = free_port(), os.environ | verb.ENVIRONMENT
        with log.open("wb") as lines, (folder / "access.log").open("ab") as answers:
            process = subprocess.Popen(
                verb.command(port), cwd=ROOT, env=inherited | given, stdout=answers, stderr=lines
            )
        running.append(Served(process, _answering(process, f"http://127.0.0.1:{port}", log), log))
        return running[-1]

    try:
        yield start
    finally:
        for served in running:
            served.process.terminate()
            served.process.wait(60)


def _answering(process: subprocess.Popen[bytes], url: str, log: Path) -> str:
    """Return the URL after the server has responded."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=10).close()
            return url
        except OSError:
            pass
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())
