"""The arithmetic of the brief, method `brief/1`: current value, 30-day context, 24-hour trend. No files, no clock.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. docs/brief.md
gives the formulae.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from warehouse.figures.window_stats import WINDOW_S, Share, WindowStats, window_stats
from warehouse.market.clock import DAY
from warehouse.series.reader import RowColumns

METHOD = "brief/1"
WINDOW_DAYS = WINDOW_S // DAY
MIN_SAMPLES = 20
_SAME_HOUR_S = WINDOW_S // 24
_FLOOR = Decimal(1)
"""One unit (MW, EUR/MWh, gCO2/kWh): no smaller difference is a trend or the base of a percentage."""
_SPREAD_SHARE = Decimal("0.05")

Direction = Literal["rising", "falling", "flat"]
Band = Literal["record_low", "very_low", "low", "typical", "high", "very_high", "record_high"]


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
    seconds: int
    value: float
    next_ts: int | None
    context: Context | None
    context_omitted: str
    many_ties: bool
    """More than a quarter of the window equals the value: a rank would say little. Exact, unlike `ties_pct`."""
    trend: Trend | None
    trend_omitted: str


def read_at(rows: RowColumns, tz: str, as_of: int) -> Reading | None:
    """What a series' served rows say at an instant (Unix seconds UTC); None where no row has begun."""
    stats = window_stats(rows, tz, as_of)
    if stats is None:
        return None
    ts, value = int(rows.ts[stats.row]), float(rows.value[stats.row])
    omitted = _too_little(stats.window, WINDOW_S)
    threshold = _threshold(stats) if not omitted else _FLOOR
    return Reading(
        stats.row,
        ts,
        int(rows.seconds()[stats.row]),
        value,
        stats.next_ts,
        None if omitted else _context(stats, ts, value, threshold),
        omitted,
        stats.window.equal * 4 > stats.window.total,
        None if stats.reference < 0 else _trend(rows, stats.reference, value, threshold),
        "no_value_24h_ago" if stats.reference < 0 else "",
    )


def _too_little(share: Share, window_s: int) -> str:
    """Why these rows are too few to rank a value among, or nothing."""
    if share.samples < MIN_SAMPLES:
        return "too_few_samples"
    return "coverage_below_50_pct" if share.total * 2 < window_s else ""


def _threshold(stats: WindowStats) -> Decimal:
    """What counts as no change: 5 % of the spread from p10 to p90, one unit at least."""
    p10, _, p90 = (_middle(cut) for cut in stats.cuts)
    return max(_FLOOR, _SPREAD_SHARE * (p90 - p10))


def _context(stats: WindowStats, ts: int, value: float, threshold: Decimal) -> Context:
    p10, median, p90 = (_middle(cut) for cut in stats.cuts)
    share, x = stats.window, _decimal(value)
    same_hour = _too_little(stats.same_hour, _SAME_HOUR_S)
    pct, reason = _percentage(x - median, median, threshold, "median")
    return Context(
        percentile=_percentile(share),
        percentile_exact=_rounded(_rank(share), "0.01"),
        percentile_same_hour=None if same_hour else _percentile(stats.same_hour),
        percentile_same_hour_reason=same_hour,
        band=_band(stats, x, threshold),
        ties_pct=_rounded(Fraction(100 * share.equal, share.total), "0.1"),
        vs_median=_float(x - median),
        vs_median_pct=pct,
        vs_median_pct_reason=reason,
        median=_float(median),
        p10=_float(p10),
        p90=_float(p90),
        min=_float(_decimal(stats.low)),
        max=_float(_decimal(stats.high)),
        sample_count=share.samples,
        coverage=_rounded(Fraction(share.total, WINDOW_S), "0.01"),
        confidence="low" if share.total * 10 < WINDOW_S * 9 else "normal",
        window_start=ts - WINDOW_S,
        window_end=ts,
        window_days_actual=_rounded(Fraction(ts - stats.first_ts, DAY), "0.1"),
    )


def _trend(rows: RowColumns, reference: int, value: float, threshold: Decimal) -> Trend:
    base = _decimal(float(rows.value[reference]))
    change = _decimal(value) - base
    direction: Direction = "flat" if abs(change) <= threshold else "rising" if change > 0 else "falling"
    pct, reason = _percentage(change, base, threshold, "from")
    return Trend(direction, _float(change), pct, reason, _float(base), int(rows.ts[reference]), _float(threshold))


def _rank(share: Share) -> Fraction:
    """Mean-kind percentile: what lies below, and half of what is equal, in per cent of the whole."""
    return Fraction(100 * (2 * share.below + share.equal), 2 * share.total)


def _percentile(share: Share) -> int:
    """The rank as an integer, rounded half up; 0 and 100 only outside every value."""
    if not share.below and not share.equal:
        return 0
    if share.below == share.total:
        return 100
    return min(max(int(_rank(share) + Fraction(1, 2)), 1), 99)


def _band(stats: WindowStats, x: Decimal, threshold: Decimal) -> Band:
    if x - _decimal(stats.high) > threshold:
        return "record_high"
    if _decimal(stats.low) - x > threshold:
        return "record_low"
    rank = _rank(stats.window)
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


def _middle(cut: tuple[float, float]) -> Decimal:
    return (_decimal(cut[0]) + _decimal(cut[1])) / 2


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
