"""Compute the brief by method `brief/1`: current value, 30-day context, 24-hour trend. No files, no clock.

Every comparison uses exact numbers: seconds as integers, values as the decimals in JSON. docs/brief.md gives the
formulae.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from warehouse.figures.statistics import quantiles
from warehouse.market.clock import DAY, QUARTER, zone_of
from warehouse.market.field_types import TEXT, UNIT, Count, Instant, Percentile, Share
from warehouse.rows.versions import Flags, Floats, Ints
from warehouse.series.row_columns import RowColumns

METHOD = "brief/1"
WINDOW_DAYS = 30
WINDOW_S = WINDOW_DAYS * DAY
MIN_SAMPLES = 20
_SAME_HOUR_S = WINDOW_S // 24
_FLOOR = Decimal(1)
"""One unit (MW, EUR/MWh, gCO2/kWh): a smaller difference is neither a trend nor the base of a percentage."""
_SPREAD_SHARE = Decimal("0.05")

Direction = Literal["rising", "falling", "flat"]
Confidence = Literal["low", "normal"]
Band = Literal["record_low", "very_low", "low", "typical", "high", "very_high", "record_high"]
_REASONS = {
    "too_few_samples": f"there are fewer than {MIN_SAMPLES} values in the window",
    "coverage_below_50_pct": "data covers less than half of the window",
    "no_rows": "no data is available",
    "withheld_by_terms": "its publisher's terms do not allow redistribution",
    "unreadable": "its stored data is temporarily unavailable",
    "sample": "a sample does not include it",
}
"""The text of `coverage_note` for each reason in `context_omitted`."""


class ContextBlock(Struct, frozen=True, kw_only=True):
    """Rank of the current value within the 30 days before it."""

    percentile: Annotated[
        Percentile,
        Meta(
            description="Share of the window's time below the current value, with ties counted half, rounded half up. "
            "1 to 99; 0 only below every value, 100 only above every value."
        ),
    ]
    percentile_exact: Annotated[float, Meta(description="The percentile with two decimals.")]
    percentile_same_hour: Annotated[
        Percentile | None,
        Meta(description="`percentile` within the same hour of the civil day; null if there are too few rows."),
    ]
    percentile_same_hour_reason: Annotated[
        str | UnsetType, Meta(description="Reason why `percentile_same_hour` is null.")
    ] = UNSET
    band: Annotated[Band, Meta(description="The percentile as a category.", extra_json_schema=TEXT)]
    ties_pct: Annotated[float, Meta(description="Percentage of the window's time at exactly the current value.")]
    vs_median: Annotated[float, Meta(description="Current value minus the median, in `unit`.")]
    vs_median_pct: Annotated[
        float | None,
        Meta(description="`vs_median` in percent; null if the median is negative, zero or close to zero."),
    ]
    vs_median_pct_reason: Annotated[
        str | UnsetType,
        Meta(description="Reason why `vs_median_pct` is null: `median_not_positive` or `median_near_zero`."),
    ] = UNSET
    median: Annotated[float, Meta(description="Duration-weighted median of the window, in `unit`.")]
    p10: Annotated[float, Meta(description="Value below which the series was for 10% of the time.")]
    p90: Annotated[float, Meta(description="Value below which the series was for 90% of the time.")]
    min: Annotated[float, Meta(description="The lowest value, in the unit of the values. May be negative.")]
    max: Annotated[float, Meta(description="The highest value, in the unit of the values.")]
    sample_count: Annotated[Count, Meta(description="Number of rows in the window.")]
    coverage: Annotated[Share, Meta(description="Share of the 30 days that is covered by rows, from 0 to 1.")]
    confidence: Annotated[
        Confidence,
        Meta(description="`low` if less than 90% of the window is covered.", extra_json_schema=TEXT),
    ]
    window_start: Annotated[
        Instant, Meta(description="Start of the window, Unix seconds: 30 days before the current interval.")
    ]
    window_end: Annotated[
        Instant, Meta(description="End of the window, Unix seconds: the start of the current interval.")
    ]
    window_days_actual: Annotated[float, Meta(description="Days from the first row of the window to its end.")]
    unit: Annotated[str, UNIT]


class Trend(Struct, frozen=True, kw_only=True):
    """The current value against the row that held 24 hours (of absolute time) earlier."""

    direction: Annotated[
        Direction, Meta(description="`flat`: a change within `flat_threshold`.", extra_json_schema=TEXT)
    ]
    change: Annotated[float, Meta(description="Current value minus the value 24 hours earlier, in `unit`.")]
    change_pct: Annotated[
        float | None,
        Meta(description="`change` in percent; null if `from_value` is negative, zero or close to zero."),
    ]
    change_pct_reason: Annotated[str | UnsetType, Meta(description="Reason why `change_pct` is null.")] = UNSET
    from_value: Annotated[float, Meta(description="The value 24 hours earlier, in `unit`.")]
    from_ts: Annotated[Instant, Meta(description="Start of the interval of `from_value`, Unix seconds.")]
    flat_threshold: Annotated[float, Meta(description="Changes up to this size count as flat, in `unit`.")]
    unit: Annotated[str, UNIT]


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one series at a time. `row` indexes its rows; an omitted part is None, with its reason."""

    row: int
    ts: int
    value: float
    next_ts: int | None
    """The start of the next row, if it is known."""
    context: ContextBlock | None
    context_omitted: str
    many_ties: bool
    """Whether more than a quarter of the window equals the value, so a rank means little. Exact, unlike `ties_pct`.
    """
    trend: Trend | None
    trend_omitted: str


