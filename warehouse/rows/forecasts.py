"""Define which forecast rows are stored, how vintages are merged, and which vintage a request selects.

A vintage is what a publisher issued at one time, `published_at`. Its `basis` is the source of that time: `body` (a
field of the response), `name` (the file's name) or `fetched` (neither, so that the time of the response counts). A row
is kept if its interval ends after its publication, because responses repeat the last forecast of past hours. A version
is (series, `ts`, `published_at`). An equal value of a later vintage is not a new version: the first one stays valid
until the next different one. A vintage that no longer has an interval does not withdraw its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from warehouse.market.metrics import define
from warehouse.rows import resolve
from warehouse.rows.schema import Readings, Rows, SeriesKey
from warehouse.rows.succession import identities, repeats, succeed
from warehouse.rows.versions import LIVE, Counts, Ints, Versions, concat

LONGEST_AHEAD_DAYS = 8
"""The longest forecast of a publisher of this service: SPP's week."""


def date_by_answer(rows: Rows, answered_at: int) -> Rows:
    """Return the rows, with `answered_at` (Unix seconds, the time of the response) on forecasts without a date."""
    undated = [key for key in rows.readings if define(key.metric).merge == "vintages" and key.published_at is None]
    for key in undated:
        readings = rows.readings.pop(key)
        rows.extend_vintage(key, answered_at, "fetched", readings.ts, readings.values)
    return rows


def instants(key: SeriesKey, readings: Readings) -> list[int]:
    """Return the times that place readings in partitions and due times: interval starts, for a vintage its publication.

    Rows of vintages from `assets.ingest.stored_days` already have that time as their starts.
    """
    return readings.ts if key.published_at is None else [key.published_at] * len(readings.ts)


def merge(old: Versions, new: Versions) -> tuple[Versions, Counts]:
    """Return a month's versions with a feed's vintages, and the numbers of added, changed, evicted and unchanged rows.

    Vintages are merged in order of publication, whenever they arrive: a late one takes its place among the stored ones.
    It is current only if the newest stored one is older: newer ones that repeat a value do not leave a version.
    """
    both, count = concat([old, new]), len(old)
    merged, picked = put_together(both, count)
    identity, fresh = identities(both), picked[picked >= count]
    added = len(np.setdiff1d(identity[fresh], identity[:count]))
    return merged, (added, len(fresh) - added, 0, len(new) - len(fresh))


def put_together(both: Versions, older: int | None = None) -> tuple[Versions, Ints]:
    """Return the versions to keep, each valid until a later vintage was known, and their indexes in `both`.

    Of equal versions of a vintage, only the one known first stays. After the first `older` versions, a version equal to
    the previous vintage's is dropped too.
    """
    order = np.lexsort((both.known_at, both.published_at, identities(both)))
    is_new = order >= (len(both) if older is None else older)
    stay, until = succeed(both, order, is_new | repeats(both.published_at[order]))
    superseded = both.superseded_at.copy()
    superseded[stay] = until
    return replace(both, superseded_at=superseded).take(stay), stay


class Pick(NamedTuple):
    """A selection of vintages for each interval: the newest within these bounds, or every vintage."""

    known_at: int | None = None
    """Select only what was known by then, in Unix seconds."""
    published_before: int | None = None
    """Select only what was published by then, in Unix seconds."""
    lead_s: int | None = None
    """Select only what was published at least this many seconds before its interval."""
    every: bool = False

    def choose(self, versions: Versions, ranks: Mapping[str, int]) -> Versions:
        """Return the selected versions of the feeds that `ranks` names.

        The newest vintages come from the best-ranked feed that has one, in canonical order; an interval without a
        vintage that early is absent. If `every` is set, all feeds contribute, ordered by `ts`, fuel and `published_at`,
        with the last known version of a corrected vintage.
        """
        chosen = versions.where(lambda labels: labels.feed in ranks)
        if self.known_at is not None:
            chosen &= versions.known_at <= self.known_at
        if self.published_before is not None:
            chosen &= versions.published_at <= self.published_before
        if self.lead_s is not None:
            chosen &= versions.published_at <= versions.ts - self.lead_s
        able = versions.take(np.flatnonzero(chosen))
        identity = identities(able)
        order = np.lexsort((able.known_at, able.published_at, identity))
        follows = repeats(identity[order])
        if self.every:
            follows &= repeats(able.published_at[order])
        picked = able.take(order[~np.roll(follows, -1)])
        if self.every:
            picked = picked.compact()
            return picked.take(np.lexsort((picked.label, picked.published_at, _fuels(picked), picked.ts)))
        picked = replace(picked, superseded_at=np.full(len(picked), LIVE))
        picked = picked.take(resolve.served(picked, ranks))
        return picked.take(picked.order())


def _fuels(versions: Versions) -> Ints:
    """Return the index of each version's fuel among all fuels in alphabetical order."""
    names = sorted({label.fuel or "" for label in versions.labels})
    return np.array([names.index(label.fuel or "") for label in versions.labels], np.int64)[versions.label]
