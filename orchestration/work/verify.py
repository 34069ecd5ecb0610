"""Verify every file of a warehouse (`emds verify`) and repair damaged files (`emds repair`).

Verification lists faults; it changes nothing and does not stop at a fault. A repair moves every damaged file aside and
rebuilds what the raw archive and the series still contain.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

import numpy as np
import orjson

from assets.documents import geo_layers
from assets.ingest import first_days
from assets.ingest import repair as heal
from assets.ingest.refresh import refresh_all, refresh_zones
from orchestration.work.environment import open_context
from warehouse.documents import attempts, manifest
from warehouse.errors import DamagedFile, StorageError
from warehouse.market.clock import month_window
from warehouse.market.metrics import YEARLY
from warehouse.market.zones import ZONES
from warehouse.rows.versions import Versions
from warehouse.series import damaged, monthfile, raw
from warehouse.store import artefact, layout, modes, zone_ids
from warehouse.store.storage import Storage


class Fault(NamedTuple):
    """A fault of one file or folder. If `movable`, the file is damaged, and `emds repair` moves it aside."""

    key: str
    reason: str
    movable: bool = False

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}"


Check = Callable[[Storage, str], object]
"""Reads a file; raises its fault."""


def require_release(storage: Storage) -> None:
    """Check that a warehouse is of this release and has a catalogue; otherwise each of its files could be a fault.

    Raises StorageError.
    """
    modes.check_release(storage)
    if storage.stat(layout.published(layout.CATALOGUE)) is None and any(map(storage.keys, layout.KEPT)):
        raise StorageError(
            f"{storage} has files but no catalogue: restore {layout.published(layout.CATALOGUE)} from a backup, "
            "or write it with `emds publish`"
        )


def faults(storage: Storage, keys: Collection[str] | None = None, reads_rows: bool = True) -> list[Fault]:
    """Return every fault once: unreadable, cut or changed files, misplaced rows, and files that wait for a repair.

    `keys` are the only files to read (default: all). If `reads_rows`, rows are decoded; if not, only the checksums of
    monthly files are compared.
    """
    # Damaged hashes of a layer are found with each of its files.
    return list(dict.fromkeys(_faults(storage, keys, CHECKS if reads_rows else {**CHECKS, **CHECKSUMS})))


def _faults(storage: Storage, wanted: Collection[str] | None, checks: Mapping[str, Check]) -> Iterator[Fault]:
    known = True
    try:
        modes.get(storage)
    except StorageError:
        known = False
        yield Fault(
            layout.MODE, "month files and raw responses were not checked, because the mode of the warehouse is unknown"
        )
    for key, check in SINGLE.items():
        if wanted is None or key in wanted:
            yield from _of_file(storage, key, check)
    for prefix, check in checks.items():
        if known or prefix not in OF_A_MODE:
            try:
                is_listed = wanted is None or prefix in wanted
                keys = storage.keys(prefix) if is_listed else [key for key in wanted or () if key.startswith(prefix)]
            except StorageError as error:
                yield Fault(prefix, str(error))
                continue
            for key in sorted(keys):
                yield from _of_file(storage, key, check)
    yield from (Fault(key, damaged.GONE, movable=True) for key in manifest.missing(storage))
    for key in damaged.waiting(storage):
        reason, _, _ = (storage.get(layout.waiting(key)) or b"").decode().partition("\n")
        yield Fault(key, f"is waiting for `emds repair`: {reason}")
    if wanted is None or "folder" in wanted:
        yield from (Fault("folder", line) for line in storage.unreadable())


def _of_file(storage: Storage, key: str, check: Check) -> Iterator[Fault]:
    """Yield the faults of a file; nothing if it was removed meanwhile."""
    try:
        if key in SINGLE or not damaged.is_gone(storage, key):
            check(storage, key)
    except DamagedFile as error:
        yield Fault(error.key, error.reason, movable=True)
    except StorageError as error:
        yield Fault(key, str(error))
    except Exception as error:  # whatever error a damaged file causes, the others are read
        yield Fault(key, f"could not be checked: {type(error).__name__}: {str(error)[:120]}", movable=True)


def _checksum(storage: Storage, key: str) -> None:
    if not layout.is_month_file(key):
        raise StorageError("no month file")
    _require_history(storage, key, monthfile.past(storage, key, modes.require(storage)))


def _require_history(storage: Storage, key: str, past: monthfile.Past | None) -> None:
    if past is not None and past.history is not None and storage.stat(past.history) is None:
        raise DamagedFile(past.history, f"is missing, but {key} refers to it")


def _month(storage: Storage, key: str) -> None:
    if not layout.is_month_file(key):
        raise StorageError("is not a valid month file name")
    metric, _, month, is_history = layout.of_series(key)
    versions, past = monthfile.month(storage, key)
    window = month_window(month)
    if len(versions) and not (window.start <= versions.ts.min() and versions.ts.max() < window.end):
        raise StorageError("contains rows of another month")
    if not np.array_equal(versions.order(), np.arange(len(versions))):
        raise StorageError("rows are not sorted")
    if not is_history and metric not in YEARLY and (count := _overlaps(versions)):
        raise StorageError(f"{count} rows overlap the previous row")
    _require_history(storage, key, past)


def _overlaps(versions: Versions) -> int:
    """Return the number of served rows of a fuel, border and link that start before the previous row ends."""
    series = versions.codes("fuel", "counterparty", "link")
    order = np.lexsort((versions.ts, series))
    ts, ends, series = versions.ts[order], (versions.ts + versions.seconds())[order], series[order]
    return int(((ts[1:] < ends[:-1]) & (series[1:] == series[:-1])).sum())


def _body(storage: Storage, key: str) -> None:
    if not raw.is_body(key):
        raise StorageError("is not a raw response")
    raw.opened(storage, key)


def _document(storage: Storage, key: str) -> None:
    stored = storage.get(key) or b""
    body = artefact.checked(storage, key, stored)
    if key.endswith("json"):
        orjson.loads(body)


def _quarantined(storage: Storage, key: str) -> None:
    if f"-{hashlib.sha256(storage.get(key) or b'').hexdigest()[:8]}." not in key:
        raise DamagedFile(key, "does not match its checksum")


def _accounts(storage: Storage, key: str) -> None:
    """Run SQLite's check of structure and indexes. SQLite has no checksums for the contents of a row."""
    path = storage.local / key
    if not path.exists():
        return
    if not path.stat().st_size:
        raise StorageError("is empty; restore it from a backup")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    except sqlite3.OperationalError as error:  # a full disk, or another process that has locked the file
        raise StorageError(f"cannot be read: {error}") from None
    except sqlite3.Error as error:
        lines = [str(error)]
    if lines != ["ok"]:
        raise StorageError(f"is damaged; restore it from a backup: {'; '.join(lines)[:200]}")


