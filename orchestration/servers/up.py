"""`emds up`: fill an empty warehouse, then run the API and Dagster's stock servers until Ctrl-C."""

from __future__ import annotations

import fcntl
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from orchestration.servers import serve
from orchestration.servers.dagster_home import DEPLOY, dagster_home
from orchestration.servers.processes import Servers
from orchestration.work.environment import PipelineSettings
from warehouse.errors import StorageError, as_storage_error
from warehouse.store import layout
from warehouse.store.home import Home
from warehouse.store.storage import Storage

ROOT, LOOPBACK = serve.ROOT, serve.LOOPBACK
READY_WITHIN_S = 180.0
"""As long as Dagster gives its code server to load (dagster.yaml)."""


def up(port: int, host: str, ui_port: int, days: int, recordings: Path | None) -> int:
    """Run until a signal; then return 0. `host`: where the API listens; Dagster, which has no users, is on loopback.

    Raises MarketError where a setting is wrong, a port is taken, a server ends, or another `emds up` runs over the
    same home.
    """
    serve.check_settings()
    signals: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signals.append(number)  # Python drops what is raised in its hooks of a fork: `require_all` looks again
        raise KeyboardInterrupt

    # As Ctrl-C: from anywhere below, through the `finally` that stops the servers. Also where the shell has SIGINT
    # ignored, as for jobs in its background.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    home = PipelineSettings.from_environ(os.environ).home
    home.settle(os.environ)  # the servers run in the project's folder, but a relative home is relative to this one
    home.make_local()
    with lock(home.local):
        serve.require_free(port, "--port (make: PORT=)", host)
        serve.require_free(ui_port, "--ui-port (make: UI_PORT=)", LOOPBACK)
        dagster_home(home.local)
        os.environ.update(serve.environ(port))
        serve.raise_file_limit()
        serve.advise_proxy(host, port)
        servers = Servers(ROOT, home.local / "logs" if sys.stdout.isatty() else None, signals)
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


@contextmanager
def lock(local: Path) -> Iterator[None]:
    """Hold the home's lock; its file says the holder's process id. A process that ends frees it, however it ends."""
    try:
        with (local / layout.UP_LOCK).open("a+") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                holder = stream.read(20).strip()
                raise StorageError(f"emds up runs over {local} already, process {holder}") from None
            os.ftruncate(stream.fileno(), 0)
            stream.write(f"{os.getpid()}\n")
            stream.flush()
            yield
    except OSError as error:
        raise as_storage_error(error) from None


def fill_command(days: int, recordings: Path | None) -> list[str]:
    """Return the command line of the fill."""
    folder = [] if recordings is None else [str(recordings.resolve())]
    return [sys.executable, "-m", "orchestration.work.fill", str(days), *folder]


def _has_published(storage: Storage, begun: float) -> bool:
    """Tell whether a catalogue was published since an instant: the API can serve the zones that are in."""
    stat = storage.stat(layout.published(layout.CATALOGUE))
    return stat is not None and stat.version >= begun * 1e9


def _start_api(servers: Servers, filling: Sequence[str], home: Home, host: str, port: int) -> None:
    """Fill the warehouse in a process of its own, whose memory is free once it ends, and start the API.

    The API begins with the first zones that are published. Raises StorageError where the fill or the API fails.
    """
    base, storage, begun = f"http://{LOOPBACK}:{port}", home.open(), time.time()
    fill = servers.start("fill", filling, is_task=True)
    while fill in servers.running and not _has_published(storage, begun):
        servers.require_all()
        time.sleep(0.5)
    servers.start("api", serve.command(port, host))
    _wait(servers, f"{base}/readyz", lambda: _answers(f"{base}/readyz"))
    if fill in servers.running:
        print(f"API:     {base}   serves the zones that are in; the rest follows", flush=True)
    while fill in servers.running:
        servers.require_all()
        time.sleep(0.2)
    print(f"\nAPI:     {base}   (map {base}/, reference {base}/docs)", flush=True)
    print(f"try:     curl '{base}/v1/brief/GB?sample=true'   (a key: POST {base}/v1/keys/signup)", flush=True)


def _start_dagster(servers: Servers, ui_port: int) -> None:
    """Start Dagster's servers and print where they are. Raises StorageError where one of them does not start."""
    code_port = int(os.environ.setdefault("DAGSTER_CODE_PORT", str(_free_port())))
    for name, argv in dagster_commands(code_port, ui_port).items():
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
    quiet = ["--log-level", "warning", "--log-format", "json"]  # as the API's log: one object a line, no colours
    programs = Path(sys.executable).parent
    code = ["--module-name", "orchestration.definitions", "--host", LOOPBACK, "--port", str(code_port)]
    ui = ["--host", LOOPBACK, "--port", str(ui_port)]
    return {
        "code": [str(programs / "dagster"), "api", "grpc", *code, "--location-name", "emds", *quiet],
        "webserver": [str(programs / "dagster-webserver"), *workspace, *ui, *quiet],
        "daemon": [str(programs / "dagster-daemon"), "run", *workspace, *quiet],
    }


def _stop(servers: Servers) -> None:
    """Stop everything, deaf to further signals: first what starts runs, then the runs under way, then all servers."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    servers.stop("daemon")
    # Runs end with the code server; where it has ended already, the next start fails them, and Dagster retries them.
    if any(server.name == "code" and server.process.poll() is None for server in servers.running):
        subprocess.run(
            [sys.executable, "-m", "orchestration.jobs.end_runs", "cancel"], cwd=ROOT, timeout=120, check=False
        )
    servers.stop()


def _wait(servers: Servers, what: str, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not is_ready():
        servers.require_all()
        if time.monotonic() > deadline:
            raise StorageError(f"{what} did not answer within {READY_WITHIN_S:.0f} s")
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
