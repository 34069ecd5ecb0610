"""`python -m tests.campaigns.hour PID MINUTES`: CPU and memory of a running `emds up`, from /proc.

CPU time is what its processes and those that they waited for have used: what else the machine does changes nothing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The processes below a process, itself among them."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, queue = [], [root]
    while queue:
        found.append(queue.pop())
        queue += children.get(found[-1], [])
    return found


def cpu_s(processes: list[int]) -> float:
    """CPU seconds of these processes and of the children that they waited for."""
    total = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / TICKS


def pss_mb(processes: list[int]) -> float:
    """Proportional memory: what several share counts once."""
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total / 1024


def main(root: int, minutes: float) -> None:
    """Prints a line a minute, then the share of one core and the least and most memory."""
    begun, before, memory = time.time(), cpu_s(tree(root)), []
    while time.time() < begun + 60 * minutes:
        time.sleep(5)
        memory.append(pss_mb(tree(root)))
        if len(memory) % 12 == 0:
            used, passed = cpu_s(tree(root)) - before, time.time() - begun
            print(f"{passed:5.0f} s  {used:6.1f} CPU s  {100 * used / passed:4.1f} %  {memory[-1]:5.0f} MB", flush=True)
    used, passed = cpu_s(tree(root)) - before, time.time() - begun
    print(f"{100 * used / passed:.1f} % of one core; {min(memory):.0f} MB at rest, {max(memory):.0f} MB at most")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
