"""Damaged files: each is moved below `damaged/`. A mark stands for a month until it is made again from kept bytes."""

from __future__ import annotations

import logging
import secrets
from datetime import UTC, datetime

from warehouse.errors import StorageError
from warehouse.store import layout
from warehouse.store.storage import Storage

_LOG = logging.getLogger("emds.warehouse")
GONE = "is gone, though the catalogue counts rows of it or its history lies there"


def set_aside(storage: Storage, key: str, reason: str, is_replaced: bool = False) -> None:
    """Move a file, if it is there, below `damaged/`, and mark a month's. Raises StorageError.

    `is_replaced`: the caller puts another in its place. That of a month is served: readers must never miss it.
    """
    if layout.is_month_file(key):  # the mark goes first: a kill after it leaves the file where it is, to be found again
        storage.put(layout.waiting(key), reason.encode())
    if not is_gone(storage, key):
        storage.copy(key, layout.damaged(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key))
        if not is_replaced:
            storage.delete(key)
    _LOG.error("%s is set aside below %s: %s", key, layout.DAMAGED, reason)


def mark_gone(storage: Storage, key: str) -> None:
    """Mark the month of a file that is gone. Raises StorageError."""
    if is_gone(storage, key):
        set_aside(storage, key, GONE)


def is_gone(storage: Storage, key: str) -> bool:
    """Whether nothing lies under a key, not even what cannot be read."""
    try:
        return storage.stat(key) is None
    except StorageError:
        return False


def waiting(storage: Storage) -> list[str]:
    """Keys of the month files whose months have to be made again. Raises StorageError."""
    return [key.removeprefix(layout.WAITING) for key in storage.keys(layout.WAITING)]
