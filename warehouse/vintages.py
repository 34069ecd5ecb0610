"""Every version of a month of a zone's metric: its two files read as one, written in an order that a kill cannot break.

One file holds what is served, the other the history: rows of lower rank, superseded values. History is written first,
so that a kill between the two leaves a version in both and the next fold heals. What changes for readers is noted
before, and told after (`warehouse.untold`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from warehouse import changes, damaged, layout, monthfile, resolve, untold
from warehouse.errors import DamagedFile
from warehouse.storage import Storage
from warehouse.versions import LIVE, Flags, Versions, concat


class Month(NamedTuple):
    """One UTC month (`2026-11`) of a zone's metric."""

    metric: str
    zone: str
    month: str


def all_of(storage: Storage, place: Month) -> tuple[Versions, bool]:
    """Every version, each once, and whether a killed fold left one in both files: there the history is newer.

    Raises as `monthfile.read` does.
    """
    return _once(_parts(storage, place), served_wins=False)


def mended(storage: Storage, place: Month) -> tuple[Versions, bool, bool]:
    """As `all_of`, for the holder of the month's lock: a damaged file is set aside, and the last value says so.

    What a killed writer left untold is told first.
    """
    untold.tell(storage, *place)
    lost = False
    while True:
        try:
            return *all_of(storage, place), lost
        except DamagedFile as error:
            damaged.set_aside(storage, error.key, error.reason)
            lost = True


def witnessed(storage: Storage, place: Month) -> Versions:
    """Every version as readers see it now: one that is still served is live, whatever a fold under way has noted.

    Raises as `monthfile.read` does.
    """
    key = layout.series(*place)
    while True:
        before = storage.stat(key)
        parts = _parts(storage, place)
        if storage.stat(key) == before:
            return _once(parts, served_wins=True)[0]


def _parts(storage: Storage, place: Month) -> Versions:
    """The versions of both files, those of both twice; served first, since the history keeps all that leaves it."""
    served = monthfile.versions(storage, layout.series(*place))
    return concat([monthfile.versions(storage, layout.history(*place)), served])


def _once(both: Versions, served_wins: bool) -> tuple[Versions, bool]:
    """Each version once, and whether one was there twice: superseded, or as the served file has it, live."""
    live = both.superseded_at == LIVE
    repeated = _repeated(both, ~live if served_wins else live)
    return both.take(~repeated), bool(repeated.any())


def _repeated(versions: Versions, *later: Flags) -> Flags:
    """Which versions occur a second time: those further down, or for which `later` holds."""
    same = np.stack([versions.label, versions.ts, versions.known_at, versions.value.view(np.int64)])
    order = np.lexsort((*later, *same))
    repeated = np.zeros(len(versions), np.bool_)
    repeated[order[1:]] = (same[:, order[1:]] == same[:, order[:-1]]).all(axis=0)
    return repeated


def store(
    storage: Storage, place: Month, merged: Versions, ranks: Mapping[str, int], mode: str, feed: str | None = None
) -> None:
    """Writes history, then what is served; a version that moves to the served file is in both in between.

    `feed`: whose answer brings the change, for the log of changes. The caller holds the month's lock.
    """
    chosen = resolve.served(merged, ranks)
    served, rest = merged.take(chosen), merged.take(~chosen)
    history = monthfile.versions(storage, layout.history(*place))
    moving = _repeated(concat([history, served]))[len(history) :]
    noted = _noted(storage, place, served, feed)
    _put(storage, layout.history(*place), concat([rest, served.take(moving)]), mode)
    _put(storage, layout.series(*place), served, mode)
    if noted is not None:
        untold.tell(storage, *place, noted)
    if moving.any():
        _put(storage, layout.history(*place), rest, mode)


def _noted(storage: Storage, place: Month, served: Versions, feed: str | None) -> bool | None:
    """Notes what changes for readers; whether that could be noted, None where nothing changes."""
    key = layout.series(*place)
    change = changes.between(place.metric, place.zone, feed, monthfile.versions(storage, key), served)
    return None if change is None else untold.note(storage, *place, change, storage.get(key))


def _put(storage: Storage, key: str, versions: Versions, mode: str) -> None:
    """Writes a file unless its bytes would not change."""
    kept = storage.get(key)
    if kept is None and not len(versions):
        return
    body = monthfile.encode(versions, key, mode)
    if body != kept:
        storage.put(key, body)
