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

from warehouse.market.clock import SPREAD
from warehouse.market.vocabulary import is_forecast
from warehouse.rows import resolve
from warehouse.rows.schema import Readings, Rows, SeriesKey
from warehouse.rows.versions import LIVE, Ints, Versions, concat

LONGEST_AHEAD_DAYS = 8
"""No publisher of ours looks further ahead: SPP's week is the longest."""

_SERIES = ("fuel", "counterparty", "link", "resolution", "feed")


def date_by_answer(rows: Rows, answered_at: int) -> Rows:
    """The rows, forecasts that do not say when they were issued under the instant (Unix seconds) of their answer."""
    undated = [key for key in rows.readings if is_forecast(key.metric) and key.published_at is None]
    for key in undated:
        readings = rows.readings.pop(key)
        rows.extend_vintage(key, answered_at, "fetched", readings.ts, readings.values)
    return rows


def instants(key: SeriesKey, readings: Readings) -> list[int]:
    """What places readings in partitions and due times: their interval starts, of a vintage when it was published.

    Rows of vintages that `assets.ingest.stored_days` reads have that in place of their starts already.
    """
    return readings.ts if key.published_at is None else [key.published_at] * len(readings.ts)


def merge(old: Versions, new: Versions) -> tuple[Versions, tuple[int, int, int, int]]:
    """A month's versions with some vintages of a feed, and how many rows were added, changed, evicted and unchanged.

    Vintages are taken oldest first, whenever they come: a late one takes its place among those that are held. It is
    the current one only where the newest that is held is older: newer ones that repeat a value leave no version.
    """
    both, count = concat([old, new]), len(old)
    merged, picked = put_together(both, count)
    identity, fresh = _identities(both), picked[picked >= count]
    added = len(np.setdiff1d(identity[fresh], identity[:count]))
    return merged, (added, len(fresh) - added, 0, len(new) - len(fresh))


def put_together(both: Versions, older: int | None = None) -> tuple[Versions, Ints]:
    """Versions, each until a later vintage was known, and which of them these are.

    Of versions of one vintage that say the same, only the one known first stays; behind the first `older`, none that
    says what the vintage before it says.
    """
    identity, units = _identities(both), both.codes("unit")
    order = np.lexsort((both.known_at, both.published_at, identity))
    before = np.roll(order, 1)
    same = _repeats(identity[order]) & both.equal(order, before) & (units[order] == units[before])
    picked = order[
        ~(
            same
            & (
                (order >= (len(both) if older is None else older))
                | (both.published_at[order] == both.published_at[before])
            )
        )
    ]
    superseded = both.superseded_at.copy()
    superseded[picked] = _known_until(identity[picked], both.known_at[picked])
    return replace(both, superseded_at=superseded).take(picked), picked


def _known_until(identity: Ints, known_at: Ints) -> Ints:
    """Until when each version was the newest known: versions by identity, the oldest vintage first."""
    follows = _repeats(identity)
    # A running minimum from the end begins anew with each identity, since that lowers all of its instants.
    shift = np.cumsum(~follows)[::-1].copy()
    shift = (shift.max(initial=0) - shift) * SPREAD
    earliest = (np.minimum.accumulate(known_at[::-1] - shift) + shift)[::-1]
    followed = np.roll(follows, -1)
    later = np.where(followed, np.roll(earliest, -1), LIVE)
    until: Ints = np.where(followed, np.maximum(known_at, later), LIVE)
    return until


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
        early is absent. Every one is of all feeds, by `ts`, then `published_at`; of a vintage that was corrected what
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
        identity = _identities(able)
        order = np.lexsort((able.known_at, able.published_at, identity))
        follows = _repeats(identity[order])
        if self.every:
            follows &= _repeats(able.published_at[order])
        picked = able.take(order[~np.roll(follows, -1)])
        if self.every:
            picked = picked.compact()
            return picked.take(np.lexsort((picked.label, picked.published_at, picked.ts)))
        picked = replace(picked, superseded_at=np.full(len(picked), LIVE))
        picked = picked.take(resolve.served(picked, ranks))
        return picked.take(picked.order())


def _identities(versions: Versions) -> Ints:
    """A number per version, equal for the vintages of one series' interval."""
    return versions.codes(*_SERIES) * SPREAD + versions.ts


def _repeats(ascending: Ints) -> np.ndarray:
    """Per number, whether the one before it is equal."""
    repeats = np.zeros(len(ascending), np.bool_)
    repeats[1:] = ascending[1:] == ascending[:-1]
    return repeats
