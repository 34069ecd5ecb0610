"""The holes of a page: intervals without a row that its feeds' own calendars have published by now. Pure.

A row may be due from the day on which the first of the feeds began, until where the soonest of them has published,
grace included. Fuels and borders of one instant stand for each other: a hole is where no row is at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from warehouse.documents import health
from warehouse.figures.resample import Interval, first_start, interval_at
from warehouse.judge import coverage
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, Window, interval_end, local_midnight
from warehouse.rows.versions import Ints
from warehouse.series.reader import RowColumns

MOST = 20
"""More are not listed."""


class DueSpan(NamedTuple):
    """The span that must hold rows by now, `[since, until)` in Unix seconds, and their step where none is at hand."""

    since: int
    until: int
    step: int


def due_span(feeds: Iterable[tuple[Mapping[str, Any], bool]], now: int) -> DueSpan:
    """What must be there at an instant by the calendars of a series' feeds, grace included.

    `feeds` are those of the catalogue, each with whether it is asked; nothing is due without any.
    """
    members = [*feeds]
    asked = [feed for feed, configured in members if configured] or [feed for feed, _ in members]
    if not asked:
        return DueSpan(0, 0, DAY)
    carriers = [health.carrier(feed, configured=True) for feed in asked]
    return DueSpan(
        min(local_midnight(date.fromisoformat(feed["since"]), feed["tz"]) for feed in asked),
        max(coverage.published_until(each.publication, each.tz, each.resolution, now) for each in carriers),
        min(RESOLUTIONS[each.resolution] for each in carriers),
    )


_Civil = tuple[Interval, str]
"""The days, weeks, months or years of a civil time."""


class _Grid(NamedTuple):
    """Where intervals may start: every `step` seconds from `phase` on, or where civil ones do."""

    step: int
    phase: int = 0
    civil: _Civil | None = None

    def at_or_after(self, at: int) -> int:
        return at + (self.phase - at) % self.step if self.civil is None else first_start(at, *self.civil)

    def at_or_before(self, at: int) -> int:
        return at - (at - self.phase) % self.step if self.civil is None else interval_at(at, *self.civil).start


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
        grid = _Grid(due.step)
        if interval is not None:
            grid = _Grid(HOUR) if interval == "1h" else _Grid(DAY, civil=(interval, tz))
        return _around(Window(since, window.end), due, grid, begun)
    civil = _civil(rows, tz)
    ends = _ends(rows, civil)
    first, until = int(rows.ts[0]), int(ends.max())
    begins, finishes, _ = coverage.uncovered(rows.ts, ends, Window(first, until))
    before, behind = Window(min(since, first), first), Window(min(until, window.end), window.end)
    return [
        *_around(before, due, _Grid(int(ends[0]) - first, first, civil), begun),
        *(Window(begin, end) for begin, end in zip(begins.tolist(), finishes.tolist(), strict=True)),
        *_around(behind, due, _Grid(until - int(rows.ts[-1]), until, civil), begun),
    ]


def last_end(rows: RowColumns, tz: str) -> int:
    """Where the interval of the last of some rows ends."""
    return int(_ends(rows, _civil(rows, tz))[-1])


def _civil(rows: RowColumns, tz: str) -> _Civil | None:
    """What the rows are means of; None for hours, and for rows that are no means."""
    resolution = rows.labels[rows.label[0]].resolution
    return None if rows.samples is None or resolution == "1h" else (resolution, tz)


def _fill(rows: RowColumns, since: int, begun: int, end: int) -> bool:
    """Whether rows that follow each other leave no room for one more, before or behind: most windows' are such."""
    if not len(rows) or rows.samples is not None:
        return False
    resolution = rows.labels[rows.label[0]].resolution
    step = RESOLUTIONS[resolution]
    first = rows.ts[0]
    return resolution != "1y" and bool((first == since or first - begun < step) and rows.ts[-1] + step >= end)


def _around(span: Window, due: DueSpan, grid: _Grid, begun: int) -> list[Window]:
    """The part of a span whose intervals have begun at `begun` or later and are due as a whole."""
    if span.start >= due.until:  # also where the civil calendar ends
        return []
    is_running = grid.at_or_before(span.start) >= begun
    start = span.start if is_running else grid.at_or_after(span.start)
    until = min(span.end, grid.at_or_before(due.until))
    return [Window(start, until)] if start < until else []


def _ends(rows: RowColumns, civil: _Civil | None) -> Ints:
    """Where each row's interval ends: years have 365 or 366 days, civil days 23 to 25 hours."""
    if civil is not None:
        return np.array([interval_at(ts, *civil).end for ts in rows.ts.tolist()], np.int64)
    if any(label.resolution == "1y" for label in rows.labels):
        pairs = zip(rows.ts.tolist(), rows.label.tolist(), strict=True)
        return np.array([interval_end(ts, rows.labels[code].resolution) for ts, code in pairs], np.int64)
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    return rows.ts + (steps[0] if len(steps) == 1 else np.array(steps, np.int64)[rows.label])
