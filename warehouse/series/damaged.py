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


def set_aside(storage: Storage, key: str, reason: str) -> None:
    """Move a file below `damaged/`, and mark a history's month. Raises StorageError.

    Not for the month files that are served: `copy_aside`.
    """
    if is_gone(storage, key):
        _mark(storage, key, reason)
    else:
        copy_aside(storage, key, reason)
        storage.delete(key)


def copy_aside(storage: Storage, key: str, reason: str) -> None:
    """Keep a served month file below `damaged/` before it is replaced, and mark its month. Raises StorageError."""
    _mark(storage, key, reason)
    target = layout.damaged(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key)
    storage.copy(key, target)
    _LOG.error("%s is damaged and was moved to %s: %s", key, target, reason)


def mark_gone(storage: Storage, key: str) -> None:
    """Mark the month of a file that is gone. Raises StorageError."""
    if is_gone(storage, key):
        _mark(storage, key, GONE)
        _LOG.error("%s %s", key, GONE)


def _mark(storage: Storage, key: str, reason: str) -> None:
    """The mark goes first: a kill after it leaves the file where it is, to be found again."""
    if layout.is_month_file(key):
        storage.put(layout.waiting(key), reason.encode())


def is_gone(storage: Storage, key: str) -> bool:
    """Whether nothing lies under a key, not even what cannot be read."""
    try:
        return storage.stat(key) is None
    except StorageError:
        return False


def waiting(storage: Storage) -> list[str]:
    """Keys of the month files whose months have to be made again. Raises StorageError."""
    return [key.removeprefix(layout.WAITING) for key in storage.keys(layout.WAITING)]


def settle(storage: Storage, key: str) -> None:
    """Remove the mark of a month that was made again. Raises StorageError."""
    storage.delete(layout.waiting(key))
