"""`emds up`: fills an empty warehouse, then runs the API, Dagster's web server and its daemon until Ctrl-C."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import sys
import time
import urllib.request
from multiprocessing import get_context
from pathlib import Path

from orchestration import code_server, fill, home_lock, ports, serve, with_parent
from orchestration.dagster_home import dagster_home
from orchestration.logs import Logs
from orchestration.settings import PipelineSettings
from orchestration.supervisor import Server, Supervisor
from warehouse.errors import StorageError

ROOT = serve.ROOT
READY_WITHIN_S = 180.0
"""As long as Dagster gives its code server to load (dagster.yaml)."""


def up(port: int, host: str, ui_port: int, ui_host: str, days: int, recordings: Path | None) -> int:
    """Runs until a signal; then 0. A server that ends is restarted, and the API serves whatever becomes of Dagster.

    `host`: where the API listens; `ui_host`: where Dagster's UI does, which has no log-in. Raises MarketError where a
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
    with home_lock.held(home.local):
        for needed in (port, ui_port):
            ports.require_free(needed, "--port or --ui-port")
        dagster_home(home.local)
        os.environ.update(serve.environ(port))
        _fill(days, recordings)
        return _serve(port, host, ui_port, ui_host)


def _serve(port: int, host: str, ui_port: int, ui_host: str) -> int:
    """Runs the servers over a warehouse that is filled."""
    supervisor = Supervisor(ROOT, Logs.here())
    try:
        _await_api(supervisor.start("api", serve.command(port, host)), port)
        _greet(port)
        for name, argv in _dagster_commands(ui_port, ui_host).items():
            _await_listening(supervisor, supervisor.start(name, argv))
        _await_dagster(supervisor, ui_port)
        while True:
            time.sleep(0.2)
            supervisor.tend()
    except KeyboardInterrupt:
        return 0
    except StorageError:
        sys.stderr.write(supervisor.logs.ends())
        raise
    finally:
        supervisor.stop()


def _fill(days: int, recordings: Path | None) -> None:
    """The first fill, in a process of its own: what it loads is given back before the servers start.

    Raises StorageError where it ends with a failure, which it has told.
    """
    process = get_context("spawn").Process(target=_fill_alone, args=(days, recordings))
    process.start()
    try:
        process.join()
    except KeyboardInterrupt:
        process.terminate()
        process.join()
        raise
    if process.exitcode:
        raise StorageError("the warehouse could not be filled")


def _fill_alone(days: int, recordings: Path | None) -> None:
    """The main function of the first fill's process."""
    with_parent.end_worker()
    fill.run(days, recordings)


def _dagster_commands(ui_port: int, ui_host: str) -> dict[str, list[str]]:
    return code_server.commands(ROOT, ui_port, ui_host)


def _await_api(api: Server, port: int) -> None:
    """Returns once the API is ready. Raises StorageError where it ends before, or takes too long."""
    url, deadline = f"http://127.0.0.1:{port}/readyz", time.monotonic() + READY_WITHIN_S
    while not _answers(url):
        if api.process.poll() is not None:
            raise StorageError(f"the API ended before {url} answered")
        if time.monotonic() > deadline:
            raise StorageError(f"{url} did not answer within {READY_WITHIN_S:.0f} s")
        time.sleep(0.1)


def _await_listening(supervisor: Supervisor, server: Server) -> None:
    """Returns once the code server listens: a server that looks for it before says so at length. Others do not wait."""
    deadline = time.monotonic() + READY_WITHIN_S
    while not code_server.listens(server.argv) and time.monotonic() < deadline:
        time.sleep(0.1)
        supervisor.tend()


def _await_dagster(supervisor: Supervisor, ui_port: int) -> None:
    """Prints Dagster's address once it answers, or that it does not yet: the API serves meanwhile."""
    url, deadline = f"http://127.0.0.1:{ui_port}", time.monotonic() + READY_WITHIN_S
    while not (answers := _answers(f"{url}/server_info")) and time.monotonic() < deadline:
        time.sleep(0.1)
        supervisor.tend()
    state = "" if answers else f"not within {READY_WITHIN_S:.0f} s; "
    print(f"{supervisor.logs.folder_line}Dagster: {url}   ({state}Ctrl-C stops everything)", flush=True)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310
            return True
    except (OSError, http.client.HTTPException):
        return False


def _greet(port: int) -> None:
    """Prints the API's address and a first call; on a terminal with a new key, which no collected log should hold."""
    base = f"http://127.0.0.1:{port}"
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
