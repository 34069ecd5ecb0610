"""Every version of a month of a zone's metric. One object is the truth of a month: the file that is served.

It names its month's history, rows of lower rank and superseded values, which lies under a name of its own bytes and is
never changed. A fold puts the new history first, then replaces the served file, then removes the former history. A kill
leaves a history that nobody names, which is swept after a day. What changes for readers is noted before, and told after
(`warehouse.untold`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from warehouse import changes, damaged, layout, monthfile, resolve, untold
from warehouse.bookkeeping import logged
from warehouse.clock import DAY
from warehouse.errors import DamagedFile
from warehouse.monthfile import Past
from warehouse.storage import Storage
from warehouse.versions import Versions, concat, empty


class Month(NamedTuple):
    """One UTC month (`2026-11`) of a zone's metric."""

    metric: str
    zone: str
    month: str


def read(storage: Storage, place: Month) -> Versions:
    """Every version of a month; none where no file is served.

    Raises as `monthfile.read` does, and DamagedFile where the history is gone.
    """
    key, last = layout.series(*place), None
    while True:
        found = monthfile.month(storage, key)
        if found is None:
            return empty()
        served, past = found
        if past.history is None:
            return served
        try:
            return concat([monthfile.history(storage, past.history), served])
        except DamagedFile:
            if past.history == last:
                raise
            last = past.history  # a fold that has replaced the file meanwhile removes what it named
            storage.refresh(key)
            storage.refresh(last)


def read_or_set_aside(storage: Storage, place: Month) -> tuple[Versions, bool]:
    """As `read`, for the holder of the month's lock: a damaged file is set aside, and the last value says so.

    What a killed writer left untold is told first. Where the served file is lost, its history is found by its name.
    """
    untold.tell(storage, *place)
    found, lost = None, False
    try:
        found = monthfile.month(storage, layout.series(*place))
    except DamagedFile as error:
        damaged.set_aside(storage, error.key, error.reason)
        lost = True
    served, past = found or (empty(), Past(_newest_history(storage, place), None))
    if past.history is None:
        return served, lost
    if found is None and not lost:
        damaged.set_aside(storage, layout.series(*place), damaged.GONE)
        lost = True
    try:
        return concat([monthfile.history(storage, past.history), served]), lost
    except DamagedFile as error:
        damaged.set_aside(storage, error.key, error.reason)
        return served, True


def _newest_history(storage: Storage, place: Month) -> str | None:
    """The history of a month by its own name, the newest where a kill left several."""
    found = _histories(storage, layout.history_prefix(place.metric, place.zone))
    return found[place][-1][1] if place in found else None


def _histories(storage: Storage, prefix: str) -> dict[Month, list[tuple[int, str]]]:
    """Version and key of each history below a prefix by month, the oldest first."""
    by_month: dict[Month, list[tuple[int, str]]] = defaultdict(list)
    for key in storage.keys(prefix):
        if layout.is_month_file(key) and (identity := storage.stat(key)) is not None:
            by_month[Month(*layout.of_series(key)[:3])].append((identity.version, key))
    return {place: sorted(found) for place, found in by_month.items()}


def store(
    storage: Storage,
    place: Month,
    merged: Versions,
    ranks: Mapping[str, int],
    mode: str,
    feed: str | None = None,
    known_since: int | None = None,
) -> int:
    """Puts a month whose versions are `merged`, nothing where its bytes would not change; how many rows are served.

    `feed`: whose answer brings the change, for the log of changes. `known_since`: before it not all is known that was
    published; by default what the month says already. The caller holds the month's lock.
    """
    chosen = resolve.served(merged, ranks)
    served, rest = merged.take(chosen), merged.take(~chosen)
    key, history = layout.series(*place), None
    kept = storage.get(key)
    former = None if kept is None else monthfile.past(storage, key)
    if kept is None and not len(merged):
        return 0
    if len(rest):
        history, body = monthfile.encode_history(rest, *place, mode)
        if storage.stat(history) is None:
            storage.put(history, body)
    since = None
    if len(merged):
        before = former.known_since if former and known_since is None else known_since
        since = max(int(merged.known_at.min()), before or 0)
    body = monthfile.encode(served, key, mode, Past(history, since))
    if body == kept:
        return len(served)
    noted = _noted(storage, place, served, feed)
    storage.put(key, body)
    if noted is not None:
        untold.tell(storage, *place, noted)
    if former is not None and former.history not in (None, history):
        with logged(former.history):
            storage.delete(former.history)
    return len(served)


def _noted(storage: Storage, place: Month, served: Versions, feed: str | None) -> bool | None:
    """Notes what changes for readers; whether that could be noted, None where nothing changes."""
    key = layout.series(*place)
    change = changes.between(place.metric, place.zone, feed, monthfile.versions(storage, key), served)
    return None if change is None else untold.note(storage, *place, change, storage.get(key))


def sweep(storage: Storage, older_than_s: float = DAY) -> int:
    """Removes the histories that a killed fold left behind, which no month file names; returns how many."""
    removed, latest = 0, time.time_ns() - int(older_than_s * 1e9)
    for place, found in _histories(storage, layout.history_prefix()).items():
        past = monthfile.past(storage, layout.series(*place)) if found[0][0] < latest else None
        if past is None:
            continue  # the served file is lost: its history is found by its name
        for key in [key for version, key in found if version < latest and key != past.history]:
            storage.delete(key)
            removed += 1
    return removed
