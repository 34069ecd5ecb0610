"""Dagster's servers: one code server that the web server and the daemon share, and these two.

Each would otherwise start a code server of its own, and the daemon a new one every minute. Under `emds up` the code
server listens on a socket in a folder that only its owner may enter, by `emds dagster` on a port of a network of its
own: whoever reaches it can start runs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_START = (sys.executable, "-m", "orchestration.dagster_process")
"""Before the name of a program of Dagster's."""
_QUIET = ("--log-level", "warning")


def commands(root: Path, ui_port: int, ui_host: str) -> dict[str, list[str]]:
    """The command lines by name, the code server first. DAGSTER_HOME must be set; `root`: the project's folder."""
    socket = Path(tempfile.mkdtemp(prefix="emds-code-")) / "socket"
    known = workspace({"socket": str(socket)})
    return {
        "code": code(root, "--socket", str(socket)),
        "webserver": webserver(known, ui_host, ui_port),
        "daemon": daemon(known),
    }


def code(root: Path, *where: str) -> list[str]:
    """The code server's command line. `where`: the options by which it listens."""
    loads = ("--module-name", "orchestration.definitions", "--working-directory", str(root))
    return [*_START, "dagster", "api", "grpc", *loads, *where, "--location-name", "emds", *_QUIET]


def webserver(known: Path, host: str, port: int) -> list[str]:
    """The web server's command line. `known`: the workspace file."""
    where = ("--host", host, "--port", str(port))
    return [*_START, "dagster-webserver", "--workspace", str(known), *where, *_QUIET]


def daemon(known: Path) -> list[str]:
    """The daemon's command line. `known`: the workspace file."""
    return [*_START, "dagster-daemon", "run", "--workspace", str(known), *_QUIET]


def workspace(server: Mapping[str, str | int]) -> Path:
    """A workspace file in DAGSTER_HOME with one code server, by its socket or its host and port."""
    file = Path(os.environ["DAGSTER_HOME"]) / "code_server.yaml"
    named = {"grpc_server": {**server, "location_name": "emds"}}
    file.write_text(json.dumps({"load_from": [named]}))  # JSON is YAML
    return file


def listens(argv: Sequence[str]) -> bool:
    """Whether the server of a command line is there for others: a code server once it has loaded, any other at once."""
    return "--socket" not in argv or Path(argv[argv.index("--socket") + 1]).exists()
