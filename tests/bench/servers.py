"""Start, await and end the servers of the HTTP benchmarks, and create keys for emds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.keys import Keys
from orchestration.servers import serve
from warehouse.market.clock import iso

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_795_176_000
"""The current time of the benchmarks' generated warehouses, in Unix seconds."""
KEYS = 1000
"""The number of keys; each allows 500 responses, so that all runs together stay below the quota."""


def on_core(number: int) -> list[str]:
    """Return the command prefix that keeps a process on one core, or nothing on a machine with a single core."""
    return ["taskset", "-c", str(number)] if shutil.which("taskset") and (os.cpu_count() or 1) > 1 else []


@contextmanager
def running(
    command: list[str], environ: dict[str, str], url: str, folder: Path = ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a server once it responds at `url`. Raises RuntimeError if it ends before."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=folder, env=os.environ | environ, stdout=subprocess.DEVNULL, stderr=log)
        try:
            while not _answers(url):
                if process.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"{command} ended: {log.read().decode()[-2000:]}")
                time.sleep(0.01)
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def gunicorn(app: str, port: int, *options: str) -> list[str]:
    """Return the service's own gunicorn command for any application."""
    config = str(ROOT / "api" / "gunicorn.conf.py")
    return [sys.executable, "-m", "gunicorn", "--config", config, "--bind", f"127.0.0.1:{port}", *options, app]


def ours(home: Path, port: int, workers: int = 1) -> tuple[list[str], dict[str, str]]:
    """Return the command and environment of the API over a warehouse, without limits per client."""
    environ = serve.ENVIRONMENT | {
        "EMDS_KEY_CALLS_PER_SECOND": "0",
        "EMDS_HOME": str(home),
        "EMDS_NOW": iso(NOW),
        "EMDS_FREE_CALLS_PER_MINUTE": "0",
        "EMDS_SAMPLE_CALLS_PER_DAY": "0",
        "WEB_CONCURRENCY": str(workers),
    }
    return serve.command(port), environ


def keys(home: Path, holder: str = "reader") -> list[str]:
    """Return headers with more keys than a run uses up; a repeated call names another holder."""
    accounts = Keys(Database(f"sqlite:///{home / 'accounts.sqlite'}"))
    secrets = [
        sign_ups.sign_up(accounts.database, f"{holder}{i}@example.org", "bench", int(time.time()))[0]
        for i in range(KEYS)
    ]
    accounts.database.close()
    return [f"Authorization: Bearer {key}" for key in secrets]


def fetch(url: str, header: str = "") -> tuple[bytes, str]:
    """Return the body and ETag of one response."""
    name, _, value = header.partition(": ")
    request = urllib.request.Request(url, headers={name: value} if header else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read(), answer.headers.get("ETag", "")


def resident(process: subprocess.Popen[bytes]) -> int:
    """Return the worker's resident memory in kilobytes."""
    child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{child}/status").read_text())[1])  # type: ignore[index]
