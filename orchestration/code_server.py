"""Dagster's servers under `emds up`: one code server that the web server and the daemon share, and these two.

Each would otherwise start a code server of its own, and the daemon a new one every minute. The code server listens on a
socket in a folder that only its owner may enter: whoever reaches it can start runs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def commands(root: Path, ui_port: int, ui_host: str) -> dict[str, list[str]]:
    """The command lines by name, the code server first. DAGSTER_HOME must be set; `root`: the project's folder."""
    socket = Path(tempfile.mkdtemp(prefix="emds-code-")) / "socket"
    workspace = Path(os.environ["DAGSTER_HOME"]) / "code_server.yaml"
    server = {"grpc_server": {"socket": str(socket), "location_name": "emds"}}
    workspace.write_text(json.dumps({"load_from": [server]}))  # JSON is YAML
    here, quiet = Path(sys.executable).parent, ("--log-level", "warning")
    code = ["--module-name", "orchestration.definitions", "--working-directory", str(root)]
    return {
        "code": [f"{here}/dagster", "api", "grpc", *code, "--socket", str(socket), "--location-name", "emds", *quiet],
        "webserver": [
            f"{here}/dagster-webserver",
            *("--workspace", str(workspace)),
            *("--host", ui_host),
            *("--port", str(ui_port)),
            *quiet,
        ],
        "daemon": [f"{here}/dagster-daemon", "run", "--workspace", str(workspace), *quiet],
    }


def listens(argv: Sequence[str]) -> bool:
    """Whether the server of a command line is there for others: a code server once it has loaded, any other at once."""
    return "--socket" not in argv or Path(argv[argv.index("--socket") + 1]).exists()
