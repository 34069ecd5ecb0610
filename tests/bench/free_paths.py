"""CPU time of a call of every free path inside the application, asked again and again: no sockets, no other thread.

    python -m tests.bench.free_paths

Over the warehouse of EMDS_HOME, else over two simulated days, which it fills first. What the calls of a publication or
a second have in common is made once; what is left is what each call makes anew. The slowest first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from api.endpoints import ENDPOINTS
from api.geo.collections import COLLECTIONS
from api.geo.parameters import FORMATS
from tests.bench.profile import Questions, ask

ROUNDS, CALLS = 3, 50


def paths() -> list[str]:
    """The free GETs without credentials: those with a zone for GB, items of collections, every format of the layers."""
    listed = [
        endpoint.path.replace("{zone}", "GB")
        for endpoint in ENDPOINTS.values()
        if endpoint.method == "GET" and not endpoint.paid and "{" not in endpoint.path.replace("{zone}", "")
    ]
    listed += ["/v1/changes?since=now"]  # what a follower asks for again and again
    items = [f"/v1/geo/collections/{name}/items" for name in COLLECTIONS]
    layers = [f"/v1/geo/{layer}.{suffix}" for layer, suffixes in FORMATS.items() for suffix in suffixes]
    return [*dict.fromkeys([*listed, *items, "/v1/geo/collections/zones/items/GB", *layers])]


def seconds(app: Any, path: str) -> float | None:
    """CPU seconds a call, the best of a few rounds; None for a path that does not answer 200 here."""
    questions = Questions(path, [path], 1)
    try:
        ask(app, [""], questions, [path])
    except RuntimeError:
        return None
    found = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        ask(app, [""], questions, [path] * CALLS)
        found.append((time.process_time() - begun) / CALLS)
    return min(found)


def filled(home: Path) -> str:
    """A warehouse of two simulated days."""
    command = [sys.executable, "-m", "orchestration.cli", "fill", "--days", "2"]
    subprocess.run(command, check=True, env={**os.environ, "EMDS_HOME": str(home)}, stdout=subprocess.DEVNULL)
    return str(home)


def main() -> None:
    """Prints the table."""
    log = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the access log
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EMDS_HOME"] = os.environ.get("EMDS_HOME") or filled(Path(folder))
        os.environ["EMDS_FREE_CALLS_PER_MINUTE"] = "0"
        lines = table()
    os.write(log, "\n".join([*lines, ""]).encode())


def table() -> list[str]:
    """A line a path, the slowest first."""
    from api.wsgi import app  # reads its settings when it is imported

    found = {path: took for path in paths() if (took := seconds(app, path)) is not None}
    return [f"{took * 1e6:8.0f} us  {path}" for path, took in sorted(found.items(), key=lambda pair: -pair[1])]


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
