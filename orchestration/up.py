"""`emds up`: fills an empty warehouse, then runs the API and Dagster's stock servers until Ctrl-C."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestration import ports, serve
from orchestration.dagster_home import dagster_home
from orchestration.servers import Servers, end_with_parent, tail
from orchestration.settings import PipelineSettings
from warehouse import layout
from warehouse.errors import StorageError, as_storage_error

ROOT, LOOPBACK = serve.ROOT, serve.LOOPBACK
READY_WITHIN_S = 180.0
"""As long as Dagster gives its code server to load (dagster.yaml)."""
KNOWN_AGAIN_S = 30.0
"""After a code server's start the daemon knows it again: a run that fails before is not done again."""


def up(port: int, host: str, ui_port: int, days: int, recordings: Path | None) -> int:
    """Runs until a signal; then 0. A server that ends is started again; the API serves whatever becomes of Dagster.

    `host`: where the API listens; Dagster, which knows no users, listens on loopback. Raises MarketError where a
    setting is wrong, a port is taken, the API does not start, or another `emds up` runs over the same home.
    """
    serve.check_settings()
    # As Ctrl-C: from anywhere below, past the `finally` that stops the servers. Also where the shell has SIGINT
    # ignored, as for jobs in its background.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    home = PipelineSettings.from_environ(os.environ).home
    home.settle(os.environ)  # the servers run in the project's folder: a relative home is meant from here
    home.make_local()
    with lock(home.local):
        ports.require_free(port, "--port", host)
        ports.require_free(ui_port, "--ui-port", LOOPBACK)
        dagster_home(home.local)
        os.environ.update(serve.environ(port))
        serve.advise_proxy(host, port)
        _fill(days, recordings)
        return _serve(Servers(ROOT, home.local / "logs" if sys.stdout.isatty() else None), host, port, ui_port)


@contextmanager
def lock(local: Path) -> Iterator[None]:
    """Holds the home's lock; its file says the holder's process id. A process that ends frees it, however it ends."""
    try:
        stream = (local / layout.UP_LOCK).open("a+")
        with stream:
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


def _fill(days: int, recordings: Path | None) -> None:
    """The first fill, in a process of its own: what it loads is given back before the servers start.

    Raises StorageError where it ends with a failure, which it has told.
    """
    folder = [] if recordings is None else [str(recordings.resolve())]
    filling = [sys.executable, "-m", "orchestration.fill", str(days), *folder]
    process = subprocess.Popen(filling, cwd=ROOT, start_new_session=True, preexec_fn=end_with_parent)
    try:
        if process.wait():
            raise StorageError("the warehouse could not be filled")
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise


def _serve(servers: Servers, host: str, port: int, ui_port: int) -> int:
    """Runs the servers over a warehouse that is filled."""
    try:
        base = f"http://{LOOPBACK}:{port}"
        api = servers.start("api", serve.command(port, host))
        if not _until(servers, lambda: _answers(f"{base}/readyz") or api.process.poll() is not None):
            raise StorageError(f"{base}/readyz did not answer within {READY_WITHIN_S:.0f} s")
        if api.process.poll() is not None:
            raise StorageError(f"{tail(api)}the API ended before it answered")
        _greet(base)
        code_port = int(os.environ.setdefault("DAGSTER_CODE_PORT", str(_free_port())))
        for name, argv in dagster_commands(code_port, ui_port).items():
            servers.start(name, argv)
            if name == "code":
                _until(servers, lambda: _listens(code_port))
                _end_runs("fail")  # before the daemon starts, which does them again
        code = next((server for server in servers.running if server.name == "code"), api)
        runs_of = code.process.pid
        answers = _until(servers, lambda: _answers(f"http://{LOOPBACK}:{ui_port}/server_info"))
        state = "" if answers else f"not within {READY_WITHIN_S:.0f} s; "
        if servers.logs:
            print(f"logs:    {servers.logs}")
        print(f"Dagster: http://{LOOPBACK}:{ui_port}   ({state}Ctrl-C stops everything)", flush=True)
        while True:
            time.sleep(0.2)
            servers.tend()
            if code.process.pid != runs_of and time.monotonic() > code.started_at + KNOWN_AGAIN_S:
                runs_of = code.process.pid
                _end_runs("fail")
    except KeyboardInterrupt:
        return 0
    finally:
        _stop(servers)


def dagster_commands(code_port: int, ui_port: int) -> dict[str, list[str]]:
    """The command lines of Dagster's servers, the code server first. workspace.yaml names its port."""
    os.environ["DAGSTER_CODE_HOST"] = LOOPBACK
    workspace, quiet = ["--workspace", str(ROOT / "workspace.yaml")], ["--log-level", "warning"]
    programs = Path(sys.executable).parent
    code = ["--module-name", "orchestration.definitions", "--host", LOOPBACK, "--port", str(code_port)]
    ui = ["--host", LOOPBACK, "--port", str(ui_port)]
    return {
        "code": [str(programs / "dagster"), "api", "grpc", *code, "--location-name", "emds", *quiet],
        "webserver": [str(programs / "dagster-webserver"), *workspace, *ui, *quiet],
        "daemon": [str(programs / "dagster-daemon"), "run", *workspace, *quiet],
    }


def _stop(servers: Servers) -> None:
    """Stops everything: no new run is started, runs under way are canceled, then all end. Signals are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    servers.stop("daemon")
    if any(server.name == "code" for server in servers.running):
        _end_runs("cancel")
    servers.stop()


def _end_runs(how: str) -> None:
    """Ends the runs under way, whose processes end with their code server; containers of their own go on."""
    if not os.environ.get("EMDS_RUN_IMAGE"):
        subprocess.run([sys.executable, "-m", "orchestration.end_runs", how], cwd=ROOT, timeout=120, check=False)


def _until(servers: Servers, done: Callable[[], bool]) -> bool:
    """Tends the servers until something is so; whether it became so in time."""
    deadline = time.monotonic() + READY_WITHIN_S
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
        if len(servers.running) > 1:  # the API alone is not started again: it says what is wrong, and `emds up` ends
            servers.tend()
    return True


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


def _greet(base: str) -> None:
    """Prints the API's address and a first call; on a terminal with a new key, which no collected log should hold."""
    print(f"\nAPI:     {base}   (map {base}/, reference {base}/docs)", flush=True)
    if not sys.stdout.isatty():
        print(f"try:     curl '{base}/v1/brief/GB?sample=true'   (a key: POST {base}/v1/keys/signup)", flush=True)
        return
    body = json.dumps({"email": f"owner-{secrets.token_hex(4)}@example.org"}).encode()
    signup = urllib.request.Request(f"{base}/v1/keys/signup", body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(signup, timeout=10) as answer:  # noqa: S310
            key = json.load(answer)["api_key"]
        print(f"key:     {key}\ntry:     curl -H 'Authorization: Bearer {key}' {base}/v1/brief/GB", flush=True)
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        print(f"no key minted ({error}); try: curl '{base}/v1/brief/GB?sample=true'", flush=True)