SINGLE: Mapping[str, Check] = {
    layout.MODE: lambda storage, _: modes.get(storage),
    layout.ZONES: lambda storage, _: zone_ids.check(zone_ids.stored_ids(storage), ZONES),
    layout.PRUNED: lambda storage, key: int(storage.get(key) or b"0"),
    layout.FIRST_DAYS: lambda storage, key: first_days.decode(storage.get(key)),
    layout.ACCOUNTS: _accounts,
}
CHECKS: Mapping[str, Check] = {
    layout.series_prefix(): _month,
    layout.history_prefix(): _month,
    layout.RAW: _body,
    layout.published(): _document,
    layout.QUARANTINE: _quarantined,
    layout.CHANGES: _document,
    layout.ATTEMPTS: lambda storage, key: attempts.load(storage, *key.split(".")[0].split("/")[1:]),
}
"""The check of a file, by prefix."""
CHECKSUMS: Mapping[str, Check] = {layout.series_prefix(): _checksum, layout.history_prefix(): _checksum}
"""The check of a monthly file that compares its checksum and decodes no row, by prefix."""
OF_A_MODE = (*CHECKSUMS, layout.RAW)
"""Prefixes of the files that state a mode."""


def repair(keys: Collection[str] = ()) -> int:
    """Repair the warehouse of the environment, print what was done, and return the exit code.

    `keys`: the files to check, as `verify` lists them. By default the checksums of all files are compared.
    """
    pipeline = open_context()
    storage = pipeline.storage
    found = faults(storage, keys or None, reads_rows=bool(keys))
    movable = [fault for fault in found if fault.movable]
    for fault in movable:
        set_aside(storage, fault)
        print(f"{fault.key}: {fault.reason}: {_ACTION[layout.is_month_file(fault.key)]}")
    waiting = damaged.waiting(storage)
    zones = heal.rebuild_marked(pipeline)
    if any(fault.key.startswith(layout.published("geo/")) for fault in movable):
        geo_layers.publish(storage)
    # A moved document may belong to any zone; of rebuilt months, the documents of their zones change.
    lost = any(fault.key.startswith(layout.published()) for fault in movable)
    unpublished = refresh_all(pipeline) if lost else refresh_zones(pipeline, zones) if zones else []
    for key in sorted({*waiting} - {*damaged.waiting(storage)}):
        print(f"{key}: rebuilt from the raw archive. Run `emds gaps` to see what is still missing.")
    months = {layout.series(*layout.of_series(fault.key)[:3]) for fault in found if layout.is_month_file(fault.key)}
    left = faults(storage, months.union(fault.key for fault in found)) if found else []
    for line in (*unpublished, *left):
        print(line)
    print(f"{len(movable)} damaged files moved aside, {len(left)} problems remain")
    return 1 if left or unpublished else 0


_ACTION = {True: f"copied to {layout.DAMAGED} when its month is rebuilt", False: f"moved to {layout.DAMAGED}"}


def set_aside(storage: Storage, fault: Fault) -> None:
    """Move a damaged file below `damaged/`; a month is only marked, and stays damaged until it is rebuilt."""
    if not layout.is_month_file(fault.key):
        damaged.set_aside(storage, fault.key, fault.reason)
    elif damaged.is_gone(storage, fault.key) and not layout.of_series(fault.key)[3]:
        damaged.mark_gone(storage, fault.key)
    else:
        damaged.mark(storage, fault.key, fault.reason)
