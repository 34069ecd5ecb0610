"""Damaged files. A damaged month file gets a mark and stays where it is until a rebuild replaces it, so that readers
refuse it; its bytes are then copied below `damaged/`. Any other damaged file is moved there.
"""

from __future__ import annotations

import logging
import secrets
from datetime import UTC, datetime

from warehouse.errors import StorageError
from warehouse.store import layout
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.warehouse")
GONE = "is gone, though the catalogue counts rows of it or its history lies there"


def mark(storage: Storage, key: str, reason: str) -> None:
    """Mark the month of a damaged file for the next rebuild, and leave the file. Raises StorageError.

    Each mark differs from the one before it, so that a rebuild sees what was marked while it worked.
    """
    storage.put(layout.waiting(key), f"{reason}\n{secrets.token_hex(4)}".encode())
    _LOG.error("%s waits for a rebuild: %s", key, reason)


def set_aside(storage: Storage, key: str, reason: str, is_replaced: bool = False) -> None:
    """Move a file, if it is there, below `damaged/`. Raises StorageError.

    `is_replaced`: the caller puts another in its place. That of a month is served: readers must never miss it.
    """
    if not is_gone(storage, key):
        storage.copy(key, layout.damaged(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key))
        if not is_replaced:
            storage.delete(key)
    _LOG.error("%s is set aside below %s: %s", key, layout.DAMAGED, reason)


def mark_gone(storage: Storage, key: str) -> None:
    """Mark the month of a file that is gone, and put an empty one, which no reader accepts. Raises StorageError."""
    if is_gone(storage, key):
        storage.update(key, lambda stored: b"" if stored is None else None)
        mark(storage, key, GONE)


def is_gone(storage: Storage, key: str) -> bool:
    """Whether nothing lies under a key, not even what cannot be read."""
    try:
        return storage.stat(key) is None
    except StorageError:
        return False


def waiting(storage: Storage) -> list[str]:
    """Keys of the month files whose months have to be made again. Raises StorageError."""
    return [key.removeprefix(layout.WAITING) for key in storage.keys(layout.WAITING)]
