"""The whole line in processes that can be killed: verbs of the command line, the API, and a receiver that keeps files.

Only a process whose parent has one thread should fork these: nothing here starts a thread in its caller.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
from standardwebhooks import Webhook

from orchestration import cli
from tests.bench.servers import gunicorn
from tests.stand_ins.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
_OPERATIONS = ("open", "os.rename", "os.utime", "os.remove", "fcntl.flock", "sqlite3.connect", "socket.connect")


@dataclass
class Verb:
    """`emds VERB` in a child, killed before its operation `kill_at` on the warehouse or the network; 0: never."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    kill_at: int = 0
    torn: bool = False
    """Operations are counted from where a month file was put: there its change is noted and not yet in the log."""
    loaded: Path | None = None
    """Where it writes what it imported."""
    pid: int = field(init=False)

    def __post_init__(self) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._child())

    def _child(self) -> int:
        count, counts, home = 0, not self.torn, self.environ["EMDS_HOME"]

        def hook(event: str, given: tuple[Any, ...]) -> None:
            nonlocal count, counts
            if event == "os.rename" and "/series/" in str(given[1]) and not counts:
                counts = True  # this is told before it is done
            elif counts and event in _OPERATIONS and (event[0] in "fs" or home in str(given[0])):
                count += 1
                if count == self.kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        os.environ.update(self.environ)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        sys.addaudithook(hook)
        try:
            code = cli.main(self.argv)
            if self.loaded is not None:
                self.loaded.write_text("\n".join(sys.modules))
            return code
        except BaseException as error:
            Path(home).with_suffix(".error").write_text(f"{self.argv}: {error!r}")
            return 9

    def ended(self) -> int | None:
        """Its exit code once it ended; None where it was killed."""
        status = os.waitpid(self.pid, 0)[1]
        return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def load(names: Sequence[str]) -> None:
    """Imports what a first child imported, so that the next ones need not; what cannot be imported here is left."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)


class Api:
    """gunicorn with one worker, which may be killed while others ask."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        given = os.environ | environ | {"WEB_CONCURRENCY": "1", "EMDS_BASE_URL": self.url}
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                gunicorn("api.wsgi:app", port), cwd=ROOT, env=given, stdout=subprocess.DEVNULL, stderr=out
            )

    def kill_worker(self) -> None:
        """SIGKILL to the worker; gunicorn starts another one."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)

    def ask(self, path: str, key: str = "", body: Any = None) -> Any:
        """The JSON of an answer, asked for again while no worker is there. Raises HTTPError for a refusal."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        sent = None if body is None else orjson.dumps(body)
        question = urllib.request.Request(f"{self.url}{path}", sent, {**headers, "Content-Type": "application/json"})
        ends = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(question, timeout=30) as answer:
                    return orjson.loads(answer.read())
            except urllib.error.HTTPError:
                raise
            except OSError:
                assert self.process.poll() is None
                assert time.monotonic() < ends
                time.sleep(0.1)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


class ReceiverProcess:
    """Takes messages into a file before it says so; killed at a message, before or after it is stored.

    What it was sent is checked by the official library with the secret that lies in its folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.pid, self.died = folder, free_port(), 0, 0
        folder.mkdir()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def start(self, die_at: int = 0, stored: bool = False) -> None:
        """Starts it, where it does not run; it dies at message `die_at` (0: never)."""
        if self.runs():
            return
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._serve(die_at, stored)
            finally:
                os._exit(1)

    def _serve(self, die_at: int, stored: bool) -> None:
        receiver, count = self, 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                nonlocal count
                body = self.rfile.read(int(self.headers["Content-Length"]))
                Webhook((receiver.folder / "secret").read_text()).verify(body, dict(self.headers.items()))
                count += 1
                if count == die_at and not stored:
                    os.kill(os.getpid(), signal.SIGKILL)
                with (receiver.folder / "taken").open("ab") as file:
                    file.write(self.headers["webhook-id"].encode() + b" " + body + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                if count == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        ThreadingHTTPServer(("127.0.0.1", self.port), Handler).serve_forever(0.05)

    def runs(self) -> bool:
        """Whether it runs; one that died is gathered."""
        if self.pid and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid, self.died = 0, self.died + 1
        return bool(self.pid)

    def taken(self) -> list[tuple[str, dict[str, Any]]]:
        """Id and message of each that it stored, in order, repetitions too."""
        file = self.folder / "taken"
        lines = file.read_bytes().splitlines() if file.exists() else []
        return [(line[: line.index(b" ")].decode(), orjson.loads(line[line.index(b" ") :])) for line in lines]

    def close(self) -> None:
        if self.runs():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
