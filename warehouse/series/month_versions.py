"""Store every version of a month of a zone's metric. The served file defines the state of the month.

It names the month's history: rows of lower rank and superseded values. A history is named by its bytes and never
changes. `update` writes the new history first. It then replaces the served file if it is still the file that was read.
Last, it deletes the old history and logs what changed for readers. If the process is killed, it leaves a history that
no file names, which is removed after a day, or a change that the next publication logs
(`warehouse.documents.manifest`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from warehouse.bookkeeping import logged
from warehouse.errors import Conflict, DamagedFile
from warehouse.market.clock import DAY, SPREAD
from warehouse.market.feeds import Terms
from warehouse.market.metrics import define
from warehouse.rows import resolve
from warehouse.rows.versions import Versions, concat, empty
from warehouse.series import change_log, damaged, monthfile
from warehouse.series.change_log import Change
from warehouse.series.monthfile import Past
from warehouse.store import layout
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Stored


class Month(NamedTuple):
    """A UTC month (`2026-11`) of a zone's metric."""

    metric: str
    zone: str
    month: str


def read(storage: Storage, place: Month) -> Versions:
    """Return every version of a month, empty if no file is served.

    Raises as `monthfile.month` does, and DamagedFile if the history is gone.
    """
    key, last = layout.series(*place), None
    while True:
        served, past = monthfile.month(storage, key)
        if past.history is None:
            return served
        try:
            return concat([monthfile.history(storage, past.history), served])
        except DamagedFile:
            if past.history == last:
                raise
            last = past.history  # a merge that replaced the file meanwhile deletes the old history
            storage.refresh(key)
            storage.refresh(last)


class StoredMonth(NamedTuple):
    """The stored state of a month."""

    served: Versions | None
    """None if the served file is lost."""
    versions: Versions
    """The versions of the served file and of the history."""
    past: Past
    damaged: tuple[DamagedFile, ...] = ()
    """The faults of the month's files."""


Merge = Callable[[StoredMonth], Versions | None]
"""Computes every version of a month from its stored state; None leaves the month unchanged. It may be called again."""


def update(
    storage: Storage,
    place: Month,
    merge: Merge,
    ranks: Mapping[str, int],
    mode: str,
    feed: str | None = None,
    known_since: int | None = None,
    terms: Mapping[str, Terms] | None = None,
    rebuilds: bool = False,
) -> bool:
    """Write the versions that `merge` returns for a month; return whether the month changed. Retries after a conflict.

    A damaged month is marked and not changed, because a partial month must not pass for a complete one. The next
    rebuild writes the contents of the raw archive, this change included. `rebuilds` means that the caller is that
    rebuild. `feed` is the feed behind the change, for the change log. Before `known_since`, by default the month's own
    value, the versions are incomplete. `terms` are the terms of each source, for the file. Raises StorageError.
    """
    key = layout.series(*place)
    former, change, file = None, None, ""

    def changed(stored: Stored | None) -> bytes | None:
        nonlocal former, change, file
        current = _load(storage, place, stored)
        if current.damaged and not rebuilds:
            for error in current.damaged:
                damaged.mark(storage, error.key, error.reason)
            return (
                b"" if stored is None else None
            )  # no reader accepts an empty file, but readers would not notice a missing one
        merged = merge(current)
        if merged is None or (stored is None and not len(merged)):
            return None
        for error in current.damaged:
            damaged.set_aside(storage, error.key, error.reason, is_replaced=error.key == key)
        chosen = resolve.served(merged, ranks)
        served, rest = merged.take(chosen), merged.take(~chosen)
        past = Past(_put_history(storage, place, rest, mode, current.past), _since(merged, current.past, known_since))
        body = monthfile.encode(served, key, mode, past, terms)
        former = current.past.history if current.past.history != past.history else None
        change = _change(place, feed, stored, current, served)
        file = monthfile.digest(body)
        return body

    if not storage.update(key, changed):
        return False
    if change is not None:
        with logged(layout.CHANGES):
            change_log.append(storage, change, file, int(time.time()))
    if former is not None:
        with logged(former):
            storage.delete(former)
    return True


def mark_damaged(storage: Storage, place: Month) -> None:
    """Mark a month with a damaged served file or history for the next rebuild. Raises StorageError."""
    try:
        read(storage, place)
    except DamagedFile as error:
        damaged.mark(storage, error.key, error.reason)


