"""`emds copy FROM TO`: copy a whole warehouse from a folder or bucket to an empty one.

Everything keeps its bytes and versions, so that both serve the same answers. A month's history is copied before the
file that names it. The mode comes last: a copy that was killed is no warehouse yet, and goes on where it stopped.
Accounts, Dagster's storage and logs are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from warehouse.errors import StorageError
from warehouse.series import monthfile
from warehouse.store import home, layout, modes
from warehouse.store.storage import Storage

_AT_ONCE = 8
_FIRST = (layout.SCHEMA, layout.PRUNED, layout.FIRST_DAYS)


def copy(source: Storage, target: Storage) -> tuple[int, int]:
    """Copy what the target lacks; return how many files it then has and how many were copied now.

    Raises StorageError where there is no warehouse of this release at the source, where the target holds one already,
    and where a file cannot be copied.
    """
    if modes.get(source) is None:
        raise StorageError(f"{source} holds no warehouse")
    modes.check_schema(source)
    if target.stat(layout.MODE) is not None:
        raise StorageError(f"{target} holds a warehouse already: name an empty place")
    files = copied = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for there, moved in pool.map(partial(_copy, source, target), list(_keys(source))):
            files, copied = files + there, copied + moved
    copied += _copy_key(source, target, layout.MODE)
    return files + 1, copied


def _keys(source: Storage) -> Iterator[str]:
    """Yield the keys to copy; histories are copied with the month files that name them."""
    yield from (key for key in _FIRST if source.stat(key) is not None)
    yield from (key for prefix in layout.KEPT if prefix != layout.history_prefix() for key in source.keys(prefix))


def _copy(source: Storage, target: Storage, key: str) -> tuple[int, int]:
    """Copy a file, and the history that it names; return how many the target then has, and how many were copied."""
    copied, history = 0, _history_of(source, key)
    while True:
        copied += history is not None and _copy_key(source, target, history)
        copied += _copy_key(source, target, key)
        named = _history_of(target, key)
        if named == history or named is None:
            return 1 + (history is not None), copied
        history = named  # a fold came between


def _history_of(storage: Storage, key: str) -> str | None:
    """Return the history that a file names; None for one that names none or is damaged: it is copied as it is."""
    if not layout.is_month_file(key):
        return None
    try:
        past = monthfile.past(storage, key)
    except StorageError:
        return None
    return None if past is None else past.history


def _copy_key(source: Storage, target: Storage, key: str) -> bool:
    """Copy one file with its version; return False where the target has it, or the source no longer has it."""
    while True:
        identity = source.stat(key)
        if identity is None:
            return False
        there = target.stat(key)
        if there is not None and there[:2] == identity[:2]:
            return False
        body = source.get(key)
        if body is not None and source.stat(key) == identity:
            target.put(key, body, identity.version)
            return True


def main(first: str, second: str, local: str) -> int:
    """Copy, print what was done, and return the exit code."""
    places = [home.parse(text, local) for text in (first, second)]
    source, target = (place.open() for place in places)
    if modes.get(source) is not None:
        places[1].open_to_write()
    files, copied = copy(source, target)
    print(f"{target} holds {files} files of {source}; {copied} were copied now. Accounts were not: docs/fleet.md")
    return 0
