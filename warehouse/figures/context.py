"""The arithmetic of the brief, method `brief/1`: current value, 30-day context, 24-hour trend. No files, no clock.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. docs/brief.md
gives the formulae.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from warehouse.figures.statistics import quantiles
from warehouse.market.clock import DAY, QUARTER, zone_of
from warehouse.rows.versions import Flags, Floats, Ints
from warehouse.series.row_columns import RowColumns

METHOD = "brief/1"
WINDOW_DAYS = 30
WINDOW_S = WINDOW_DAYS * DAY
MIN_SAMPLES = 20
_SAME_HOUR_S = WINDOW_S // 24
_FLOOR = Decimal(1)
"""One unit (MW, EUR/MWh, gCO2/kWh): no smaller difference is a trend or the base of a percentage."""
_SPREAD_SHARE = Decimal("0.05")

Direction = Literal["rising", "falling", "flat"]
Band = Literal["record_low", "very_low", "low", "typical", "high", "very_high", "record_high"]
_REASONS = {
    "too_few_samples": f"there are fewer than {MIN_SAMPLES} values in the window",
    "coverage_below_50_pct": "data covers less than half of the window",
    "no_rows": "no data is available",
    "withheld_by_terms": "its publisher's terms do not allow redistribution",
    "unreadable": "its stored data is temporarily unavailable",
    "sample": "a sample does not include it",
}
"""What `coverage_note` says for each reason in `context_omitted`."""


@dataclass(frozen=True, slots=True)
class Context:
    """Where the current value stands in the 30 days before it. Values and differences in the series' unit."""

    percentile: int
    percentile_exact: float
    percentile_same_hour: int | None
    """Among the rows of the same hour of civil time."""
    percentile_same_hour_reason: str
    band: Band
    ties_pct: float
    """The share of the window that equals the current value."""
    vs_median: float
    vs_median_pct: float | None
    vs_median_pct_reason: str
    median: float
    p10: float
    p90: float
    min: float
    max: float
    sample_count: int
    coverage: float
    """The observed part of the 30 days, 0..1."""
    confidence: Literal["normal", "low"]
    window_start: int
    window_end: int
    window_days_actual: float


@dataclass(frozen=True, slots=True)
class Trend:
    """The current value against the row that held 24 hours (of absolute time) earlier."""

    direction: Direction
    change: float
    change_pct: float | None
    change_pct_reason: str
    from_value: float
    from_ts: int
    flat_threshold: float
    """A change of at most this is flat."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one series says at an instant. `row` indexes its rows; an omitted part is None beside its reason."""

    row: int
    ts: int
    value: float
    next_ts: int | None
    """The start of the row after it, where already known."""
    context: Context | None
    context_omitted: str
    many_ties: bool
    """More than a quarter of the window equals the value: a rank would say little. Exact, unlike `ties_pct`."""
    trend: Trend | None
    trend_omitted: str


class _History(NamedTuple):
    """The rows of the 30 days before the current one, and how many seconds of these days each of them covers."""

    ts: Ints
    value: Floats
    seconds: Ints

    def share(self, x: float, chosen: Flags | slice = slice(None)) -> _Share:
        """How much of the chosen rows lies below a value."""
        value, seconds = self.value[chosen], self.seconds[chosen]
        return _Share(len(value), *(int(seconds[rows].sum()) for rows in (slice(None), value < x, value == x)))


class _Share(NamedTuple):
    """How much of some rows lies below the current value: whole seconds, but `samples` is a count of rows."""

    samples: int
    total: int
    below: int
    equal: int

    def too_little(self, window_s: int) -> str:
        """Why these rows are too few to rank a value among, or nothing."""
        if self.samples < MIN_SAMPLES:
            return "too_few_samples"
        return "coverage_below_50_pct" if self.total * 2 < window_s else ""

    @property
    def rank(self) -> Fraction:
        """Mean-kind percentile: what lies below, and half of what is equal, in per cent of the whole."""
        return Fraction(100 * (2 * self.below + self.equal), 2 * self.total)

    @property
    def percentile(self) -> int:
        """The rank as an integer, rounded half up; 0 and 100 only outside every value."""
        if not self.below and not self.equal:
            return 0
        if self.below == self.total:
            return 100
        return min(max(int(self.rank + Fraction(1, 2)), 1), 99)


def read_at(rows: RowColumns, tz: str, as_of: int) -> Reading | None:
    """What a series' served rows say at an instant (Unix seconds UTC); None where no row has begun.

    Rows ascend, none over another. `tz`: civil time, for the hour of the day.
    """
    ts, seconds = rows.ts, rows.seconds()
    row = int(np.searchsorted(ts, as_of, side="right")) - 1
    if row < 0:
        return None
    at, value = int(ts[row]), float(rows.value[row])
    before = slice(int(np.searchsorted(ts, at - WINDOW_S)), row)
    history = _History(ts[before], rows.value[before], np.minimum(seconds[before], at - ts[before]))
    window = history.share(value)
    omitted = window.too_little(WINDOW_S)
    context, threshold = (None, _FLOOR) if omitted else _context(history, window, tz, at, value)
    reference = int(np.searchsorted(ts, at - DAY, side="right")) - 1
    if reference >= 0 and ts[reference] + seconds[reference] <= at - DAY:
        reference = -1
    return Reading(
        row,
        at,
        value,
        int(ts[row + 1]) if row + 1 < len(ts) else None,
        context,
        omitted,
        window.equal * 4 > window.total,
        None if reference < 0 else _trend(rows, reference, value, threshold),
        "no_value_24h_ago" if reference < 0 else "",
    )


