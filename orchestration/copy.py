"""`emds copy FROM TO`: a warehouse copied whole, from a folder or a bucket to an empty folder or bucket.

Everything keeps its bytes and versions, so that both serve the same answers. A month's two files are copied under its
lock. The mode comes last: a copy that was killed is no warehouse yet, and goes on where it stopped. Accounts, Dagster's
storage and logs are no part of it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from warehouse import home, layout, modes, release
from warehouse.errors import StorageError
from warehouse.storage import Storage

_AT_ONCE = 8
_FIRST = (layout.SCHEMA, layout.PRUNED, layout.FIRST_DAYS, layout.ALERTS, layout.CHANGES_MISSED)

Say = Callable[[int, int], None]
"""Told how many files are done, and of how many."""


def copy(source: Storage, target: Storage, say: Say = lambda done, of: None) -> tuple[int, int]:
    """Copies what the target lacks; returns how many files it then has and how many were copied now.

    Raises StorageError where there is no warehouse of this release at the source, where the target holds one already,
    and where a file cannot be copied.
    """
    if modes.kept(source) is None:
        raise StorageError(f"{source} holds no warehouse")
    release.check(source)
    if target.stat(layout.MODE) is not None:
        raise StorageError(f"{target} holds a warehouse already: name an empty place")
    groups = list(_groups(source))
    done = copied = files = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for keys, moved in zip(groups, pool.map(partial(_copy_group, source, target), groups), strict=True):
            done, files, copied = done + 1, files + len(keys), copied + moved
            say(done, len(groups))
    _remove_others(source, target, groups)
    copied += _copy_key(source, target, layout.MODE)
    return files + 1, copied


def _groups(source: Storage) -> Iterator[tuple[str, ...]]:
    """The keys to copy; those that belong together as one, in the order in which they are written."""
    yield from ((key,) for key in _FIRST if source.stat(key) is not None)
    months: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key in _keys(source, _MONTHS):  # the history first, as it is written
        if layout.is_month_file(key):
            months[layout.of_series(key)[:3]].append(key)
    yield from (tuple(keys) for _, keys in sorted(months.items()))
    yield from ((key,) for key in _keys(source, [prefix for prefix in layout.KEPT if prefix not in _MONTHS]))


_MONTHS = (layout.history_prefix(), layout.series_prefix())


def _keys(storage: Storage, prefixes: Iterable[str]) -> list[str]:
    return [key for prefix in prefixes for key in storage.keys(prefix)]


def _copy_group(source: Storage, target: Storage, keys: tuple[str, ...]) -> int:
    if not layout.is_month_file(keys[0]):
        return _copy_key(source, target, keys[0])
    metric, zone, month, _ = layout.of_series(keys[0])
    with source.locked([layout.series(metric, zone, month)]):
        return sum(_copy_key(source, target, key) for key in keys)


def _copy_key(source: Storage, target: Storage, key: str) -> bool:
    """Copies one file with its version unless it is there; false where it is, or is gone from the source."""
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


def _remove_others(source: Storage, target: Storage, groups: Iterable[tuple[str, ...]]) -> None:
    """Removes what a killed copy had brought and the source has no more."""
    wanted = {key for keys in groups for key in keys}
    for key in _keys(target, layout.KEPT):
        if key not in wanted and source.stat(key) is None:
            target.delete(key)


def main(first: str, second: str, local: str) -> int:
    """Copies and says what was done; the exit code."""
    places = [home.at(text, local) for text in (first, second)]
    if str(places[0]) == str(places[1]):
        raise StorageError("both places are the same")
    if home.nested(*places):
        raise StorageError(f"{places[0]} and {places[1]}: one place lies inside the other, name one beside it")
    source, target = (place.open() for place in places)
    if modes.kept(source) is not None:
        places[1].open_to_write()
    files, copied = copy(source, target, _print_progress)
    print(f"{target} holds {files} files of {source}; {copied} were copied now. Accounts were not: docs/operating.md")
    return 0


def _print_progress(done: int, of: int) -> None:
    if done == of or (sys.stderr.isatty() and done % 50 == 0):
        sys.stderr.write(f"\r{done}/{of}" + ("\n" if done == of else ""))
