"""Month files that are gone: the last catalogue counted rows of them, and nothing lies there nor waits for a repair.

A served month file is written anew, or set aside with a note, but never removed: where its rows are withdrawn or
withheld, an empty one stays.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from warehouse import artefact, damaged, layout
from warehouse.errors import StorageError
from warehouse.storage import Storage

_LOG = logging.getLogger("emds.warehouse")
REASON = "is gone, though the catalogue counts rows of it"


def find(storage: Storage) -> list[str]:
    """Keys of the month files that are gone; none where the counts cannot be read, or the files not be listed."""
    try:
        counted: Mapping[str, Any] = artefact.load(storage, layout.SPANS) or {}
        # In this order: whoever sets a file aside notes it first, and moves it then.
        there = set(storage.keys(layout.series_prefix()))
    except StorageError:
        return []
    absent = [key for key, count in counted.items() if key not in there and _holds_rows(count)]
    waiting = {damage.key for damage in damaged.pending(storage)} if absent else set()
    return [key for key in absent if layout.is_month_file(key) and key not in waiting and _is_gone(storage, key)]


def note(storage: Storage) -> list[str]:
    """Notes each as damaged, so that it is made again though the next catalogue knows nothing of it; returns them."""
    gone = find(storage)
    for key in gone:
        with storage.locked([key]):
            if _is_gone(storage, key):
                damaged.note(storage, key, REASON)
                _LOG.error("%s %s", key, REASON)
    return gone


def _holds_rows(count: Any) -> bool:
    """Whether a file was counted with rows of its zone or of a border (`warehouse.catalogue.spans`)."""
    return isinstance(count, list) and len(count) == 5 and bool(count[1] or count[4])


def _is_gone(storage: Storage, key: str) -> bool:
    try:
        return storage.stat(key) is None
    except StorageError:
        return False  # something lies there that cannot be read
