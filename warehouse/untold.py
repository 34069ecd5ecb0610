"""How no change is lost and none invented: it is noted before the file is put, and in the log once the file is there.

A kill leaves the note. The next writer of that month, or the next publication, finds it: where the file is still the
one of before, nothing was changed and the note goes; else the log gets the change, unless it has it already.
All of it under the month's lock.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import asdict

import orjson

from warehouse import artefact, change_log, changes, layout
from warehouse.bookkeeping import logged
from warehouse.changes import Change
from warehouse.errors import DamagedFile, StorageError
from warehouse.storage import Storage

_WAIT_S = 5.0
"""For a month that is being written: its writer tells its own changes."""


def note(storage: Storage, metric: str, zone: str, month: str, change: Change, before: bytes | None) -> None:
    """Notes a change before the served file is put; `before`: the file's bytes now, None where there is no file."""
    said = {
        "change": asdict(change),
        "token": secrets.token_hex(12),
        "before": _digest(before),
        "since": change_log.tail(storage),
    }
    storage.put(layout.untold(metric, zone, month), artefact.sealed(orjson.dumps(said)))


def tell(storage: Storage, metric: str, zone: str, month: str) -> None:
    """Brings what is noted of a month into the log, or drops it where its file was never put. Needs the month's lock.

    Raises StorageError.
    """
    key = layout.untold(metric, zone, month)
    stored = storage.get(key)
    if stored is None:
        return
    try:
        said = orjson.loads(artefact.unsealed(stored, key))
    except DamagedFile:
        # Nobody knows what it said: a reader of the whole month misses nothing.
        whole = changes.unreadable(metric, zone, month)
        change_log.append(storage, whole, secrets.token_hex(12), int(time.time()))
    else:
        if _digest(served_bytes(storage, metric, zone, month)) != said["before"]:
            change = change_log.change_of(said["change"])
            change_log.append(storage, change, said["token"], int(time.time()), said["since"])
    storage.delete(key)


def tell_all(storage: Storage) -> None:
    """Brings into the log what killed writers noted. A month that is being written is left to its writer."""
    for key in storage.keys(layout.UNTOLD):
        with logged(key):
            metric, zone, month = layout.of_untold(key)
            with storage.locked([layout.series(metric, zone, month)], _WAIT_S):
                tell(storage, metric, zone, month)


def served_bytes(storage: Storage, metric: str, zone: str, month: str) -> bytes | None:
    """The bytes of a month's served file, readable as rows or not: empty where they cannot be had at all."""
    try:
        return storage.get(layout.series(metric, zone, month))
    except StorageError:
        return b""


def _digest(body: bytes | None) -> str:
    return "" if body is None else hashlib.sha256(body).hexdigest()
