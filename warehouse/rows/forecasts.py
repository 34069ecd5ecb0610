"""Publishers' forecasts: which rows are kept, how vintages are folded, and which vintage answers a question.

A vintage is what a publisher issued at one instant, `published_at`. Its `basis` is what says so: `body` (a field of the
answer), `name` (the file's name) or `fetched` (nothing does: the moment of the answer). A row is kept where its
interval ends after it was published: bodies go on stating the last forecast of hours that are over. A version is
(series, `ts`, `published_at`); an equal value of a later vintage is no new version, the first stays valid until the
next different one. A vintage that states an interval no more withdraws nothing.
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
"""No publisher of ours looks further ahead: SPP's week is the longest."""


def date_by_answer(rows: Rows, answered_at: int) -> Rows:
    """The rows, forecasts that do not say when they were issued under the instant (Unix seconds) of their answer."""
    undated = [key for key in rows.readings if define(key.metric).merge == "vintages" and key.published_at is None]
    for key in undated:
        readings = rows.readings.pop(key)
        rows.extend_vintage(key, answered_at, "fetched", readings.ts, readings.values)
    return rows


def instants(key: SeriesKey, readings: Readings) -> list[int]:
    """What places readings in partitions and due times: their interval starts, of a vintage when it was published.

    Rows of vintages that `assets.ingest.stored_days` reads have that in place of their starts already.
    """
    return readings.ts if key.published_at is None else [key.published_at] * len(readings.ts)


def merge(old: Versions, new: Versions) -> tuple[Versions, Counts]:
    """A month's versions with some vintages of a feed, and how many rows were added, changed, evicted and unchanged.

    Vintages are taken oldest first, whenever they come: a late one takes its place among those that are held. It is
    the current one only where the newest that is held is older: newer ones that repeat a value leave no version.
    """
    both, count = concat([old, new]), len(old)
    merged, picked = put_together(both, count)
    identity, fresh = identities(both), picked[picked >= count]
    added = len(np.setdiff1d(identity[fresh], identity[:count]))
    return merged, (added, len(fresh) - added, 0, len(new) - len(fresh))


def put_together(both: Versions, older: int | None = None) -> tuple[Versions, Ints]:
    """Return the versions to keep, each valid until a later vintage was known, and their indexes in `both`.

    Of versions of one vintage that say the same, only the one known first stays; behind the first `older`, none that
    says what the vintage before it says.
    """
    order = np.lexsort((both.known_at, both.published_at, identities(both)))
    is_new = order >= (len(both) if older is None else older)
    stay, until = succeed(both, order, is_new | repeats(both.published_at[order]))
    superseded = both.superseded_at.copy()
    superseded[stay] = until
    return replace(both, superseded_at=superseded).take(stay), stay


class Pick(NamedTuple):
    """Which vintages of each interval answer a question: the newest within these bounds, or every one."""

    known_at: int | None = None
    """Only what was known by then, Unix seconds."""
    published_before: int | None = None
    """Only what was published by then, Unix seconds."""
    lead_s: int | None = None
    """Only what was published so long ahead of its interval, seconds."""
    every: bool = False

    def choose(self, versions: Versions, ranks: Mapping[str, int]) -> Versions:
        """Return the versions that it picks, of the feeds that `ranks` names.

        The newest are of the feed of the best rank that has one, in canonical order; an interval without a vintage that
        early is absent. Every one is of all feeds, by `ts`, fuel, `published_at`; of a vintage that was corrected what
        was known last.
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
    """Return the place of each version's fuel among all fuels in alphabetical order."""
    names = sorted({label.fuel or "" for label in versions.labels})
    return np.array([names.index(label.fuel or "") for label in versions.labels], np.int64)[versions.label]
