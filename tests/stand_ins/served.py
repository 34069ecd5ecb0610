"""Run the shop, or another application, under gunicorn on a free port with any number of workers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.stand_ins.ports import free_port

ROOT = Path(__file__).parents[2]
SHOP = "tests.stand_ins.shop:served()"


class Served:
    """A running gunicorn, with settings from the environment as in production."""

    def __init__(
        self, environ: Mapping[str, str], workers: int = 4, threads: int = 4, more: Sequence[str] = (), app: str = SHOP
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "gunicorn",
            app,
            "-b",
            f"127.0.0.1:{self.port}",
            "-w",
            str(workers),
            "--threads",
            str(threads),
            "--limit-request-field_size",
            "16380",
            "--log-level",
            "error",
            "--graceful-timeout",
            "10",
            "--keep-alive",  # The API's value, because signing may take a client more than gunicorn's two seconds.
            "15",
            *(["-c", "python:tests.stand_ins.shop_imported"] if app == SHOP else []),
            *more,
        ]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMDS_")}
        self._environ = inherited | {"EMDS_BASE_URL": self.url, **environ}
        self.start()

    def start(self, **changed: str) -> None:
        """Start the server, or restart it with the changed settings."""
        self._environ |= changed
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=self._environ, stdout=subprocess.DEVNULL, start_new_session=True
        )
        self._wait(listening=True)
        try:  # gunicorn listens before its first worker can respond.
            urllib.request.urlopen(self.url + "/open/GB", timeout=30).close()
        except urllib.error.HTTPError as answer:  # Of another application, any response suffices.
            answer.close()

    def stop(self) -> None:
        """Stop the server with SIGTERM, so that it completes open requests."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)

    def kill(self) -> None:
        """Kill the master and its workers, as a crash would. Do nothing if they have ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(20)
        self._wait(listening=False)  # Orphaned workers keep the socket open a little longer.

    def _wait(self, listening: bool) -> None:
        deadline = time.monotonic() + 30
        while self._listens() != listening:
            if time.monotonic() > deadline or (listening and self._process.poll() is not None):
                raise TimeoutError("gunicorn did not start" if listening else "gunicorn did not end")
            time.sleep(0.05)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
