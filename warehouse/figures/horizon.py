"""`/v1/windows`, method `windows/2`: what is known ahead of a zone, and the best block or slots of it. No files.

Everything counts from the running interval's start and holds for as long as that interval runs. Comparisons are made on
exact numbers: seconds as integers, values as the decimals that JSON states. Only intervals whose value is published
take part, and no block spans an interval that is missing. docs/windows.md gives the rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from warehouse.market.clock import DAY, HOUR, QUARTER, RESOLUTIONS, Window, zone_of
from warehouse.series.row_columns import RowColumns

METHOD = "windows/2"
ALTERNATIVES = 3
"""How many blocks are given beside the best one."""
AHEAD = 4 * DAY
"""No auction is for later days."""
LONGEST_HOURS, MOST_SLOTS = 24, 96
"""The longest block, and the most single intervals, that a question may ask for."""
LEAST_HORIZON = 1
"""The smallest mean of the horizon, in the unit of the values, of which another mean is stated as a percentage."""
_LONGEST = HOUR
"""No price lasts longer."""


class Interval(NamedTuple):
    """One known interval `[start, end)`, Unix seconds UTC, and its value."""

    start: int
    end: int
    value: float

    @property
    def seconds(self) -> int:
        return self.end - self.start


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
class WindowQuery:
    """What is looked for, and where. Instants are Unix seconds."""

    find: Literal["lowest", "highest"]
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
class WindowResult:
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
    """None where none fits; else as the API answers (docs/windows.md): of a block `start`, `end`, `mean`, `min`, `max`,
    `rank` (1 + the number of blocks that are strictly better), `vs_horizon_mean` and `vs_horizon_mean_pct`; of slots
    themselves in order of time, and the same without `rank`. Behind these `now` (`in_best`: whether the running
    interval's start lies inside; `rank` of the block that starts with it, or of itself among the slots, None where it
    takes no part), `mean_of_horizon`, and of a block `blocks`, how many were ranked, and `alternatives`, the next best
    that overlap neither it nor each other."""
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
    return known_from(rows.take(slice(first, last)))


def known_from(rows: RowColumns) -> KnownAhead:
    """Return rows, of which there is at least one, as known from the first one on."""
    labels = [rows.labels[code] for code in np.unique(rows.label)]
    return KnownAhead(
        tuple(intervals(rows)),
        rows.labels[rows.label[0]].unit,
        tuple(sorted({code for label in labels for code in label.source.split(", ")})),
        None if rows.published_at is None else int(rows.published_at.max()),
    )


def is_too_old(rows: RowColumns, step_s: int, now: int) -> bool:
    """Return whether a forecast of the time after `now` is older than two of the steps in which it is published."""
    ahead = rows.ts + rows.seconds() > now
    return rows.published_at is not None and bool(ahead.any()) and rows.published_at[ahead].max() < now - 2 * step_s


def find(ahead: KnownAhead, wanted: WindowQuery, tz: str) -> WindowResult:
    """The best block or slots of what is known from the running interval on; `tz`: the zone's civil time."""
    running, last = ahead.rows[0].start, ahead.rows[-1].end
    end = wanted.end if wanted.within is None else running + wanted.within
    known = _known_until(ahead.rows, running + AHEAD if end is None else end)
    until = known[-1].end
    begin = max(running, wanted.start or 0)
    span = Window(begin, max(begin, until))
    pieces = [
        Interval(max(row.start, part.start), min(row.end, part.end), row.value)
        for part in ([span] if wanted.between is None else civil_spans(wanted.between, span, tz))
        for row in known
        if row.start < part.end and part.start < row.end
    ]
    if wanted.slots is None:
        best = _best_block(pieces, running, wanted)
    else:
        whole = set(ahead.rows)
        best = _best_slots([piece for piece in pieces if piece in whole], running, wanted.slots, wanted.find)
    complete = begin < until >= (last if end is None else end)
    nothing_yet = not pieces and (end is None or not complete)
    return WindowResult(begin, until, complete, nothing_yet, last, *(best or (None, Fraction(0))))


def _known_until(rows: Sequence[Interval], until: int) -> list[Interval]:
    """The rows to `until`, cut there and at the first gap; the first of them begins before it."""
    known: list[Interval] = []
    for row in rows:
        if row.start >= until or (known and row.start > known[-1].end):
            break
        known.append(row._replace(end=min(row.end, until)))
    return known


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


_Best = tuple[dict[str, Any], Fraction]
"""`Found.members` and `Found.exact`."""


