"""Model followers of the change log, and the steps that change the rows meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable

from hypothesis import strategies as st

from tests.stand_ins import stored_rows
from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, feed_rows, fold, resolve_again, spans
from warehouse.documents import manifest
from warehouse.market.clock import HOUR, Window
from warehouse.rows.versions import empty
from warehouse.series import change_log, folding, restore
from warehouse.series.change_log import Change
from warehouse.series.month_versions import Month
from warehouse.store import layout
from warehouse.store.storage import Folder

SEGMENT = 8
"""The number of entries per segment under `short_segments`."""


def rows_of(folder, window=EVERYTHING) -> dict[tuple, tuple]:
    """Return the served rows of GB's demand in `window`, by identity."""
    table = stored_rows.read(folder, "GB", "demand", window).to_pylist()
    return {
        (row["ts"], row["fuel"], row["counterparty"], row["link"]): (
            row["value"],
            row["unit"],
            row["resolution"],
            row["feed"],
        )
        for row in table
    }


class Follower:
    """A follower that learns of changes only from the log, and reads the range of each entry again."""

    def __init__(self) -> None:
        self.rows: dict[tuple, tuple] = {}
        self.cursor: str | None = None
        self.entries: list[Change] = []

    def follow(self, folder, limit=3) -> None:
        more = True
        while more:
            page = change_log.read(folder, self.cursor, limit)
            for entry in page.entries:
                self.take(folder, entry.change)
            self.cursor, more = page.next, page.more

    def take(self, folder, change) -> None:
        self.entries.append(change)
        self.rows = {at: row for at, row in self.rows.items() if not change.first <= at[0] <= change.last}
        self.rows |= rows_of(folder, Window(change.first, change.last + 1))


folds = st.tuples(st.sampled_from(FEEDS), feed_rows(), spans())
rights = st.fixed_dictionaries({}, optional={f: st.just(RANKS[f]) for f in FEEDS})
steps = st.lists(
    st.one_of(folds, folds, folds, rights, st.sampled_from(["damage", "follow", "publish"])), min_size=1, max_size=7
)


def follow_steps(folder, steps):
    """Follow backfills, corrections, withdrawals, changed permissions, and a damaged month that is rebuilt."""
    follower, now = Follower(), 1000
    for step in steps:
        now += 1
        before = rows_of(folder)
        told = number(folder)
        if step == "follow":
            follower.follow(folder)
        elif step == "damage":
            spoil(folder)
        elif step == "publish":
            publication(folder)
        elif isinstance(step, dict):
            for place in folding.places(folder):
                resolve_again(folder, place, step)
        else:
            feed, rows, covered = step
            folding.fold(folder, feed, stored_rows.rows_of(rows), {("GB", "demand"): covered}, RANKS, now, "live")
        assert (number(folder) > told) == (rows_of(folder) != before) or step == "damage"
    follower.follow(folder)
    assert follower.rows == rows_of(folder)
    told = number(folder)
    publication(folder)
    assert number(folder) == told, "nothing was missing"


def publication(folder) -> None:
    """Publish the manifest, which also appends missing entries to the log."""
    manifest.publish(folder, 0, lambda place: 10)


def number(folder) -> int:
    """Return the number of the newest entry."""
    return int(change_log.newest(folder).rpartition("-")[2])


def spoil(folder) -> None:
    """Damage a served month, and rebuild it from an empty raw archive."""
    for key in folder.keys("series/")[:1]:
        folder.put(key, b"PAR1" + os.urandom(50))
        rebuild(folder, key)


def rebuild(folder, key) -> None:
    """Rebuild the month of `key` for which the raw archive has no response."""
    restore.put(folder, Month(*layout.of_series(key)[:3]), empty(), RANKS, "live", None)


CASES: dict[str, Callable[[Folder], object]] = {
    "new": lambda folder: fold(folder, "one.fast", BASE, [1, 2, 3, 4], known_at=5),
    "corrected": lambda folder: fold(folder, "one.fast", BASE, [1, 7, 3], known_at=5),
    "withdrawn": lambda folder: fold(folder, "one.fast", BASE, [1], known_at=5, spans=[Window(BASE, BASE + 3 * HOUR)]),
    "rights": lambda folder: [resolve_again(folder, place, {"three.back": 9}) for place in folding.places(folder)],
    "nothing": lambda folder: fold(folder, "one.fast", BASE, [1, 2, 3], known_at=5),
}
