"""Find the best block or slots of a zone's known future (`/v1/windows`, method `windows/2`). No files.

Everything starts with the current interval and is valid until its end. Comparisons use exact numbers: seconds as
integers, values as the decimals in JSON. Only intervals with a published value take part, and no block spans a missing
interval. docs/windows.md gives the rules.
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
"""Number of blocks returned beside the best block."""
AHEAD = 4 * DAY
"""No auction covers later days."""
LONGEST_HOURS, MOST_SLOTS = 24, 96
"""The longest block, and the maximum number of single intervals, that a request may contain."""
LEAST_HORIZON = 1
"""The smallest mean of the horizon, in the unit of the values, that serves as the base of a percentage."""
_LONGEST = HOUR
"""No price interval is longer."""


class Interval(NamedTuple):
    """A known interval `[start, end)`, Unix seconds UTC, and its value."""

    start: int
    end: int
    value: float

    @property
    def seconds(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class KnownAhead:
    """A zone's rows since the current interval, including those after a gap."""

    rows: tuple[Interval, ...]
    """Ascending, starting with the current interval."""
    unit: str
    sources: tuple[str, ...]
    """Codes of the sources of these rows, sorted."""
    published_at: int | None = None
    """Publication time of the newest vintage among the rows, Unix seconds; only for forecasts."""

    @property
    def valid_until(self) -> int:
        """Return the end of the current interval, Unix seconds; any `now` in this interval finds the same rows."""
        return min(self.rows[0].end, self.rows[0].start + _LONGEST)


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """The search and its limits. Times are Unix seconds."""

    find: Literal["lowest", "highest"]
    seconds: int
    """The length of the block."""
    slots: int | None = None
    """Number of intervals to find instead of a block; they may be apart."""
    start: int | None = None
    end: int | None = None
    within: int | None = None
    """Replaces `end`: seconds after the start of the current interval."""
    between: tuple[int, int] | None = None
    """Minutes of the civil day; across midnight if the first is later than the second."""


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The horizon of a request and the best result in it. Times are Unix seconds."""

    start: int
    until: int
    complete: bool
    """Whether the horizon reaches as far as requested."""
    nothing_yet: bool
    """Whether no interval of the requested range is known."""
    last: int
    """The end of the last known row, even after a gap."""
    members: Mapping[str, Any] | None
    """The fields of the API's response (docs/windows.md); None if nothing fits.

    A block has `start`, `end`, `mean`, `min`, `max`, `rank` (1 + the number of strictly better blocks),
    `vs_horizon_mean` and `vs_horizon_mean_pct`. Slots have the slots in order of time, and the same fields without
    `rank`. Both have `mean_of_horizon` and `now`: `in_best` is whether the result contains the current interval's
    start. The `rank` in `now` is that of the block that starts with the current interval, or of this interval among the
    slots; None if it takes no part. A block also has `blocks`, the number of ranked blocks, and `alternatives`, the
    next best blocks without overlap.
    """
    exact: Fraction
    """The mean of the best result, not rounded; 0 without a result."""


def window(now: int) -> Window:
    """Return the window of row starts that a request at `now` needs."""
    return Window(now - _LONGEST, now + AHEAD)


def intervals(rows: RowColumns) -> list[Interval]:
    """Return rows as intervals."""
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    return [
        Interval(ts, ts + steps[label], value)
        for ts, value, label in zip(rows.ts.tolist(), rows.value.tolist(), rows.label.tolist(), strict=True)
    ]


def known_ahead(rows: RowColumns, now: int) -> KnownAhead | None:
    """Return the rows since the current interval, from all rows of `window(now)`; None without a current interval."""
    known = intervals(rows)
    first = next((place for place, row in enumerate(known) if row.start <= now < row.end), None)
    if first is None:
        return None
    _, last = rows.between(Window(known[first].start, known[first].start + AHEAD))
    return known_from(rows.take(slice(first, last)))


def known_from(rows: RowColumns) -> KnownAhead:
    """Return rows (at least one) as known from the first row on."""
    labels = [rows.labels[code] for code in np.unique(rows.label)]
    return KnownAhead(
        tuple(intervals(rows)),
        rows.labels[rows.label[0]].unit,
        tuple(sorted({code for label in labels for code in label.source.split(", ")})),
        None if rows.published_at is None else int(rows.published_at.max()),
    )


def is_too_old(rows: RowColumns, step_s: int, now: int) -> bool:
    """Return whether a forecast of the time after `now` is older than two of its publication steps."""
    ahead = rows.ts + rows.seconds() > now
    return rows.published_at is not None and bool(ahead.any()) and rows.published_at[ahead].max() < now - 2 * step_s


def find(ahead: KnownAhead, wanted: WindowQuery, tz: str) -> WindowResult:
    """Return the best block or slots known from the current interval on. `tz` is the zone's civil time zone."""
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
    """Return the rows before `until`, cut there and at the first gap; the first row starts before `until`."""
    known: list[Interval] = []
    for row in rows:
        if row.start >= until or (known and row.start > known[-1].end):
            break
        known.append(row._replace(end=min(row.end, until)))
    return known


def civil_spans(between: tuple[int, int], window: Window, tz: str) -> list[Window]:
    """Return the parts of a window in which a clock in `tz` shows a time from the first minute to before the second.

    The parts are whole quarter hours of civil time, across midnight if the first minute is the later one. A change of
    the clocks makes a part longer or shorter.
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
"""`WindowResult.members` and `WindowResult.exact`."""


def _best_block(known: Sequence[Interval], running: int, wanted: WindowQuery) -> _Best | None:
    """Return the best block in known intervals, which may be apart; None if no block of that length fits.

    Blocks start with an interval. Of equal means, the earliest is the best.
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
    """Return the best `count` intervals, ascending; None if there are fewer. Of equal ones, the earliest is best."""
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
    """Return the values as whole numbers of `1 / scale`, and the scale."""
    decimals = [Decimal(repr(row.value)) for row in rows]
    scale = 10 ** max([0, *(-int(value.as_tuple().exponent) for value in decimals)])
    return [int(value * scale) for value in decimals], scale


def _mean(rows: Sequence[Interval]) -> Fraction:
    """Return the mean weighted by time, in the unit of the values."""
    values, scale = _whole_numbers(rows)
    total = sum(value * row.seconds for value, row in zip(values, rows, strict=True))
    return Fraction(total, scale * sum(row.seconds for row in rows))


def _means(mean: Fraction, rows: Sequence[Interval], horizon: Fraction) -> dict[str, float | None]:
    """Return the mean of a block or slots, and its distance from the mean of the horizon.

    The distance is in the unit of the values. As a percentage it is None if the horizon is near or below zero, or if
    the mean has the other sign: it would have no meaning there.
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
    """Return a value rounded half to even, as published. Never -0.0."""
    return float(round(value, digits)) + 0.0