class _History(NamedTuple):
    """The rows of the 30 days before the current row, and the seconds of these days that each row covers."""

    ts: Ints
    value: Floats
    seconds: Ints

    def share(self, x: float, chosen: Flags | slice = slice(None)) -> _Share:
        """Return how much of the chosen rows is below the value `x`."""
        value, seconds = self.value[chosen], self.seconds[chosen]
        return _Share(len(value), *(int(seconds[rows].sum()) for rows in (slice(None), value < x, value == x)))


class _Share(NamedTuple):
    """How much of some rows is below the current value, in whole seconds; `samples` is a number of rows."""

    samples: int
    total: int
    below: int
    equal: int

    def too_little(self, window_s: int) -> str:
        """Return why these rows are too few to rank a value; empty if they suffice."""
        if self.samples < MIN_SAMPLES:
            return "too_few_samples"
        return "coverage_below_50_pct" if self.total * 2 < window_s else ""

    @property
    def rank(self) -> Fraction:
        """Return the mean-kind percentile: the time below, plus half of the equal time, in percent of the total."""
        return Fraction(100 * (2 * self.below + self.equal), 2 * self.total)

    @property
    def percentile(self) -> int:
        """Return the rank as an integer, rounded half up; 0 and 100 only if the value is outside all others."""
        if not self.below and not self.equal:
            return 0
        if self.below == self.total:
            return 100
        return min(max(int(self.rank + Fraction(1, 2)), 1), 99)


def read_at(rows: RowColumns, tz: str, as_of: int) -> Reading | None:
    """Return the result of a series' served rows at `as_of` (Unix seconds UTC); None before the first row.

    Rows ascend and do not overlap. `tz` is the civil time zone for the hour of the day.
    """
    ts, seconds = rows.ts, rows.seconds()
    row = int(np.searchsorted(ts, as_of, side="right")) - 1
    if row < 0:
        return None
    at, value, unit = int(ts[row]), float(rows.value[row]), rows.labels[rows.label[row]].unit
    before = slice(int(np.searchsorted(ts, at - WINDOW_S)), row)
    history = _History(ts[before], rows.value[before], np.minimum(seconds[before], at - ts[before]))
    window = history.share(value)
    omitted = window.too_little(WINDOW_S)
    context, threshold = (None, _FLOOR) if omitted else _context(history, window, tz, at, value, unit)
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
        None if reference < 0 else _trend(rows, reference, value, threshold, unit),
        "no_value_24h_ago" if reference < 0 else "",
    )


