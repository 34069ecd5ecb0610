"""Look up in /proc whether a process of this machine runs, and which children it has."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """Return whether the process `pid` exists and is not a zombie that waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Return the process IDs of the children of `pid`."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Return the process IDs of all descendants of `pid`."""
    own = children(pid)
    return own + [below for child in own for below in descendants(child)]
