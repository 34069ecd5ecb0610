"""Serve a container engine on loopback that runs each container as a process.

Docker's own client creates the containers. A process gets the environment of its container, the variables in `besides`,
HOME, PATH and PYTHONPATH, and inherits nothing else. A new folder replaces the folder `own` of the program that starts
the container. Images, networks and volumes are only recorded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.stand_ins.compose import ROOT


@dataclass
class Container:
    """The requested settings of a container, and its process after the start."""

    wanted: dict[str, Any]
    disk: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def environ(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.wanted["Env"])

    @property
    def status(self) -> str:
        if self.process is None:
            return "created"
        return "running" if self.process.poll() is None else "exited"


@dataclass
class Engine:
    """An engine that listens as soon as it is created."""

    folder: Path
    own: Path
    """The folder that each container replaces by a folder of its own."""
    besides: Mapping[str, str] = field(default_factory=dict)
    """Further environment variables that a test sets for the processes."""
    containers: dict[str, Container] = field(default_factory=dict)

    def __post_init__(self) -> None:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                engine._answer(self, "GET")

            def do_POST(self) -> None:
                engine._answer(self, "POST")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Return the value of DOCKER_HOST."""
        return f"tcp://127.0.0.1:{self.server.server_address[1]}"

    def running(self) -> list[Container]:
        """Return the containers whose process has not ended."""
        return [container for container in self.containers.values() if container.status == "running"]

    def close(self) -> None:
        """Stop the server and kill every container."""
        self.server.shutdown()
        self.server.server_close()
        for container in self.containers.values():
            if container.process is not None:
                container.process.kill()
                container.process.wait(30)

    def _answer(self, request: BaseHTTPRequestHandler, method: str) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        path = re.sub(r"^/v[\d.]+", "", request.path.partition("?")[0])
        status, answer = self._asked(method, path, body)
        sent = json.dumps(answer).encode() if status != 204 else b""
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(sent)))
        request.end_headers()
        request.wfile.write(sent)

    def _asked(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"ApiVersion": "1.47", "Version": "0"}
        if path == "/containers/create":
            number = f"{len(self.containers):064x}"
            disk = Path(tempfile.mkdtemp(prefix="container-", dir=self.folder))
            self.containers[number] = Container(json.loads(body), disk)
            return 201, {"Id": number, "Warnings": []}
        found = re.fullmatch(r"/containers/([0-9a-f]+)/(json|start|stop)", path)
        container = self.containers.get(found[1]) if found else None
        if found is None or container is None:
            return 404, {"message": f"{method} {path}"}
        if found[2] == "start":
            self._start(container)
        elif found[2] == "stop" and container.process is not None:
            container.process.terminate()
        if found[2] == "json":
            return 200, {"Id": found[1], "Name": "/run", "Config": {}, "State": {"Status": container.status}}
        return 204, None

    def _start(self, container: Container) -> None:
        def inside(text: str) -> str:
            return text.replace(str(self.own), str(container.disk))

        words = [inside(word) for word in container.wanted["Cmd"]]
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environ = {name: inside(value) for name, value in container.environ.items()}
        with (container.disk / "output.log").open("wb") as log:
            container.process = subprocess.Popen(
                words,
                cwd=ROOT,
                env=environ | dict(self.besides) | {"PATH": path, "HOME": str(container.disk), "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )
        threading.Thread(target=self._await_end, args=(container, container.process), daemon=True).start()

    def _await_end(self, container: Container, process: subprocess.Popen[bytes]) -> None:
        if process.wait() == 0:  # `auto_remove` does the same. The output of a failed container stays.
            shutil.rmtree(container.disk, ignore_errors=True)
