"""Measure what a backfill of simulated publishers by the command line costs: rows per CPU second, and peak memory.

    python -m tests.bench.backfill [--feed elexon.demand --start 2021-11-01 --end 2026-10-31]

Without `--feed`, all feeds are measured. CPU includes processes that have ended. Memory is the proportional set size of
the whole process tree, read twice per second. This works only on Linux (/proc, prctl).
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from tests.bench.idle import ROOT, memory_mb, tree

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: this process adopts workers whose parent ended, so that their CPU is counted."""
NOW = "2026-11-20T12:00:00Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--feed")
    parser.add_argument("--start", default="2026-10-01")
    parser.add_argument("--end", default="2026-10-31")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="emds-backfill-") as home:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EMDS_")}
        environ |= {"DAGSTER_HOME": "", "EMDS_HOME": home, "EMDS_NOW": NOW}
        chosen = ["--feed", args.feed] if args.feed else []
        span = ["--start", args.start, "--end", args.end]
        argv = [sys.executable, "-m", "orchestration.cli", "backfill", *span, *chosen]
        begun = time.monotonic()
        with subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL) as process:
            memory = watch(process)
        took = time.monotonic() - begun
        rows = held(Path(home))
        cpu = cpu_of_ended()
    print(f"{args.feed or 'all feeds'} {args.start}..{args.end}: exit code {process.returncode}, {rows} rows held")
    print(f"{cpu:.0f} CPU s ({rows / cpu:.0f} rows a CPU second) in {took:.0f} s, memory at most {memory:.0f} MB")


def watch(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of `process`, and return the peak memory in MB."""
    most = 0.0
    while process.poll() is None:
        most = max(most, memory_mb(tree(process.pid)))
        time.sleep(0.5)
    return most


def cpu_of_ended() -> float:
    """Wait for the end of all descendants, and return their CPU seconds."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def held(home: Path) -> int:
    """Return the number of rows in all monthly files, both served and history."""
    files = [path for root in ("series", "history") for path in (home / root).rglob("*.parquet")]
    return sum(int(pq.read_metadata(path).num_rows) for path in files)


if __name__ == "__main__":
    main()
