"""What `emds up` costs while nobody asks anything: CPU, memory, processes, and how fast its storage grows.

    python -m tests.bench.idle [--tree FOLDER] [--minutes 5] [--stopped]

Starts `emds up` of a source tree over a small simulated warehouse and watches its whole process tree. `--stopped` turns
schedules and sensors off first: what is left is the cost of waiting. Linux only (/proc).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.stand_ins.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")
_SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": "emds"}


def tree(root: int) -> list[int]:
    """The process and all its descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds(pids: list[int]) -> float:
    """CPU of these processes and of those of their children that have ended."""
    total = 0
    for pid in pids:
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / _TICKS


def memory_mb(pids: list[int]) -> float:
    """Proportional set size: pages that processes share count once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def ask(url: str, query: str, **variables: object) -> dict[str, dict]:  # type: ignore[type-arg]
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]  # type: ignore[no-any-return]


def stop_automation(url: str) -> None:
    """Turns every schedule and sensor off."""
    query = "query($s: RepositorySelector!) { %sOrError(repositorySelector: $s) { ... on %s { results { id } } } }"
    for kind, mutation in (("schedules", "stopRunningSchedule"), ("sensors", "stopSensor")):
        found = ask(url, query % (kind, kind.capitalize()), s=_SELECTOR)[f"{kind}OrError"]["results"]
        for one in found:
            ask(url, f"mutation($i: String!) {{ {mutation}(id: $i) {{ __typename }} }}", i=one["id"])


def stored(home: Path) -> tuple[int, int]:
    """Bytes and files below EMDS_HOME/dagster."""
    files = [path for path in (home / "dagster").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--stopped", action="store_true")
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="emds-idle-"))
    api, ui = free_port(), free_port()
    environ = {k: v for k, v in os.environ.items() if not k.startswith("EMDS_")}
    environ |= {"PYTHONPATH": str(args.tree), "DAGSTER_HOME": "", "EMDS_HOME": str(home)}
    argv = [sys.executable, "-u", "-m", "orchestration.cli", "up", "--days", "2", "--port", str(api)]
    with subprocess.Popen(
        [*argv, "--ui-port", str(ui)], cwd=args.tree, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                if line.startswith("Dagster:") or "Ctrl-C stops everything" in line:
                    break
            if args.stopped:
                time.sleep(20)
                stop_automation(f"http://127.0.0.1:{ui}")
            time.sleep(60)  # all is loaded, first runs are under way or none are
            watch(process.pid, home, args.minutes * 60)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def watch(pid: int, home: Path, seconds: float) -> None:
    """Prints the means over a span."""
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
    main()
