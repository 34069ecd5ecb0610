"""`emds up`: fills an empty warehouse, then runs the API, Dagster's web server and its daemon until Ctrl-C."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from assets.ingest.refresh import refresh_all
from orchestration import backfill, commands, event_log, serve
from orchestration.checkpoint import unfinished
from orchestration.logs import Logs
from orchestration.resources import open_context
from warehouse import series
from warehouse.errors import StorageError

ROOT = serve.ROOT
READY_WITHIN_S = 180.0
"""As long as Dagster gives its code server to load (dagster.yaml)."""
FIRST_FILL = "up"
"""The name of its checkpoint: the next start resumes a first start that was killed."""


def up(port: int, ui_port: int, ui_host: str, days: int, recordings: Path | None) -> int:
    """Runs until a signal (0), or until a server ends by itself (1). `ui_host`: where Dagster's UI listens, which has
    no log-in."""
    # As Ctrl-C: from anywhere below, past the `finally` that stops the servers.
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # also where the starting shell has SIGINT ignored, as for jobs in its background
        signal.signal(number, signal.default_int_handler)
    for needed in (port, ui_port):
        _free(needed)
    _fill(days, recordings)
    children: list[subprocess.Popen[bytes]] = []
    logs = Logs.here()
    try:
        children.append(_started(serve.command(port), logs.of("api")))
        _wait_for(f"http://127.0.0.1:{port}/readyz", children)
        _greet(port)
        for name, argv in _dagster_commands(ui_port, ui_host).items():
            children.append(_started(argv, logs.of(name)))
        _wait_for(f"http://127.0.0.1:{ui_port}/server_info", children)
        print(f"{logs.folder_line}Dagster: http://127.0.0.1:{ui_port}   (Ctrl-C stops everything)", flush=True)
        while all(child.poll() is None for child in children):
            time.sleep(0.2)
            logs.bound()
        sys.stderr.write(f"{logs.ends()}emds: a server ended by itself; stopping the others\n")
        return 1
    except KeyboardInterrupt:
        return 0
    except StorageError:
        sys.stderr.write(logs.ends())
        raise
    finally:
        _stop(children)


def _fill(days: int, recordings: Path | None) -> None:
    """First start: history and documents. Later ones: only the documents."""
    pipeline = open_context(recordings=recordings)
    instance = event_log.instance(pipeline.storage.root)
    if instance is not None:
        instance.dispose()
    os.environ["EMDS_HOME"] = str(pipeline.storage.root)
    if recordings is not None:
        commands.replayed(recordings)
    elif series.held(pipeline.storage) and not unfinished(pipeline.storage, FIRST_FILL):
        refresh_all(pipeline)
    else:
        print(f"first start: {days} days of history, {pipeline.mode} feeds", flush=True)
        commands.resumable(backfill.plan(backfill.chosen(None, None), None, None, days), FIRST_FILL)


def _free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104  as the servers will
        except OSError as error:
            raise StorageError(
                f"port {port} is taken ({error.strerror}): choose another with --port or --ui-port"
            ) from None


def _dagster_commands(ui_port: int, ui_host: str) -> dict[str, list[str]]:
    here = str(Path(sys.executable).parent)
    workspace = str(ROOT / "workspace.yaml")
    return {
        "webserver": [
            f"{here}/dagster-webserver",
            "-w",
            workspace,
            "-h",
            ui_host,
            "-p",
            str(ui_port),
            "--log-level",
            "warning",
        ],
        "daemon": [f"{here}/dagster-daemon", "run", "-w", workspace, "--log-level", "warning"],
    }


def _started(argv: Sequence[str], log: Path | None) -> subprocess.Popen[bytes]:
    """In a group of its own, so that Ctrl-C reaches us first and each server is stopped whole."""
    if log is None:
        return subprocess.Popen(argv, cwd=ROOT, start_new_session=True)
    with log.open("ab") as stream:
        return subprocess.Popen(argv, cwd=ROOT, start_new_session=True, stdout=stream, stderr=stream)


def _wait_for(url: str, children: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if any(child.poll() is not None for child in children):
            raise StorageError(f"a server ended before {url} answered")
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise StorageError(f"{url} did not answer within {READY_WITHIN_S:.0f} s")


def _greet(port: int) -> None:
    """Prints addresses, a new API key, and a first call."""
    base = f"http://127.0.0.1:{port}"
    print(f"\nAPI:     {base}   (map {base}/, reference {base}/docs)", flush=True)
    body = json.dumps({"email": f"owner-{secrets.token_hex(4)}@example.org"}).encode()
    signup = urllib.request.Request(f"{base}/v1/keys/signup", body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(signup, timeout=10) as answer:  # noqa: S310
            key = json.load(answer)["api_key"]
        print(f"key:     {key}\ntry:     curl -H 'Authorization: Bearer {key}' {base}/v1/brief/GB", flush=True)
    except OSError as error:
        print(f"no key minted ({error}); try: curl '{base}/v1/brief/GB?sample=true'", flush=True)


def _stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Terminates every child's process group, and kills what is left after a while. A further Ctrl-C is ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for number, patience in ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0)):
        for child in children:
            _signal(child, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and any(child.poll() is None for child in children):
            time.sleep(0.1)
    for child in children:
        _signal(child, signal.SIGKILL)


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return