def _load(storage: Storage, place: Month, stored: Stored | None) -> StoredMonth:
    """Load the versions of a served file and its history, with their faults."""
    key = layout.series(*place)
    found: tuple[Versions | None, Past] | None = None
    faults: list[DamagedFile] = []
    try:
        if stored is not None:
            found = monthfile.decoded(storage, key, stored.body)
    except DamagedFile as error:
        faults.append(error)
    if found is None:  # the history is found by its name; a killed process may leave several, and the newest counts
        histories = _histories(storage, layout.history_prefix(place.metric, place.zone))
        found = None, Past(histories[place][-1][1] if place in histories else None, None)
    served, past = found
    if past.history is None:
        return StoredMonth(served, served or empty(), past, tuple(faults))
    if stored is None:
        faults.append(DamagedFile(key, damaged.GONE))
    try:
        versions = concat([monthfile.history(storage, past.history), served or empty()])
        return StoredMonth(served, versions, past, tuple(faults))
    except DamagedFile as error:
        storage.refresh(key)
        if stored is not None and storage.stat(key) != stored.identity:
            raise Conflict(f"{key} was replaced while its history was being read; try again") from None
        return StoredMonth(served, served or empty(), Past(None, past.known_since), (*faults, error))


def _put_history(storage: Storage, place: Month, rest: Versions, mode: str, past: Past) -> str | None:
    """Write the rows that are not served, unless they are stored already; return their key, None if there are none."""
    if not len(rest):
        return None
    history, body = monthfile.encode_history(rest, *place, mode)
    if history != past.history:
        storage.put(history, body)
    return history


def _since(merged: Versions, past: Past, known_since: int | None) -> int | None:
    """Return `known_since` for the file: of a restored month, not before its first version."""
    if known_since is None or not len(merged):
        return past.known_since
    return max(int(merged.known_at.min()), known_since)


def _change(
    place: Month, feed: str | None, stored: Stored | None, current: StoredMonth, served: Versions
) -> Change | None:
    """Return the change for readers of actual values: the whole month if the rows served before are unknown."""
    if define(place.metric).merge == "vintages":
        return None
    if current.served is None and stored is not None:
        return change_log.whole_month(*place)
    return _between(place, feed, current.served or empty(), served)


_IDENTITY = ("fuel", "counterparty", "link")
"""The labels that, with `ts`, identify a served row."""
_CONTENT = ("unit", "resolution", "source", "feed", "factors")


def _between(place: Month, feed: str | None, before: Versions, after: Versions) -> Change | None:
    """Return the change between the rows served before and after, None if they are equal."""
    both = concat([before, after])
    identity = both.codes(*_IDENTITY) * SPREAD + both.ts
    content = both.codes(*_CONTENT)
    old, new = identity[: len(before)], identity[len(before) :]
    _, at_old, at_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    other = ~both.equal(at_old, len(before) + at_new) | (content[at_old] != content[len(before) + at_new])
    came, went = np.delete(np.arange(len(new)), at_new), np.delete(np.arange(len(old)), at_old)
    touched = np.concatenate([both.ts[went], both.ts[len(before) + came], both.ts[at_old[other]]])
    if not len(touched):
        return None
    span = int(touched.min()), int(touched.max())
    return Change(place.zone, place.metric, feed, *span, len(came), int(other.sum()), len(went))


def _histories(storage: Storage, prefix: str) -> dict[Month, list[tuple[int, str]]]:
    """Return, by month, the version and key of each history below a prefix, oldest first."""
    by_month: dict[Month, list[tuple[int, str]]] = defaultdict(list)
    for key in storage.keys(prefix):
        if layout.is_month_file(key) and (identity := storage.stat(key)) is not None:
            by_month[Month(*layout.of_series(key)[:3])].append((identity.version, key))
    return {place: sorted(found) for place, found in by_month.items()}


def sweep(storage: Storage, older_than_s: float = DAY) -> int:
    """Delete the histories that a killed merge left behind and no monthly file names; return their number."""
    removed, latest = 0, time.time_ns() - int(older_than_s * 1e9)
    for place, found in _histories(storage, layout.history_prefix()).items():
        past = monthfile.past(storage, layout.series(*place)) if found[0][0] < latest else None
        if past is None:
            continue  # the served file is lost, and its history is found by its name
        for key in [key for version, key in found if version < latest and key != past.history]:
            storage.delete(key)
            removed += 1
    return removed
