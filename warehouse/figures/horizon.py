"""What is known ahead of a zone at an instant, and the best blocks or slots of it: from rows to plain members.

Everything counts from the running interval's start and holds for as long as that interval runs: docs/windows.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from warehouse.figures.windows import Interval, Kind, best_block, best_slots, clip, horizon
from warehouse.market.clock import DAY, HOUR, QUARTER, RESOLUTIONS, Window, zone_of
from warehouse.series.reader import RowColumns

AHEAD = 4 * DAY
"""No auction is for later days."""
_LONGEST = HOUR
"""No price lasts longer."""


@dataclass(frozen=True, slots=True)
class KnownAhead:
    """A zone's rows from the running interval on, behind a gap too."""

    rows: tuple[Interval, ...]
    """Ascending; the first is the running one."""
    unit: str
    sources: tuple[str, ...]
    """Codes of the sources of these rows, sorted."""
    published_at: int | None = None
    """When the newest vintage among them was published, Unix seconds; only of forecasts."""

    @property
    def valid_until(self) -> int:
        """The end of the running interval, Unix seconds; until then every clock since its start finds these rows."""
        return min(self.rows[0].end, self.rows[0].start + _LONGEST)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for, and where. Instants are Unix seconds."""

    kind: Kind
    seconds: int
    """The length of the block."""
    slots: int | None = None
    """So many intervals in place of a block, next to each other or not."""
    start: int | None = None
    end: int | None = None
    within: int | None = None
    """In place of `end`: so many seconds from the running interval's start."""
    between: tuple[int, int] | None = None
    """Minutes of the civil day; across midnight where the first is the later one."""


@dataclass(frozen=True, slots=True)
class Found:
    """The horizon of one question and the best of it. Instants are Unix seconds."""

    start: int
    until: int
    complete: bool
    """Whether the horizon reaches as far as it was asked to."""
    nothing_yet: bool
    """Whether no interval is known where it was asked to look."""
    last: int
    """The end of the last row that is known, behind a gap or not."""
    members: Mapping[str, Any] | None
    """The best block or slots, what is next best, `now` and the horizon's `mean`; None where none fits."""
    exact: Fraction
    """The mean of the best, not rounded; 0 without one."""


def window(now: int) -> Window:
    """Where every row begins that a question at an instant is answered from."""
    return Window(now - _LONGEST, now + AHEAD)


def intervals(rows: RowColumns) -> list[Interval]:
    """Rows as intervals."""
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    return [
        Interval(ts, ts + steps[label], value)
        for ts, value, label in zip(rows.ts.tolist(), rows.value.tolist(), rows.label.tolist(), strict=True)
    ]


def known_ahead(rows: RowColumns, now: int) -> KnownAhead | None:
    """The rows from the running interval on, of all rows of `window(now)`; None where none is running."""
    known = intervals(rows)
    first = next((place for place, row in enumerate(known) if row.start <= now < row.end), None)
    if first is None:
        return None
    _, last = rows.between(Window(known[first].start, known[first].start + AHEAD))
    labels = [rows.labels[code] for code in np.unique(rows.label[first:last])]
    return KnownAhead(
        tuple(known[first:last]),
        rows.labels[rows.label[first]].unit,
        tuple(sorted({code for label in labels for code in label.source.split(", ")})),
        None if rows.published_at is None else int(rows.published_at[first:last].max()),
    )


def find(ahead: KnownAhead, wanted: Wanted, tz: str) -> Found:
    """The best block or slots of what is known from the running interval on; `tz`: the zone's civil time."""
    running, last = ahead.rows[0].start, ahead.rows[-1].end
    end = wanted.end if wanted.within is None else running + wanted.within
    known = horizon(ahead.rows, running, running + AHEAD if end is None else end)
    until = known[-1].end
    begin = max(running, wanted.start or 0)
    span = Window(begin, max(begin, until))
    pieces = clip(known, [span] if wanted.between is None else civil_spans(wanted.between, span, tz))
    if wanted.slots is None:
        result = best_block(pieces, running, wanted.seconds, wanted.kind)
    else:
        whole = set(ahead.rows)
        result = best_slots([piece for piece in pieces if piece in whole], running, wanted.slots, wanted.kind)
    complete = begin < until >= (last if end is None else end)
    nothing_yet = not pieces and (end is None or not complete)
    if result is None:
        return Found(begin, until, complete, nothing_yet, last, None, Fraction(0))
    return Found(begin, until, complete, nothing_yet, last, *result)


def civil_spans(between: tuple[int, int], window: Window, tz: str) -> list[Window]:
    """The parts of a window in which a clock in `tz` shows a minute of the day from the first to before the second.

    In whole quarter hours of civil time: across midnight where the first is the later; longer or shorter by what a
    change of the clocks between them adds or takes.
    """
    first, second = between
    spans: list[Window] = []
    for quarter in range(window.start // QUARTER * QUARTER, window.end, QUARTER):
        civil = datetime.fromtimestamp(quarter, zone_of(tz))
        minute = civil.hour * 60 + civil.minute
        if not (first <= minute < second if first < second else minute >= first or minute < second):
            continue
        if spans and spans[-1].end == quarter:
            spans[-1] = Window(spans[-1].start, quarter + QUARTER)
        else:
            spans.append(Window(quarter, quarter + QUARTER))
    edges = ((max(span.start, window.start), min(span.end, window.end)) for span in spans)
    return [Window(begin, end) for begin, end in edges if begin < end]
