"""The holes of a page: intervals without a row that its feeds' own calendars have published by now. Pure.

A row may be due from the day on which the first of the feeds began, until where the soonest of them has published,
grace included. Fuels and borders of one instant stand for each other: a hole is where no row is at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from warehouse.documents import health
from warehouse.documents.health import Carrier
from warehouse.figures.resample import Interval
from warehouse.judge import coverage
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, MarketDay, Window, interval_end, local_midnight
from warehouse.rows.versions import Ints
from warehouse.series.reader import RowColumns

MOST = 20
"""More are not listed."""


class DueSpan(NamedTuple):
    """The span that must hold rows by now, `[since, until)` in Unix seconds, and their step where none is at hand."""

    since: int
    until: int
    step: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """One feed of a series: when its rows are out, and the first instant that it ever published."""

    carrier: Carrier
    since: int

    def until(self, now: int) -> int:
        """The end of the last interval that it must have published at an instant, grace included."""
        return coverage.published_until(self.carrier.publication, self.carrier.tz, self.carrier.resolution, now)


def due_span(calendars: Collection[Calendar], now: int) -> DueSpan:
    """What must be there at an instant by all feeds of a series; nothing without feeds that are asked."""
    configured = [each for each in calendars if each.carrier.configured] or list(calendars)
    if not configured:
        return DueSpan(0, 0, DAY)
    step = min(RESOLUTIONS[each.carrier.resolution] for each in configured)
    return DueSpan(min(each.since for each in configured), max(each.until(now) for each in configured), step)


def calendar(member: Mapping[str, Any], configured: bool) -> Calendar:
    """Read the calendar of a feed from the catalogue."""
    return Calendar(
        health.carrier(member, configured), local_midnight(date.fromisoformat(member["since"]), member["tz"])
    )


class _Grid(NamedTuple):
    """Where intervals may start: every `step` seconds from `phase` on, or at the midnights of a civil time."""

    step: int
    phase: int = 0
    days_of: str = ""

    def at_or_after(self, at: int) -> int:
        if not self.days_of:
            return at + (self.phase - at) % self.step
        day = MarketDay.at(at, self.days_of)
        return at if day.start == at else day.end

    def at_or_before(self, at: int) -> int:
        return MarketDay.at(at, self.days_of).start if self.days_of else at - (at - self.phase) % self.step


def holes(
    rows: RowColumns,
    window: Window,
    due: DueSpan,
    tz: str,
    interval: Interval | None = None,
    asked_from: int | None = None,
) -> list[Window]:
    """The spans of a window without a row that was due, in order. `rows` ascend and start inside the window.

    `interval`: the rows are means over it, also where there are none. `asked_from`: where the window begins of which
    this is a page: a hole that began on the page before goes on.
    """
    since = min(max(window.start, due.since), window.end)
    begun = max(window.start if asked_from is None else asked_from, due.since)
    if rows.run and _fill(rows, since, begun, window.end):
        return []
    if not len(rows):
        return _around(Window(since, window.end), due, _grid(due, interval, tz), begun)
    days_of = _days_of(rows, tz)
    covered = _covered(rows, days_of)
    first, final = int(rows.ts[0]), int(rows.ts[-1])
    head = Window(min(since, first), first)
    tail = Window(min(covered.until, window.end), window.end)
    begins = _Grid(covered.first_end - first, first, days_of)
    finishes = _Grid(covered.until - final, covered.until, days_of)
    return [*_around(head, due, begins, begun), *covered.holes, *_around(tail, due, finishes, begun)]


def last_end(rows: RowColumns, tz: str) -> int:
    """Where the interval of the last of some rows ends."""
    return int(_ends(rows, _days_of(rows, tz))[-1])


def _grid(due: DueSpan, interval: Interval | None, tz: str) -> _Grid:
    """Where rows may start of which none is at hand."""
    if interval is None:
        return _Grid(due.step)
    return _Grid(HOUR) if interval == "1h" else _Grid(DAY, days_of=tz)


def _days_of(rows: RowColumns, tz: str) -> str:
    """The civil time whose days the rows are means of; empty for other rows."""
    return tz if rows.samples is not None and rows.labels[rows.label[0]].resolution == "1d" else ""


def _fill(rows: RowColumns, since: int, begun: int, end: int) -> bool:
    """Whether rows that follow each other leave no room for one more, before or behind: most windows' are such."""
    if not len(rows) or rows.samples is not None:
        return False
    resolution = rows.labels[rows.label[0]].resolution
    step = RESOLUTIONS[resolution]
    first = rows.ts[0]
    return resolution != "1y" and bool((first == since or first - begun < step) and rows.ts[-1] + step >= end)


class _Covered(NamedTuple):
    """Where the first row's interval ends, the holes between rows, and until where the rows reach."""

    first_end: int
    holes: list[Window]
    until: int


def _covered(rows: RowColumns, days_of: str) -> _Covered:
    ends = _ends(rows, days_of)
    until = int(ends.max())
    begins, finishes, _ = coverage.uncovered(rows.ts, ends, Window(int(rows.ts[0]), until))
    within = [Window(begin, end) for begin, end in zip(begins.tolist(), finishes.tolist(), strict=True)]
    return _Covered(int(ends[0]), within, until)


def _around(span: Window, due: DueSpan, grid: _Grid, begun: int) -> list[Window]:
    """The part of a span whose intervals have begun at `begun` or later and are due as a whole."""
    if span.start >= due.until:  # also where the calendar of civil days ends
        return []
    is_running = grid.at_or_before(span.start) >= begun
    start = span.start if is_running else grid.at_or_after(span.start)
    until = min(span.end, grid.at_or_before(due.until))
    return [Window(start, until)] if start < until else []


def _ends(rows: RowColumns, days_of: str) -> Ints:
    """Where each row's interval ends: years have 365 or 366 days, civil days 23 to 25 hours."""
    if days_of:
        return np.array([MarketDay.at(ts, days_of).end for ts in rows.ts.tolist()], np.int64)
    if any(label.resolution == "1y" for label in rows.labels):
        pairs = zip(rows.ts.tolist(), rows.label.tolist(), strict=True)
        return np.array([interval_end(ts, rows.labels[code].resolution) for ts, code in pairs], np.int64)
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    return rows.ts + (steps[0] if len(steps) == 1 else np.array(steps, np.int64)[rows.label])
