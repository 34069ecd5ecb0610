"""Measure what `emds up` costs without requests: CPU, memory, processes, and how fast its storage grows.

    python -m tests.bench.idle [MINUTES]

The benchmark starts `emds up` over a small simulated warehouse and watches the whole process tree, for five minutes by
default. It works only on Linux (/proc).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.stand_ins.ports import free_port
from tests.stand_ins.processes import descendants

ROOT = Path(__file__).resolve().parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Return the process and all its descendants."""
    return [root, *descendants(root)]


def cpu_seconds(pids: list[int]) -> float:
    """Return the CPU seconds of these processes and of their children that have ended."""
    total = 0
    for pid in pids:
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / _TICKS


def memory_mb(pids: list[int]) -> float:
    """Return the proportional set size in MB, which counts pages shared by processes once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def stored(home: Path) -> tuple[int, int]:
    """Return the bytes and the number of files below EMDS_HOME/dagster."""
    files = [path for path in (home / "dagster").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def main(minutes: float = 5) -> None:
    home = Path(tempfile.mkdtemp(prefix="emds-idle-"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EMDS_")}
    environ |= {"DAGSTER_HOME": "", "EMDS_HOME": str(home)}
    ports = ["--port", str(free_port()), "--ui-port", str(free_port())]
    argv = [sys.executable, "-u", "-m", "orchestration.cli", "up", "--days", "2", *ports]
    with subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                if "Ctrl-C stops everything" in line:
                    break
            time.sleep(60)  # by now all is loaded, and any first runs have started
            watch(process.pid, home, minutes * 60)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def watch(pid: int, home: Path, seconds: float) -> None:
    """Watch for `seconds`, and print the means."""
    begun, cpu, before = time.monotonic(), cpu_seconds(tree(pid)), stored(home)
    memory, most = [], 0
    while time.monotonic() < begun + seconds:
        pids = tree(pid)
        memory.append(memory_mb(pids))
        most = max(most, len(pids))
        time.sleep(5)
    took, after = time.monotonic() - begun, stored(home)
    share = 100 * (cpu_seconds(tree(pid)) - cpu) / took
    day = 86400 / took
    print(f"CPU {share:.1f} % of one core, memory {sorted(memory)[len(memory) // 2]:.0f} MB (most {max(memory):.0f})")
    print(f"processes at most {most}; Dagster's storage grows by {(after[0] - before[0]) * day / 1e6:.1f} MB and")
    print(f"{(after[1] - before[1]) * day:.0f} files a day before retention ({took:.0f} s watched)")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
