"""Fill an empty warehouse, then run the API and Dagster's stock servers until Ctrl-C, for `emds up`.

The servers are child processes. All of them end together: when this process ends, or when the first of them ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO

from orchestration.servers import serve
from orchestration.servers.dagster_home import DEPLOY, WEBSERVER, require_dagster_home
from orchestration.work.disk_space import require_space
from orchestration.work.environment import PipelineSettings
from warehouse.bookkeeping import logged
from warehouse.errors import StorageError, as_storage_error
from warehouse.store import layout, modes
from warehouse.store.home import Home
from warehouse.store.storage import Storage

ROOT, LOOPBACK = serve.ROOT, serve.LOOPBACK
READY_WITHIN_S = 180.0
"""The time that Dagster gives its code server to load (dagster.yaml)."""
MOST_LOG_BYTES = 10_000_000
STOP_WITHIN_S = 15.0
"""A process that runs this long after SIGTERM is killed."""
_LIBC = ctypes.CDLL(None)
_PARENT_DEATH_SIGNAL = 1


def up(port: int, host: str, ui_port: int, days: int, recordings: Path | None) -> int:
    """Run until a signal, then return 0. The API listens on `host`; Dagster, which has no users, on loopback.

    Raises MarketError if a setting is wrong, a port is in use, a server ends, or another `emds up` uses the same home.
    """
    serve.check_settings()
    home = PipelineSettings.from_environ(os.environ).home
    # the servers run in the project's folder, but a relative home is relative to the current folder
    home.settle(os.environ)
    modes.check_release(home.open())
    signals: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signals.append(number)  # Python drops exceptions raised in its hooks of a fork: `require_all` checks again
        raise KeyboardInterrupt

    # Act as on Ctrl-C: from anywhere below, through the `finally` that stops the servers. Also if the shell ignores
    # SIGINT, as it does for background jobs.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    home.make_local()
    require_space(home.local)
    with lock(home.local):
        serve.require_free(port, "--port (make: PORT=)", host)
        serve.require_free(ui_port, "--ui-port (make: UI_PORT=)", LOOPBACK)
        require_dagster_home(home.local)
        os.environ.update(serve.environ(port))
        serve.raise_file_limit()
        serve.advise_proxy(host, port)
        servers = Servers(home.local / "logs" if sys.stdout.isatty() else None, signals)
        try:
            _start_api(servers, fill_command(days, recordings), home, host, port)
            _start_dagster(servers, ui_port)
            while True:
                servers.require_all()
                time.sleep(0.2)
        except KeyboardInterrupt:
            return 0
        finally:
            _stop(servers)


def lock(local: Path) -> IO[str]:
    """Lock the home while the file is open. It contains the holder's process ID; the lock ends with that process."""
    try:
        stream = (local / layout.UP_LOCK).open("a+")
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        raise StorageError(
            f"emds up is already running for {local} (process {stream.read(20).strip()}); stop it first"
        ) from None
    except OSError as error:
        raise as_storage_error(error) from None
    os.ftruncate(stream.fileno(), 0)
    stream.write(f"{os.getpid()}\n")
    stream.flush()
    return stream


def fill_command(days: int, recordings: Path | None) -> list[str]:
    """Return the command line of the fill."""
    folder = [] if recordings is None else ["--recordings", str(recordings.resolve())]
    return [sys.executable, "-m", "orchestration.cli", "fill", "--days", str(days), *folder]


def _has_published(storage: Storage, begun: float) -> bool:
    """Return whether a catalogue was published since `begun` (Unix seconds): the API can then serve first zones."""
    stat = storage.stat(layout.published(layout.CATALOGUE))
    return stat is not None and stat.version >= begun * 1e9


def _start_api(servers: Servers, filling: Sequence[str], home: Home, host: str, port: int) -> None:
    """Fill the warehouse in a separate process, whose memory is freed when it ends, and start the API.

    The API starts with the first published zones. Raises StorageError if the fill or the API fails.
    """
    base, storage, begun = f"http://{LOOPBACK}:{port}", home.open(), time.time()
    fill = servers.start("fill", filling, is_task=True)
    while fill in servers.running and not _has_published(storage, begun):
        servers.require_all()
        time.sleep(0.5)
    servers.start("api", serve.command(port, host))
    _wait(servers, f"{base}/readyz", lambda: _answers(f"{base}/readyz"))
    if fill in servers.running:
        print(f"API: {base} (zones become available as they are filled)", flush=True)
    while fill in servers.running:
        servers.require_all()
        time.sleep(0.2)
    print(f"\nAPI:     {base}   (map {base}/, reference {base}/docs)", flush=True)
    print(f"try:     curl '{base}/v1/brief/GB?sample=true'   (a key: POST {base}/v1/keys/signup)", flush=True)


