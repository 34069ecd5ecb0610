"""Copy a whole warehouse from a folder or bucket to an empty one: `emds copy FROM TO`.

Every file keeps its bytes and version, so that both warehouses serve the same responses. The mode is copied last: until
then, a killed copy is not a warehouse, and the next copy continues it. Accounts, Dagster's storage and logs are not
copied.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from warehouse.errors import StorageError
from warehouse.series import monthfile
from warehouse.store import home, layout, modes
from warehouse.store.storage import Storage

_AT_ONCE = 8
_MOST_PASSES = 5
"""A pass during a merge is repeated; `emds verify` names histories that are gone at the source too."""
_FIRST = (layout.PRUNED, layout.FIRST_DAYS, layout.ZONES)


def copy(source: Storage, target: Storage) -> tuple[int, int]:
    """Copy what the target lacks; return the number of files at the source and the number copied now.

    Raises StorageError if the source has no warehouse of this release, if the target contains one already, or if a file
    cannot be copied.
    """
    if modes.get(source) is None:
        raise StorageError(f"{source} does not contain a warehouse")
    modes.check_release(source)
    if target.stat(layout.MODE) is not None:
        raise StorageError(f"{target} already contains a warehouse; use an empty folder or bucket")
    copied = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in range(_MOST_PASSES):
            files = moved = 0
            first = [key for key in _FIRST if source.stat(key) is not None]
            for keys in (first, *map(source.keys, layout.KEPT)):  # histories before the files that refer to them
                files += len(keys)
                moved += sum(pool.map(partial(_copy, source, target), keys))
            copied += moved
            if not moved or not any(pool.map(partial(_lacks_history, target), target.keys(layout.series_prefix()))):
                break
    return files + 1, copied + _copy(source, target, layout.MODE)


def _copy(source: Storage, target: Storage, key: str) -> bool:
    """Copy a file with its version; return False if the target has it or the source no longer has it."""
    identity, there = source.stat(key), target.stat(key)
    if identity is None or (there is not None and there[:2] == identity[:2]):
        return False
    stored = source.read(key)
    if stored is not None:
        target.put(key, stored.body, stored.identity.version)
    return stored is not None


def _lacks_history(target: Storage, key: str) -> bool:
    """Return whether a merge happened between the copies of a month's history and of the file that refers to it."""
    try:
        past = monthfile.past(target, key) if layout.is_month_file(key) else None
    except StorageError:  # damaged at the source too
        return False
    return past is not None and past.history is not None and target.stat(past.history) is None


def main(first: str, second: str) -> int:
    """Copy, print the result, and return the exit code."""
    places = [home.from_environ({**os.environ, "EMDS_HOME": text}) for text in (first, second)]
    source, target = (place.open() for place in places)
    if modes.get(source) is not None:
        places[1].open_to_write()
    files, copied = copy(source, target)
    print(f"{target} contains {files} files of {source}; {copied} were copied now. For accounts, see docs/fleet.md")
    return 0