def _context(
    history: _History, window: _Share, tz: str, at: int, value: float, unit: str
) -> tuple[ContextBlock, Decimal]:
    """Return a value's context and the threshold for a change: 5% of the spread from p10 to p90, at least one unit."""
    around = quantiles(history.value, history.seconds)
    p10, median, p90 = ((_decimal(left) + _decimal(right)) / 2 for left, right in around)
    low, high = (_decimal(float(edge)) for edge in (history.value.min(), history.value.max()))
    threshold, x = max(_FLOOR, _SPREAD_SHARE * (p90 - p10)), _decimal(value)
    hours = local_hours(np.append(history.ts, at), tz)
    same_hour = history.share(value, hours[:-1] == hours[-1])
    same_hour_reason = same_hour.too_little(_SAME_HOUR_S)
    pct, reason = _percentage(x - median, median, threshold, "median")
    context = ContextBlock(
        percentile=window.percentile,
        percentile_exact=_rounded(window.rank, "0.01"),
        percentile_same_hour=None if same_hour_reason else same_hour.percentile,
        percentile_same_hour_reason=same_hour_reason or UNSET,
        band=_band(x, low, high, window.rank, threshold),
        ties_pct=_rounded(Fraction(100 * window.equal, window.total), "0.1"),
        vs_median=_float(x - median),
        vs_median_pct=pct,
        vs_median_pct_reason=reason or UNSET,
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
        unit=unit,
    )
    return context, threshold


def local_hours(ts: Ints, tz: str) -> Ints:
    """Return the hour, 0..23, that a clock in `tz` shows at each time (Unix seconds UTC, any order)."""
    quarters, place = np.unique(ts // QUARTER, return_inverse=True)
    return np.array([_local_hour(tz, quarter) for quarter in quarters.tolist()], np.int64)[place]


@lru_cache(maxsize=1 << 17)
def _local_hour(tz: str, quarter: int) -> int:
    return datetime.fromtimestamp(quarter * QUARTER, zone_of(tz)).hour


def _trend(rows: RowColumns, reference: int, value: float, threshold: Decimal, unit: str) -> Trend:
    base = _decimal(float(rows.value[reference]))
    change = _decimal(value) - base
    pct, reason = _percentage(change, base, threshold, "from")
    return Trend(
        direction="flat" if abs(change) <= threshold else "rising" if change > 0 else "falling",
        change=_float(change),
        change_pct=pct,
        change_pct_reason=reason or UNSET,
        from_value=_float(base),
        from_ts=int(rows.ts[reference]),
        flat_threshold=_float(threshold),
        unit=unit,
    )


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
    """Return `part` in percent of `base`, to one decimal; None and the reason if the base is not clearly positive."""
    if base <= 0:
        return None, f"{name}_not_positive"
    if base < floor:
        return None, f"{name}_near_zero"
    exact = Fraction(part) * 100 / Fraction(base)
    # A difference is never published as 0.0%: the sign must agree with the words beside it.
    step = "0.1" if abs(exact) >= Fraction(1, 20) or not exact else f"1e{_decimal(float(exact)).adjusted()}"
    return _rounded(exact, step), ""


def _decimal(value: float) -> Decimal:
    """Return the decimal that JSON contains for a value."""
    return Decimal(repr(value))


def _float(value: Decimal) -> float:
    return float(value) + 0.0  # never -0.0


def _rounded(exact: Fraction, step: str) -> float:
    """Return an exact number rounded half up, away from zero, to a multiple of a power of ten."""
    size = Fraction(step)
    whole = int(abs(exact) / size + Fraction(1, 2))
    return _float(Decimal(whole if exact >= 0 else -whole) * Decimal(step))


def coverage_note(blocks: Mapping[str, ContextBlock], omitted: Mapping[str, str]) -> str:
    """Return the words for how much of the window each context block covers, and why a block is omitted.

    The note uses only the brief's own fields, so that it describes what a shortened brief still contains.
    """
    full = [_noun(m) for m, block in blocks.items() if block.confidence == "normal"]
    notes = [f"Data covers at least 90% of the past {WINDOW_DAYS} days for {listed(full)}."] if full else []
    notes += [
        f"{_noun(m).capitalize()} data covers only {round(100 * block.coverage)}% of the past {WINDOW_DAYS} days "
        f"({block.sample_count} values), so confidence is low."
        for m, block in blocks.items()
        if block.confidence == "low"
    ]
    notes += [f"No ranking for {_noun(m)}: {_REASONS[reason]}." for m, reason in omitted.items()]
    return " ".join(notes) or "This zone has no metrics that are ranked."


def listed(words: Sequence[str]) -> str:
    """Return the words as `a, b and c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _noun(metric: str) -> str:
    return metric.replace("_", " ")