def _start_dagster(servers: Servers, ui_port: int) -> None:
    """Start Dagster's servers and print their URLs. Raises StorageError if one of them does not start."""
    code_port = int(os.environ.setdefault("DAGSTER_CODE_PORT", str(_free_port())))
    for name, argv in dagster_commands(code_port, ui_port).items():
        if name == "code":
            _end_runs("fail")  # no run that counts as started can be alive
        servers.start(name, argv)
        if name == "code":
            _wait(servers, "Dagster's code server", lambda: _listens(code_port))
    _wait(servers, "Dagster's web server", lambda: _answers(f"http://{LOOPBACK}:{ui_port}/server_info"))
    if servers.logs:
        print(f"logs:    {servers.logs}")
    print(f"Dagster: http://{LOOPBACK}:{ui_port}   (Ctrl-C stops everything)", flush=True)


def dagster_commands(code_port: int, ui_port: int) -> dict[str, list[str]]:
    """Return the command lines of Dagster's servers, the code server first. workspace.yaml names its port."""
    os.environ["DAGSTER_CODE_HOST"] = LOOPBACK
    workspace = ["--workspace", str(DEPLOY / "workspace.yaml")]
    quiet = ["--log-level", "warning", "--log-format", "json"]  # like the API's log: one object per line, no colours
    programs = Path(sys.executable).parent
    code = ["--module-name", "orchestration.definitions", "--host", LOOPBACK, "--port", str(code_port)]
    ui = ["--host", LOOPBACK, "--port", str(ui_port)]
    return {
        "code": [str(programs / "dagster"), "api", "grpc", *code, "--location-name", "emds", *quiet],
        "webserver": [sys.executable, "-m", WEBSERVER, *workspace, *ui, *quiet],
        "daemon": [str(programs / "dagster-daemon"), "run", *workspace, *quiet],
    }


def _stop(servers: Servers) -> None:
    """Stop everything, ignoring further signals: first what starts runs, then current runs, then all servers."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    print("stopping", flush=True)
    servers.stop("daemon")
    # Runs end with the code server. If it has ended already, the next start fails them, and Dagster retries them.
    if any(server.name == "code" and server.process.poll() is None for server in servers.running):
        _end_runs("cancel")
    servers.stop()


def _end_runs(how: str) -> None:
    """Fail or cancel Dagster's runs in a separate process, since this process never loads Dagster.

    If that takes too long, starting and stopping continue.
    """
    with logged("Dagster's runs"):
        subprocess.run([sys.executable, "-m", "orchestration.jobs.ended_runs", how], cwd=ROOT, timeout=120, check=False)


def _wait(servers: Servers, what: str, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not is_ready():
        servers.require_all()
        if time.monotonic() > deadline:
            raise StorageError(f"{what} did not respond within {READY_WITHIN_S:.0f} s; see its log")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310
            return True
    except (OSError, http.client.HTTPException):
        return False


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `log` is the file of its output; None for standard output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None
    is_task: bool


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one `emds up`. `logs` is a folder for their logs; None for standard output.

    `signals` contains the stop signals that this process received.
    """

    logs: Path | None
    signals: Sequence[int] = ()
    running: list[Server] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str], is_task: bool = False) -> Server:
        """Start a server in a separate process group, so that this process gets Ctrl-C and stops the server's children.

        A task has no log, and counts as a server until it ends with 0.
        """
        log = stream = None
        if self.logs is not None and not is_task:
            self.logs.mkdir(parents=True, exist_ok=True)
            log = self.logs / f"{name}.log"
            stream = log.open("ab")
        process = subprocess.Popen(
            argv,
            cwd=ROOT,
            start_new_session=True,
            stdout=stream,
            stderr=stream,
            preexec_fn=partial(_end_with, os.getpid()),
        )
        if stream is not None:
            stream.close()
        server = Server(name, process, log, is_task)
        self.running.append(server)
        return server

    def require_all(self) -> None:
        """Raise StorageError with a server's last lines if it has ended, and KeyboardInterrupt after a signal.

        Frequent calls also limit the size of the logs.
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
                raise StorageError(f"{server.name} exited with code {code}{log}")
            with logged("logs"):
                if server.log and server.log.stat().st_size > MOST_LOG_BYTES:
                    shutil.copyfile(server.log, server.log.with_suffix(".log.1"))
                    os.truncate(server.log, 0)  # the server has it open and appends

    def stop(self, *names: str) -> None:
        """End the process groups of these servers (all by default): SIGTERM, then SIGKILL for those that remain."""
        chosen = [server for server in self.running if not names or server.name in names]
        for number, wait_s in ((signal.SIGTERM, STOP_WITHIN_S), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + wait_s
            groups = [server for server in chosen if _signal(server, number)]
            while groups and time.monotonic() < deadline:
                time.sleep(0.1)
                groups = [server for server in groups if _signal(server, 0)]


def _end_with(parent: int) -> None:
    """Have the kernel send SIGTERM to this child when its parent ends, however it ends (Linux)."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:  # the parent ended before the request to the kernel
        os._exit(1)


def _signal(server: Server, number: int) -> bool:
    """Signal a server's process group and return whether any of its processes is alive; 0 only checks."""
    server.process.poll()  # a zombie would count as alive
    try:
        os.killpg(server.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
