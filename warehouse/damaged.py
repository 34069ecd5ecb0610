"""Damaged files: each is moved below `damaged/`. A mark stands for a month until it is made again from kept bytes."""

from __future__ import annotations

import logging
import secrets
from datetime import UTC, datetime

from warehouse import artefact, changes, layout, untold
from warehouse.errors import StorageError
from warehouse.storage import Storage

_LOG = logging.getLogger("emds.warehouse")
GONE = "is gone, though the catalogue counts rows of it or its history lies there"


def set_aside(storage: Storage, key: str, reason: str) -> None:
    """Move a file below `damaged/`, and mark a month file's month. The caller holds the file's lock.

    Raises StorageError.
    """
    month = layout.is_month_file(key)
    if month:
        # The mark first: a kill in between leaves the file where it is, to be found again.
        storage.put(layout.waiting(key), reason.encode())
    if is_gone(storage, key):
        _LOG.error("%s %s", key, reason)
        return
    target = layout.damaged(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", key)
    served = month and not layout.of_series(key)[-1]
    noted = served and _note_change(storage, *layout.of_series(key)[:3])
    storage.move(key, target)
    if served:
        untold.tell(storage, *layout.of_series(key)[:3], noted)
    _LOG.error("%s is damaged and was moved to %s: %s", key, target, reason)


def is_gone(storage: Storage, key: str) -> bool:
    """Whether nothing lies under a key, not even what cannot be read."""
    try:
        return storage.stat(key) is None
    except StorageError:
        return False


def _note_change(storage: Storage, metric: str, zone: str, month: str) -> bool:
    """Notes for followers that nothing of the month is served for now; whether it is noted."""
    untold.tell(storage, metric, zone, month)
    before = untold.served_bytes(storage, metric, zone, month)
    return untold.note(storage, metric, zone, month, changes.unreadable(metric, zone, month), before)


def waiting(storage: Storage) -> list[str]:
    """Keys of the month files whose months have to be made again. Raises StorageError."""
    return [key.removeprefix(layout.WAITING) for key in storage.keys(layout.WAITING)]


def settle(storage: Storage, key: str) -> None:
    """Remove the mark of a month that was made again. Raises StorageError."""
    storage.delete(layout.waiting(key))


def missing(storage: Storage) -> list[str]:
    """Keys of served month files that are gone: the last catalogue counted rows of them, or their history lies there.

    None where the counts cannot be read, or the files not be listed.
    """
    try:
        counted = artefact.load(storage, layout.SPANS) or {}
        wanted = {key for key, count in counted.items() if _counts_rows(count)}
        for key in filter(layout.is_month_file, storage.keys(layout.history_prefix())):
            wanted.add(layout.series(*layout.of_series(key)[:3]))
        lost = wanted - set(storage.keys(layout.series_prefix())) - set(waiting(storage))
    except StorageError:
        return []
    return [key for key in sorted(lost) if layout.is_month_file(key) and is_gone(storage, key)]


def _counts_rows(count: object) -> bool:
    """Whether a file was counted with rows of its zone or of a border (`warehouse.catalogue.spans`)."""
    return isinstance(count, list) and len(count) == 5 and bool(count[1] or count[4])


def mark_missing(storage: Storage) -> list[str]:
    """Mark the months of files that are gone, before the next catalogue forgets them; return their keys."""
    lost = missing(storage)
    for key in lost:
        with storage.locked([key]):
            if is_gone(storage, key):
                set_aside(storage, key, GONE)
    return lost
