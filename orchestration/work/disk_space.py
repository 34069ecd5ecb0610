"""Refuse work on a disk that is nearly full, with one error instead of a failure per write."""

from __future__ import annotations

import shutil
from pathlib import Path

from warehouse.errors import StorageError

LEAST_BYTES = 100_000_000
"""Free bytes that a command needs to start its next run; Dagster's SQLite files and the documents use some of them."""


def require_space(folder: Path) -> None:
    """Raise StorageError if fewer than LEAST_BYTES are free on the disk of a folder, which need not exist yet."""
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
    if free < LEAST_BYTES:
        raise StorageError(
            f"the disk of {folder} is full: {free / 1e6:.0f} MB are free, and emds needs {LEAST_BYTES / 1e6:.0f} MB. "
            "Free some space, then run the command again; it continues where it stopped."
        )
