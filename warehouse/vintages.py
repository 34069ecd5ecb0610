"""Every version of a month of a zone's metric: its two files read as one, and written in an order that a kill cannot break.

One file holds what is served, the other beside it the history: rows of lower rank, superseded values. History is written
first, so that a kill between the two leaves a version in both and the next fold heals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from warehouse import layout, monthfile, resolve
from warehouse.monthfile import LIVE, Flags, Versions
from warehouse.storage import Storage


class Month(NamedTuple):
    """One UTC month (`2026-11`) of a zone's metric."""

    metric: str
    zone: str
    month: str


def all_of(storage: Storage, place: Month) -> tuple[Versions, bool]:
    """Every version, each once, and whether a killed fold left one in both files: there the history tells the newer truth."""
    return _once(_parts(storage, place), served_tells=False)


def witnessed(storage: Storage, place: Month) -> Versions:
    """Every version as its readers see it now: one that is still served is live, whatever a fold under way has noted."""
    key = layout.series(*place)
    while True:
        before = storage.stat(key)
        parts = _parts(storage, place)
        if storage.stat(key) == before:
            return _once(parts, served_tells=True)[0]


def _parts(storage: Storage, place: Month) -> Versions:
    """The versions of both files, those of both twice. What is served is read first: the history keeps all that leaves it."""
    served = monthfile.versions(storage, layout.series(*place))
    return monthfile.concat([monthfile.versions(storage, layout.history(*place)), served])


def _once(both: Versions, served_tells: bool) -> tuple[Versions, bool]:
    """Each version once, and whether one was there twice: superseded, or as the served file has it, live."""
    live = both.superseded_at == LIVE
    again = _again(both, ~live if served_tells else live)
    return both.take(~again), bool(again.any())


def _again(versions: Versions, *later: Flags) -> Flags:
    """Which versions stand there for a second time: those further down, or for which `later` holds."""
    same = np.stack([versions.label, versions.ts, versions.known_at, versions.value.view(np.int64)])
    order = np.lexsort((*later, *same))
    again = np.zeros(len(versions), np.bool_)
    again[order[1:]] = (same[:, order[1:]] == same[:, order[:-1]]).all(axis=0)
    return again


def store(storage: Storage, place: Month, merged: Versions, ranks: Mapping[str, int]) -> None:
    """Writes history, then what is served. A version that moves from history to the served file is in both in between."""
    chosen = resolve.served(merged, ranks)
    served, rest = merged.take(chosen), merged.take(~chosen)
    history = monthfile.versions(storage, layout.history(*place))
    moving = _again(monthfile.concat([history, served]))[len(history) :]
    _put(storage, layout.history(*place), monthfile.concat([rest, served.take(moving)]), place)
    _put(storage, layout.series(*place), served, place)
    if moving.any():
        _put(storage, layout.history(*place), rest, place)


def _put(storage: Storage, key: str, versions: Versions, place: Month) -> None:
    """Writes a file unless its bytes would not change."""
    there = storage.get(key)
    if there is None and not len(versions):
        return
    body = monthfile.encode(versions, place.zone, place.metric)
    if body != there:
        storage.put(key, body)
