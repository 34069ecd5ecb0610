"""Run the service in a process of its own, because GDAL waits for URLs with its process's interpreter locked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SERVER = """
import sys
from werkzeug.serving import make_server
from api.settings import Settings
from api.application import create_app
home = sys.argv[1]
app = create_app(Settings(
    home=home, database_url=f"sqlite:///{home}/gis.sqlite", free_calls_per_minute=0, sample_calls_per_day=0))
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Apart:
    """The URL of the service, and the log of its standard error."""

    address: str
    log: Path

    def calls(self, path: str) -> list[tuple[str, int]]:
        """Return the requests below `path`: the rest of each target, and the status of its response."""
        found = re.findall(r'"(?:\x1b\[\d+m)*GET (\S+) HTTP/1\.1(?:\x1b\[\d+m)*" (\d+)', self.log.read_text())
        return [(target.removeprefix(path), int(status)) for target, status in found if target.startswith(path)]


def serve_apart(home: Path, now: str, log: Path) -> Iterator[Apart]:
    """Yield the service over `home` at the time `now`, and end it when the caller is done."""
    command = [sys.executable, "-c", SERVER, str(home)]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env={**os.environ, "EMDS_NOW": now}, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout
        yield Apart(f"http://127.0.0.1:{int(server.stdout.readline())}", log)
        server.kill()
