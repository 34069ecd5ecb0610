"""`emds verify`: reads every file of a warehouse and tells what is broken. Changes nothing, and stops at nothing."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import orjson

from assets import first_days
from warehouse import artefact, attempts, change_log, damaged, layout, manifest, modes, monthfile, raw, release
from warehouse.clock import month_window
from warehouse.errors import DamagedFile, StorageError
from warehouse.metrics import YEARLY
from warehouse.storage import Storage
from warehouse.versions import Versions


class Fault(NamedTuple):
    """What is wrong with one file or folder. `movable`: it is damaged, so that `emds repair` sets it aside."""

    key: str
    reason: str
    movable: bool = False


_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
"""Errors that reading a damaged file may raise unforeseen: the file is named, and the others are read."""

Check = Callable[[Storage, str], object]
"""Reads one file; raises what is wrong with it."""


def broken(storage: Storage) -> list[str]:
    """One line a fault."""
    return [f"{fault.key}: {fault.reason}" for fault in faults(storage)]


def faults(storage: Storage) -> Iterator[Fault]:
    """Every fault of a warehouse: unreadable, cut and changed files, rows out of place, and what waits for a repair."""
    for key in (layout.SCHEMA, layout.MODE, layout.PRUNED):
        yield from _of_file(storage, key, _small)
    if _mode_known(storage):
        for prefix in (layout.series_prefix(), layout.history_prefix()):
            yield from _of_files(storage, prefix, _month)
        yield from _lost_histories(storage)
        yield from _of_files(storage, layout.RAW, _body)
    else:
        yield Fault(layout.MODE, "month files and kept bodies were not read: nobody knows whose rows they may hold")
    yield from (Fault(key, damaged.GONE, movable=True) for key in manifest.missing(storage))
    yield from _of_files(storage, layout.published(), _document)
    yield from _of_files(storage, layout.QUARANTINE, _quarantined)
    yield from _of_files(storage, layout.CHANGES, change_log.check)
    yield from _of_file(storage, layout.FIRST_DAYS, _first_days)
    yield from _of_files(storage, layout.ATTEMPTS, _attempts)
    yield from _of_file(storage, layout.ACCOUNTS, _accounts)
    for key in damaged.waiting(storage):
        yield Fault(key, f"waits for `emds repair`: {(storage.get(layout.waiting(key)) or b'').decode()}")
    yield from (Fault("folder", line) for line in storage.unreadable())


def _lost_histories(storage: Storage) -> Iterator[Fault]:
    """What cannot be listed or read here is named by itself."""
    keys: list[str] = []
    with suppress(StorageError):
        keys = [key for key in storage.keys(layout.series_prefix()) if layout.is_month_file(key)]
    for key in keys:
        with suppress(StorageError):
            past = monthfile.past(storage, key)
            if past is not None and past.history is not None and storage.stat(past.history) is None:
                yield Fault(past.history, f"is gone, though {key} names it", movable=True)


def _mode_known(storage: Storage) -> bool:
    try:
        modes.get(storage)
    except StorageError:
        return False
    return True


def _of_files(storage: Storage, prefix: str, check: Check) -> Iterator[Fault]:
    try:
        keys = storage.keys(prefix)
    except StorageError as error:
        yield Fault(prefix, str(error))
        return
    for key in keys:
        yield from _of_file(storage, key, check)
    for folder in storage.folders(prefix):
        if "." in folder.rsplit("/", 1)[1]:
            yield Fault(folder, "is a folder where a file was", movable=True)


def _of_file(storage: Storage, key: str, check: Check) -> Iterator[Fault]:
    try:
        check(storage, key)
    except DamagedFile as error:
        yield Fault(key, error.reason, movable=True)
    except StorageError as error:
        yield Fault(key, str(error))
    except _UNFORESEEN as error:
        yield Fault(key, f"cannot be checked: {type(error).__name__}: {str(error)[:120]}", movable=True)


def _small(storage: Storage, key: str) -> None:
    if key == layout.SCHEMA:
        release.check(storage)
    elif key == layout.MODE:
        modes.get(storage)
    elif not (storage.get(key) or b"0").strip().isdigit():
        raise DamagedFile(key, "holds no instant")


def _month(storage: Storage, key: str) -> None:
    if not layout.is_month_file(key):
        raise StorageError("no month file")
    metric, _, month, is_history = layout.of_series(key)
    versions = monthfile.versions(storage, key)
    window = month_window(month)
    if len(versions) and not (window.start <= versions.ts.min() and versions.ts.max() < window.end):
        raise DamagedFile(key, "rows outside its month")
    if not np.array_equal(versions.order(), np.arange(len(versions))):
        raise DamagedFile(key, "rows out of order")
    if not is_history and metric not in YEARLY and (count := _overlaps(versions)):
        raise StorageError(f"{count} rows overlap the one before")


def _overlaps(versions: Versions) -> int:
    """Served rows of one fuel, border and link that begin before the last one ended."""
    series = versions.codes("fuel", "counterparty", "link")
    order = np.lexsort((versions.ts, series))
    ts, ends, series = versions.ts[order], (versions.ts + versions.seconds())[order], series[order]
    return int(((ts[1:] < ends[:-1]) & (series[1:] == series[:-1])).sum())


def _body(storage: Storage, key: str) -> None:
    if not raw.is_body(key):
        raise StorageError("no kept body")
    kept = raw.opened(storage, key)
    if kept is not None and f"-{raw.digest(kept.request, kept.body)}." not in key:
        raise DamagedFile(key, "its name is that of another body")


def _document(storage: Storage, key: str) -> None:
    stored = storage.get(key) or b""
    if artefact.is_checksum(key):
        artefact.unsealed(stored, key)
        return
    body = artefact.checked(storage, key, stored)
    if key.endswith("json"):
        try:
            orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise DamagedFile(key, f"is not JSON: {error}") from None


def _quarantined(storage: Storage, key: str) -> None:
    if f"-{hashlib.sha256(storage.get(key) or b'').hexdigest()[:8]}." not in key:
        raise DamagedFile(key, "its bytes are not those that were written")


def _first_days(storage: Storage, _key: str) -> None:
    first_days.read(storage)


def _attempts(storage: Storage, key: str) -> None:
    source, name = key.removeprefix(layout.ATTEMPTS).split("/")
    attempts.load(storage, source, name.removesuffix(".json"))


def _accounts(storage: Storage, key: str) -> None:
    """SQLite's own check of its structure and indexes; SQLite keeps no checksums of what stands in a row."""
    path = storage.local / key
    if not path.exists():
        return
    if not path.stat().st_size:
        raise StorageError("is empty: restore it from a backup")
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        finally:
            connection.close()
    except sqlite3.Error as error:
        lines = [str(error)]
    if lines != ["ok"]:
        raise StorageError(f"is damaged, restore it from a backup: {'; '.join(lines)[:200]}")
