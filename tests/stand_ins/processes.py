"""Processes of this machine, by /proc: whether one runs, and what it has started."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process is there, and no ended one that waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes that one has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Every process below one."""
    own = children(pid)
    return own + [below for child in own for below in descendants(child)]
