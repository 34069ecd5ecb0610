"""Look up processes of this machine in /proc: whether a process runs, and which children it has."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """Return whether a process exists and is not a zombie that waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Return every process below a process."""
    own = children(pid)
    return own + [below for child in own for below in descendants(child)]
