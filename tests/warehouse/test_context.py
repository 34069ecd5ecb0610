"""Check the brief's method against an exact reference and scipy, its words against its numbers, and worked examples."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.figures.context import Reading, read_at
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

HOUR, DAY = 3600, 86400
NOW = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
START = NOW - 720 * HOUR


STEPS = {900: "15m", 1800: "30m", HOUR: "1h"}


def history(rows) -> RowColumns:
    """Return the columns of `rows`, which are (start, seconds, value); rows whose value is None are left out."""
    rows = [row for row in rows if row[2] is not None]
    return RowColumns(
        tuple(RowLabels(None, None, None, "MW", step, "a", "a.b") for step in STEPS.values()),
        np.array([[*STEPS].index(r[1]) for r in rows], np.int32),
        np.array([r[0] for r in rows], np.int64),
        np.array([r[2] for r in rows], np.float64),
    )


def hourly(values, now) -> RowColumns:
    """Return hourly values up to NOW (None: no row), and the current row."""
    rows = [(START + i * HOUR, HOUR, v) for i, v in enumerate(values)]
    return history([*rows, (NOW, HOUR, now)])


def read(one: RowColumns, as_of: int = NOW + 60, tz: str = "UTC") -> Reading:
    reading = read_at(one, tz, as_of)
    assert reading is not None
    return reading


def served(rows):
    """Return rows as they are served: one value per interval, and the finest of overlapping ones."""
    latest = {}
    for ts, seconds, value in rows:
        if value is not None:
            latest[ts, seconds] = value
    kept = []
    for (ts, seconds), value in sorted(latest.items(), key=lambda item: item[0][1]):
        if not any(s < seconds and a < ts + seconds and a + s > ts for a, s, _ in kept):
            kept.append((ts, seconds, value))
    return sorted(kept)


def reference_quantile(pairs, q):
    """Return the inverse CDF of (value, weight) pairs at `q`; exactly between two values, return their mean."""
    total, reached = sum(w for _, w in pairs), 0
    pairs = sorted(pairs)
    for n, (value, weight) in enumerate(pairs):
        reached += weight
        if reached == q * total:
            return (Fraction(repr(value)) + Fraction(repr(pairs[n + 1][0]))) / 2
        if reached > q * total:
            return Fraction(repr(value))
    raise AssertionError


def reference_rank(pairs, x):
    total = sum(w for _, w in pairs)
    return Fraction(100 * sum(2 * w if v < x else w if v == x else 0 for v, w in pairs), 2 * total)


def half_up(exact):
    return math.floor(exact + Fraction(1, 2))


def reference(rows, tz, as_of):
    """Return the whole reading in exact arithmetic, as a dict of the compared fields."""
    begun = [r for r in rows if r[0] <= as_of]
    if not begun:
        return None
    ts, _, x = begun[-1]
    window = [r for r in rows if ts - 30 * DAY <= r[0] < ts]
    pairs = [(v, min(s, ts - a)) for a, s, v in window]
    hour = datetime.fromtimestamp(ts, ZoneInfo(tz)).hour
    same = [p for p, r in zip(pairs, window, strict=True) if datetime.fromtimestamp(r[0], ZoneInfo(tz)).hour == hour]
    observed = sum(w for _, w in pairs)
    before = [v for a, s, v in rows if a <= ts - DAY < a + s]
    expected = {
        "ts": ts,
        "value": x,
        "next": min((r[0] for r in rows if r[0] > as_of), default=None),
        "from": before[-1] if before else None,
    }
    if len(pairs) < 20 or observed * 2 < 30 * DAY:
        return expected
    rank = reference_rank(pairs, x)
    low, high = min(pairs)[0], max(pairs)[0]
    p10, median, p90 = (reference_quantile(pairs, Fraction(q, 10)) for q in (1, 5, 9))
    expected |= {
        "percentile": 0 if x < low else 100 if x > high else min(max(half_up(rank), 1), 99),
        "median": float(median),
        "p10": float(p10),
        "p90": float(p90),
        "min": low,
        "max": high,
        "samples": len(pairs),
        "vs_median": float(Fraction(repr(x)) - median),
        "days": half_up(Fraction(ts - window[0][0], DAY) * 10) / 10,
        "threshold": float(max(1, (p90 - p10) / 20)),
        "same_hour": None,
    }
    if len(same) >= 20 and sum(w for _, w in same) * 2 >= 30 * HOUR:
        below, above = all(v > x for v, _ in same), all(v < x for v, _ in same)
        expected["same_hour"] = 0 if below else 100 if above else min(max(half_up(reference_rank(same, x)), 1), 99)
    return expected


def compared(reading: Reading | None):
    if reading is None:
        return None
    result = {
        "ts": reading.ts,
        "value": reading.value,
        "next": reading.next_ts,
        "from": reading.trend and reading.trend.from_value,
    }
    c = reading.context
    if c is not None:
        result |= {
            "percentile": c.percentile,
            "median": c.median,
            "p10": c.p10,
            "p90": c.p90,
            "min": c.min,
            "max": c.max,
            "samples": c.sample_count,
            "vs_median": c.vs_median,
            "days": c.window_days_actual,
            "same_hour": c.percentile_same_hour,
            "threshold": reading.trend.flat_threshold if reading.trend else result_threshold(c),
        }
    return result


def result_threshold(context):
    return float(max(Fraction(1), (Fraction(repr(context.p90)) - Fraction(repr(context.p10))) / 20))


values = st.one_of(
    st.none(),
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6, width=32),
    st.floats(-500, 5000, allow_nan=False).map(lambda v: round(v, 2)),
)


@st.composite
def series(draw):
    """Draw served rows of mixed resolutions with gaps and future rows, in a zone with clock changes."""
    tz = draw(st.sampled_from(["UTC", "Europe/Berlin", "Australia/Adelaide", "America/Chicago"]))
    now = draw(
        st.sampled_from(
            [NOW, *(int(datetime.fromisoformat(t).timestamp()) for t in ("2026-11-01T07Z", "2027-04-04T03Z"))]
        )
    )
    rows, pool = [], draw(st.lists(values, min_size=1, max_size=12))
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from([900, 1800, 3600, 3600]))
        first = now - draw(st.integers(0, 33 * DAY // step)) * step + draw(st.sampled_from([0, 0, 0, 900, 1800]))
        stride = draw(st.integers(1, 5))
        rows += [
            (first + i * step, step, pool[i * stride % len(pool)])
            for i in range(draw(st.integers(1, 33 * DAY // step)))
        ]
    return served(rows), tz, now + draw(st.integers(0, 7200))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(series())
def test_agrees_with_plain_exact_arithmetic(case):
    rows, tz, as_of = case
    assert compared(read_at(history(rows), tz, as_of)) == reference(rows, tz, as_of)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.integers(-60, 60))
def test_rank_agrees_with_scipy(pool, now):
    from scipy.stats import percentileofscore

    window = [float(pool[i % len(pool)]) for i in range(720)]
    context = read(hourly(window, float(now))).context
    assert context.percentile_exact == pytest.approx(percentileofscore(window, now, "mean"), abs=0.00501)
    assert context.median == np.quantile(window, 0.5, method="averaged_inverted_cdf")
    assert context.p10 == np.quantile(window, 0.1, method="averaged_inverted_cdf")
    assert context.p90 == np.quantile(window, 0.9, method="averaged_inverted_cdf")


EXAMPLES = {
    "ordinary": (
        hourly([20000 + 10 * i for i in range(720)], 25000),
        {"percentile": 70, "percentile_exact": 69.51, "band": "typical", "confidence": "normal", "coverage": 1}
        | {"vs_median_pct": 6.0, "window_start": START, "window_end": NOW},
        {"change": -1960, "change_pct": -7.3, "direction": "falling", "from_ts": NOW - DAY},
    ),
    "tiny record over a constant": (
        hourly([50] * 720, 50.01),
        {"percentile": 100, "band": "very_high", "vs_median_pct": 0.02, "ties_pct": 0},
        {"direction": "flat"},
    ),
    "negative median": (
        hourly([-30, -12, -5, -4, -3, 0, 2, 60, -6, -4] * 72, 12),
        {"median": -4, "vs_median": 16, "vs_median_pct": None, "vs_median_pct_reason": "median_not_positive"},
        {"change": 10, "change_pct": None, "change_pct_reason": "from_near_zero", "direction": "rising"},
    ),
    "median near zero": (
        hourly([0.4] * 400 + [80] * 320, 60),
        {"vs_median": 59.6, "vs_median_pct": None, "vs_median_pct_reason": "median_near_zero"},
        {},
    ),
    "negative now": (
        hourly([60] * 400 + [50] * 160 + [90] * 160, -5),
        {"band": "record_low", "vs_median": -65, "vs_median_pct": -108.3},
        {},
    ),
    "from below zero": (
        hourly([-10 if i == 696 else 30 + i % 24 for i in range(720)], 20),
        {},
        {"change": 30, "change_pct": None, "change_pct_reason": "from_not_positive", "direction": "rising"},
    ),
    "tiny change": (hourly([30000.0] * 720, 30001.2), {"vs_median": 1.2, "vs_median_pct": 0.004}, {}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples_of_what_the_reference_leaves_out(name):
    """Check percentages and the reasons for missing ones, bands and directions."""
    one, context, trend = EXAMPLES[name]
    reading = read(one)
    assert {field: getattr(reading.context, field) for field in context} == context
    assert {field: getattr(reading.trend, field) for field in trend} == trend


@pytest.mark.parametrize(
    ("one", "context", "trend"),
    [
        (history([(NOW - (19 - i) * HOUR, HOUR, i) for i in range(20)]), "too_few_samples", "no_value_24h_ago"),
        (hourly([None] * 361 + [100 + i for i in range(359)], 500), "coverage_below_50_pct", ""),
        (hourly([None] * 360 + [100 + i for i in range(360)], 500), "", ""),
        (hourly([None if i == 696 else i for i in range(720)], 5), "", "no_value_24h_ago"),
    ],
)
def test_an_omitted_part_says_why(one, context, trend):
    reading = read(one)
    assert (reading.context_omitted, reading.trend_omitted) == (context, trend)
    assert (reading.context is None, reading.trend is None) == (bool(context), bool(trend))


@pytest.mark.parametrize(("value", "band"), [(647.5, "very_high"), (646.5, "high"), (71.5, "low"), (70.5, "very_low")])
def test_a_rank_of_exactly_90_is_very_high_and_of_exactly_10_is_low(value: float, band: str) -> None:
    assert read(hourly([float(n) for n in range(720)], value)).context.band == band


@pytest.mark.parametrize(("hours", "confidence"), [(648, "normal"), (647, "low")])
def test_nine_tenths_of_the_window_are_enough_for_normal_confidence(hours: int, confidence: str) -> None:
    values = [float(n % 24) if n < hours else None for n in range(720)]
    assert read(hourly(values, 12.0)).context.confidence == confidence