def _best_block(known: Sequence[Interval], running: int, wanted: WindowQuery) -> _Best | None:
    """The best block within known intervals, which may lie apart; None where no block of that length fits.

    Blocks start where an interval starts. Among equal means the earliest is the best.
    """
    values, scale = _whole_numbers(known)
    starts, sign = [row.start for row in known], 1 if wanted.find == "lowest" else -1
    sums = [0, *accumulate(value * row.seconds for value, row in zip(values, known, strict=True))]
    elapsed = [0, *accumulate(row.seconds for row in known)]
    blocks: list[tuple[int, int, Sequence[Interval]]] = []
    for place, begin in enumerate(starts):
        end = begin + wanted.seconds
        last = bisect_right(starts, end - 1) - 1
        if end <= known[last].end and starts[last] - begin == elapsed[last] - elapsed[place]:  # no gap between
            total = sums[last] + values[last] * (end - starts[last]) - sums[place]
            blocks.append((sign * total, begin, known[place : last + 1]))
    if not blocks:
        return None
    blocks.sort()
    horizon = Fraction(sums[-1], scale * elapsed[-1])

    def rank(total: int) -> int:
        return 1 + bisect_left(blocks, total, key=itemgetter(0))

    def describe(total: int, start: int, rows: Sequence[Interval]) -> dict[str, Any]:
        mean = Fraction(sign * total, scale * wanted.seconds)
        return {"start": start, "end": start + wanted.seconds, "rank": rank(total), **_means(mean, rows, horizon)}

    apart: list[tuple[int, int, Sequence[Interval]]] = []
    for block in blocks:
        if len(apart) <= ALTERNATIVES and all(abs(block[1] - other[1]) >= wanted.seconds for other in apart):
            apart.append(block)
    best, *rest = (describe(*block) for block in apart)
    own_rank = next((rank(total) for total, start, _ in blocks if start == running), None)
    members = {
        **best,
        "now": {"in_best": best["start"] <= running < best["end"], "rank": own_rank},
        "mean_of_horizon": rounded(horizon, 4),
        "blocks": len(blocks),
        "alternatives": rest,
    }
    return members, Fraction(sign * blocks[0][0], scale * wanted.seconds)


def _best_slots(known: Sequence[Interval], running: int, count: int, find: str) -> _Best | None:
    """The `count` best of known intervals, ascending; None where there are fewer. Among equal ones the earliest."""
    if len(known) < count:
        return None
    sign = 1 if find == "lowest" else -1
    slots = sorted(sorted(known, key=lambda row: (sign * row.value, row.start))[:count])
    mean, horizon = _mean(slots), _mean(known)
    rank = 1 + sum(sign * row.value < sign * known[0].value for row in known)
    members = {
        "slots": [slot._asdict() for slot in slots],
        **_means(mean, slots, horizon),
        "now": {"in_best": slots[0].start == running, "rank": rank if known[0].start == running else None},
        "mean_of_horizon": rounded(horizon, 4),
    }
    return members, mean


def _whole_numbers(rows: Iterable[Interval]) -> tuple[list[int], int]:
    """The values as whole numbers of `1 / scale`, and the scale."""
    decimals = [Decimal(repr(row.value)) for row in rows]
    scale = 10 ** max([0, *(-int(value.as_tuple().exponent) for value in decimals)])
    return [int(value * scale) for value in decimals], scale


def _mean(rows: Sequence[Interval]) -> Fraction:
    """Weighted by time, in the unit of the values."""
    values, scale = _whole_numbers(rows)
    total = sum(value * row.seconds for value, row in zip(values, rows, strict=True))
    return Fraction(total, scale * sum(row.seconds for row in rows))


def _means(mean: Fraction, rows: Sequence[Interval], horizon: Fraction) -> dict[str, float | None]:
    """Return the mean of a block or slots, and its distance from the mean of the horizon.

    The distance is in the unit of the values. As a percentage it says nothing about a horizon near or below zero, or
    about a mean of the other sign: it is None there.
    """
    values, away = [row.value + 0.0 for row in rows], mean - horizon
    is_comparable = horizon >= LEAST_HORIZON and mean >= 0
    return {
        "mean": rounded(mean, 4),
        "min": min(values),
        "max": max(values),
        "vs_horizon_mean": rounded(away, 4),
        "vs_horizon_mean_pct": rounded(100 * away / horizon, 1) if is_comparable else None,
    }


def rounded(value: Fraction, digits: int) -> float:
    """Half to even; what is published. Never -0.0."""
    return float(round(value, digits)) + 0.0