def _context(history: _History, window: _Share, tz: str, at: int, value: float) -> tuple[Context, Decimal]:
    """The context of a value, and what counts as no change: 5 % of the spread from p10 to p90, one unit at least."""
    around = quantiles(history.value, history.seconds)
    p10, median, p90 = ((_decimal(left) + _decimal(right)) / 2 for left, right in around)
    low, high = (_decimal(float(edge)) for edge in (history.value.min(), history.value.max()))
    threshold, x = max(_FLOOR, _SPREAD_SHARE * (p90 - p10)), _decimal(value)
    hours = local_hours(np.append(history.ts, at), tz)
    same_hour = history.share(value, hours[:-1] == hours[-1])
    same_hour_reason = same_hour.too_little(_SAME_HOUR_S)
    pct, reason = _percentage(x - median, median, threshold, "median")
    context = Context(
        percentile=window.percentile,
        percentile_exact=_rounded(window.rank, "0.01"),
        percentile_same_hour=None if same_hour_reason else same_hour.percentile,
        percentile_same_hour_reason=same_hour_reason,
        band=_band(x, low, high, window.rank, threshold),
        ties_pct=_rounded(Fraction(100 * window.equal, window.total), "0.1"),
        vs_median=_float(x - median),
        vs_median_pct=pct,
        vs_median_pct_reason=reason,
        median=_float(median),
        p10=_float(p10),
        p90=_float(p90),
        min=_float(low),
        max=_float(high),
        sample_count=window.samples,
        coverage=_rounded(Fraction(window.total, WINDOW_S), "0.01"),
        confidence="low" if window.total * 10 < WINDOW_S * 9 else "normal",
        window_start=at - WINDOW_S,
        window_end=at,
        window_days_actual=_rounded(Fraction(at - int(history.ts[0]), DAY), "0.1"),
    )
    return context, threshold


def local_hours(ts: Ints, tz: str) -> Ints:
    """0..23: the hour that a clock in `tz` shows at each instant (Unix seconds UTC, any order)."""
    quarters, place = np.unique(ts // QUARTER, return_inverse=True)
    return np.array([_local_hour(tz, quarter) for quarter in quarters.tolist()], np.int64)[place]


@lru_cache(maxsize=1 << 17)
def _local_hour(tz: str, quarter: int) -> int:
    return datetime.fromtimestamp(quarter * QUARTER, zone_of(tz)).hour


def _trend(rows: RowColumns, reference: int, value: float, threshold: Decimal) -> Trend:
    base = _decimal(float(rows.value[reference]))
    change = _decimal(value) - base
    direction: Direction = "flat" if abs(change) <= threshold else "rising" if change > 0 else "falling"
    pct, reason = _percentage(change, base, threshold, "from")
    return Trend(direction, _float(change), pct, reason, _float(base), int(rows.ts[reference]), _float(threshold))


def _band(x: Decimal, low: Decimal, high: Decimal, rank: Fraction, threshold: Decimal) -> Band:
    if x - high > threshold:
        return "record_high"
    if low - x > threshold:
        return "record_low"
    if rank < 25:
        return "very_low" if rank < 10 else "low"
    if rank > 75:
        return "very_high" if rank >= 90 else "high"
    return "typical"


def _percentage(part: Decimal, base: Decimal, floor: Decimal, name: str) -> tuple[float | None, str]:
    """`part` in per cent of `base`, one decimal; none, and why, where the base is not clearly positive."""
    if base <= 0:
        return None, f"{name}_not_positive"
    if base < floor:
        return None, f"{name}_near_zero"
    exact = Fraction(part) * 100 / Fraction(base)
    # A difference is never published as 0.0 %: the sign must agree with the words beside it.
    step = "0.1" if abs(exact) >= Fraction(1, 20) or not exact else f"1e{_decimal(float(exact)).adjusted()}"
    return _rounded(exact, step), ""


def _decimal(value: float) -> Decimal:
    """The decimal that JSON states for a value."""
    return Decimal(repr(value))


def _float(value: Decimal) -> float:
    return float(value) + 0.0  # never -0.0


def _rounded(exact: Fraction, step: str) -> float:
    """An exact number rounded half up, away from zero, to a multiple of a power of ten."""
    size = Fraction(step)
    whole = int(abs(exact) / size + Fraction(1, 2))
    return _float(Decimal(whole if exact >= 0 else -whole) * Decimal(step))


def coverage_note(brief: Mapping[str, Any]) -> str:
    """Word how much of the window each context block covers, and why a block is omitted.

    The note is made from the brief's own fields, so that it describes what a shortened brief still contains.
    """
    blocks: Mapping[str, Any] = brief["context"]
    days = brief["context_window_requested_days"]
    full = [_noun(m) for m, block in blocks.items() if block["confidence"] == "normal"]
    notes = [f"Data covers at least 90% of the past {days} days for {listed(full)}."] if full else []
    notes += [
        f"{_noun(m).capitalize()} data covers only {round(100 * block['coverage'])}% of the past {days} days "
        f"({block['sample_count']} values), so confidence is low."
        for m, block in blocks.items()
        if block["confidence"] == "low"
    ]
    notes += [f"No ranking for {_noun(m)}: {_REASONS[reason]}." for m, reason in brief["context_omitted"].items()]
    return " ".join(notes) or "This zone has no metrics that are ranked."


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _noun(metric: str) -> str:
    return metric.replace("_", " ")
