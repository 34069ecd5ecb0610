"""How no change is lost and none invented: it is noted before the file is put, and in the log once the file is there.

A kill leaves the note. The next writer of that month, or the next publication, finds it: where the file is still the
one of before, nothing was changed and the note goes; else the log gets the change, unless it has it already.
All of it under the month's lock.

Data goes first: where a change can be neither noted nor told, the rows are stored all the same, and followers are sent
back to the beginning as soon as the log can be written again.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import asdict
from typing import NamedTuple

import orjson

from warehouse import artefact, change_log, changes, layout
from warehouse.bookkeeping import logged
from warehouse.changes import Change
from warehouse.errors import DamagedFile, StorageError
from warehouse.storage import Storage

_WAIT_S = 5.0
"""For a month that is being written: its writer tells its own changes."""


class _Note(NamedTuple):
    change: Change
    token: str
    before: str
    """Digest of the file of before."""
    since: int
    """A segment of the log that was not behind its end."""


def note(storage: Storage, metric: str, zone: str, month: str, change: Change, before: bytes | None) -> bool:
    """Notes a change before the served file is put; `before`: the file's bytes now, None where there is no file.

    Never raises: what cannot be noted is logged, and marked as missing in the log of changes. Whether it is noted.
    """
    key = layout.untold(metric, zone, month)
    with logged(key) as noting:
        said = {
            "change": asdict(change),
            "token": secrets.token_hex(12),
            "before": _digest(before),
            "since": change_log.tail(storage),
        }
        if storage.stat(key) is not None:
            raise StorageError(f"{key} holds a change that could not be told")
        storage.put(key, artefact.sealed(orjson.dumps(said)))
    if noting.error is not None:
        _mark_missed(storage)
    return noting.error is None


def _mark_missed(storage: Storage) -> None:
    with logged(layout.CHANGES_MISSED), storage.locked([layout.CHANGES_MISSED]):
        storage.put(layout.CHANGES_MISSED, b"")


def tell(storage: Storage, metric: str, zone: str, month: str, noted: bool = True) -> None:
    """Brings what is noted of a month into the log, or drops it where its file was never put. Needs the month's lock.

    `noted`: what `note` said, once the file is put. Never raises: what cannot be told is logged, and the note stays.
    """
    if not noted:
        # Again: whoever found the mark of before may have sent followers to rows that were not in place yet.
        _mark_missed(storage)
    key = layout.untold(metric, zone, month)
    with logged(key):
        stored = storage.get(key)
        if stored is not None:
            _tell(storage, layout.series(metric, zone, month), stored)
            storage.delete(key)


def _tell(storage: Storage, series: str, stored: bytes) -> None:
    metric, zone, month, _ = layout.of_series(series)
    now = int(time.time())
    try:
        said = _said(stored, layout.untold(metric, zone, month))
    except DamagedFile:
        # Nobody knows what it said: a reader of the whole month misses nothing.
        change_log.append(storage, changes.unreadable(metric, zone, month), secrets.token_hex(12), now)
        return
    if _digest(served_bytes(storage, metric, zone, month)) != said.before:
        change_log.append(storage, said.change, said.token, now, said.since)


def tell_all(storage: Storage) -> None:
    """Brings into the log what killed writers noted. A month that is being written is left to its writer.

    Where the log misses a change for good, followers are sent back to the beginning. Raises StorageError.
    """
    for key in storage.keys(layout.UNTOLD):
        with logged(key):
            metric, zone, month = layout.of_untold(key)
            with storage.locked([layout.series(metric, zone, month)], _WAIT_S):
                tell(storage, metric, zone, month)
    if storage.stat(layout.CHANGES_MISSED) is not None:
        with storage.locked([layout.CHANGES_MISSED]):
            change_log.break_off(storage, int(time.time()))
            storage.delete(layout.CHANGES_MISSED)


def served_bytes(storage: Storage, metric: str, zone: str, month: str) -> bytes | None:
    """The bytes of a month's served file, readable as rows or not: empty where they cannot be had at all."""
    try:
        return storage.get(layout.series(metric, zone, month))
    except StorageError:
        return b""


def _said(stored: bytes, key: str) -> _Note:
    """Raises DamagedFile."""
    try:
        said = orjson.loads(artefact.unsealed(stored, key))
        return _Note(change_log.change_of(said["change"]), said["token"], said["before"], said["since"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(key, "it is not a note of a change") from error


def _digest(body: bytes | None) -> str:
    return "" if body is None else hashlib.sha256(body).hexdigest()
