"""Measure the CPU time per response of each server in turn, which also holds while other work shares the cores.

    python -m tests.bench.cpu_per_answer [SECONDS]

Each server has one worker over one year of all series, and four connections. The result is the CPU seconds of the
server's processes divided by the number of responses. One server is emds, whose calls all have keys and are counted.
The others are a bare Flask route that returns a day's bytes under the same gunicorn, and FastAPI + DuckDB and Datasette
over the same rows.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.peers import prepared
from tests.bench.random_questions import every_series, questions
from tests.bench.servers import ROOT, fetch, gunicorn, keys, ours, running
from tests.stand_ins.ports import free_port
from tests.stand_ins.processes import descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_FINE = [pair for pair in every_series() if pair[0][:2] in ("US", "AU")]
PATHS: Mapping[str, Sequence[str]] = {
    "random day": [path for path in questions(4, 1, 1, every_series()) if "format=" not in path],
    "5,000 rows": [path for path in questions(3, 18, 1, _FINE) if "format=" not in path],
}
DOCUMENTS = ["/v1/latest/GB", "/v1/latest/FR", "/v1/brief/GB"]


def main(seconds: int = 5) -> None:
    """Print a line per server and request."""
    home, port = warehouse(1), free_port()
    base = f"http://127.0.0.1:{port}"
    command, environ = ours(home, port)
    with running(command, environ, f"{base}/readyz") as process:
        headers = keys(home, f"cpu {os.getpid()}")
        day = fetch(base + PATHS["random day"][0], headers[0])[0]
        for name, paths in {**PATHS, "keyed document": DOCUMENTS}.items():
            _print("emds", name, process.pid, base, headers, paths, seconds)
    with tempfile.TemporaryDirectory() as bodies:
        Path(bodies, "day").write_bytes(day)
        command = gunicorn("bare:app", port, "--pythonpath", str(ROOT / "tests" / "bench"))
        with running(command, {"BENCH_BODIES": bodies, "WEB_CONCURRENCY": "1"}, f"{base}/day") as process:
            _print("bare route", "a day's bytes", process.pid, base, (), ["/day"], seconds)
    for peer in prepared(home, free_port(), 1):
        at = PATHS["random day"][0]
        with running(peer.command, peer.environ, peer.base + peer.path(at), peer.folder) as process:
            for name, paths in PATHS.items():
                _print(peer.name, name, process.pid, peer.base, (), paths, seconds, peer.path)


def _print(
    server: str,
    question: str,
    pid: int,
    base: str,
    headers: Sequence[str],
    paths: Sequence[str],
    seconds: int,
    path_of: Callable[[str], str] = str,
) -> None:
    asked = [path_of(path) for path in paths]
    wrk.run(base, headers, connections=4, paths=asked[::-1])  # by the end of this run, every process of a server exists
    before = _cpu(pid)
    count = wrk.run(base, headers, connections=4, seconds=seconds, paths=asked).count
    used = (_cpu(pid) - before) / count
    print(f"{server:18} {question:16} {used * 1e6:8.0f} us an answer ({count} answers)", flush=True)


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its children so far."""
    return sum(float(sum(map(int, _stat(each)[11:13]))) for each in (pid, *descendants(pid))) / _TICKS


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
