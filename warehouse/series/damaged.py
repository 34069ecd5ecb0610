"""Quarantine damaged files below `damaged/`. A damaged monthly file is marked and stays in place, and readers refuse
it. The rebuild that replaces it copies its bytes below `damaged/`. All other damaged files are moved there.
"""

from __future__ import annotations

import logging
import secrets
from datetime import UTC, datetime

from warehouse.errors import StorageError
from warehouse.store import layout
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.warehouse")
GONE = "is missing, but the catalogue counts its rows or its history exists"


def mark(storage: Storage, key: str, reason: str) -> None:
    """Mark the month of a damaged file for the next rebuild and leave the file in place. Raises StorageError.

    Each mark differs from the previous one, so that a rebuild notices new marks made during its work.
    """
    storage.put(layout.waiting(key), f"{reason}\n{secrets.token_hex(4)}".encode())
    _LOG.error("%s waits for a rebuild: %s", key, reason)


def set_aside(storage: Storage, key: str, reason: str, is_replaced: bool = False) -> None:
    """Move an existing file below `damaged/`. Raises StorageError.

    If `is_replaced`, the caller replaces the file: it is copied, so that readers of a served month always find a file.
    """
    if not is_gone(storage, key):
        storage.copy(key, layout.damaged(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key))
        if not is_replaced:
            storage.delete(key)
    _LOG.error("%s is set aside below %s: %s", key, layout.DAMAGED, reason)


def mark_gone(storage: Storage, key: str) -> None:
    """Mark the month of a missing file and write an empty file, which no reader accepts. Raises StorageError."""
    if is_gone(storage, key):
        storage.update(key, lambda stored: b"" if stored is None else None)
        mark(storage, key, GONE)


def is_gone(storage: Storage, key: str) -> bool:
    """Return whether a key has no file, not even an unreadable one."""
    try:
        return storage.stat(key) is None
    except StorageError:
        return False


def waiting(storage: Storage) -> list[str]:
    """Return the keys of the monthly files that are marked for a rebuild. Raises StorageError."""
    return [key.removeprefix(layout.WAITING) for key in storage.keys(layout.WAITING)]
