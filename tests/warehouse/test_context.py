"""Worked examples A to T of the method, its edges, and its agreement with a plain exact reference and with scipy."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.context import Reading, readings
from warehouse.window_stats import SeriesHistory

HOUR, DAY = 3600, 86400
NOW = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
START = NOW - 720 * HOUR


def history(rows, tz="UTC") -> SeriesHistory:
    """`rows` are (start, seconds, value or None)."""
    return SeriesHistory(
        np.array([r[0] for r in rows], np.int64),
        np.array([r[1] for r in rows], np.int64),
        np.array([math.nan if r[2] is None else r[2] for r in rows], np.float64),
        tz,
    )


def hourly(values, now, extra=(), seconds=HOUR) -> SeriesHistory:
    """720 hourly values up to NOW (None: no row), the current row, and further ones."""
    rows = [(START + i * HOUR, HOUR, v) for i, v in enumerate(values)]
    return history([*rows, (NOW, seconds, now), *extra])


def read(one: SeriesHistory, as_of: int = NOW + 60) -> Reading:
    reading = readings([one], as_of)[0]
    assert reading is not None
    return reading


def test_a_ordinary():
    reading = read(hourly([20000 + 10 * i for i in range(720)], 25000))
    context, trend = reading.context, reading.trend
    assert (context.percentile, context.percentile_exact) == (70, 69.51)
    assert (context.median, context.vs_median, context.vs_median_pct) == (23595, 1405, 6.0)
    assert (trend.from_value, trend.change, trend.change_pct, trend.flat_threshold, trend.direction) == (
        26960,
        -1960,
        -7.3,
        288,
        "falling",
    )
    assert (context.band, context.sample_count) == ("typical", 720)
    assert (context.coverage, context.confidence, context.window_days_actual) == (1, "normal", 30)
    assert (context.window_start, context.window_end) == (START, NOW)


def test_b_many_ties():
    context = read(hourly([0] * 360 + list(range(100, 460)), 0)).context
    assert (context.percentile, context.ties_pct) == (25, 50)


def test_c_constant():
    reading = read(hourly([50] * 720, 50))
    assert (
        reading.context.percentile,
        reading.context.vs_median_pct,
        reading.trend.direction,
        reading.trend.change_pct,
    ) == (
        50,
        0,
        "flat",
        0,
    )


def test_d_tiny_record_over_a_constant():
    reading = read(hourly([50] * 720, 50.01))
    assert (reading.context.percentile, reading.context.band, reading.trend.direction) == (100, "very_high", "flat")
    assert reading.context.vs_median == 0.01
    assert reading.context.vs_median_pct == 0.02


def test_e_rounding_guard():
    context = read(hourly([*range(719), 9999], 5000)).context
    assert (context.percentile, context.percentile_exact) == (99, 99.86)


def test_f_negative_median():
    values = [-30, -12, -5, -4, -3, 0, 2, 60, -6, -4] * 72
    reading = read(hourly(values, 12))
    context, trend = reading.context, reading.trend
    assert (context.median, context.percentile, context.vs_median) == (-4, 90, 16)
    assert (context.vs_median_pct, context.vs_median_pct_reason) == (None, "median_not_positive")
    assert (trend.change, trend.change_pct, trend.change_pct_reason) == (10, None, "from_near_zero")
    assert (trend.flat_threshold, trend.direction) == (2.6, "rising")


def test_g_median_near_zero():
    context = read(hourly([0.4] * 400 + [80] * 320, 60)).context
    assert (context.percentile, context.vs_median) == (56, 59.6)
    assert (context.vs_median_pct, context.vs_median_pct_reason) == (None, "median_near_zero")


def test_h_negative_now_positive_median():
    context = read(hourly([60] * 400 + [50] * 160 + [90] * 160, -5)).context
    assert (context.percentile, context.band) == (0, "record_low")
    assert (context.median, context.vs_median, context.vs_median_pct) == (60, -65, -108.3)


def test_i_resolution_change():
    rows = [(START + i * HOUR, HOUR, 100) for i in range(480)]
    rows += [(START + 480 * HOUR + i * 900, 900, 40) for i in range(960)]
    context = read(history([*rows, (NOW, 900, 80)])).context
    assert (context.percentile, context.median, context.sample_count) == (33, 100, 1440)


def test_j_duplicates():
    rows = [(START + i * HOUR, HOUR, 50) for i in range(716)]
    quarters = [(START + 716 * HOUR + i * 900, 900, 50) for i in range(16)]
    again = (START + 716 * HOUR + 5 * 900, 900, 55)
    reading = read(history([*rows, (START + 717 * HOUR, HOUR, 999), *quarters, again, (NOW, 900, 50)]))
    assert (reading.context.sample_count, reading.context.max, reading.context.coverage) == (732, 55, 1)


def test_k_gap_of_ten_days():
    values = [None if 240 <= i < 480 else 1000 + i % 24 for i in range(720)]
    context = read(hourly(values, 1012)).context
    assert (context.coverage, context.confidence, context.percentile_exact, context.median) == (
        0.67,
        "low",
        52.08,
        1011.5,
    )


def test_l_too_few_samples():
    reading = read(history([*((NOW - (19 - i) * HOUR, HOUR, i) for i in range(19)), (NOW, HOUR, 5)]))
    assert (reading.context, reading.context_omitted) == (None, "too_few_samples")


def test_m_coverage_below_half():
    reading = read(hourly([None] * 420 + [100 + i for i in range(300)], 500))
    assert (reading.context, reading.context_omitted) == (None, "coverage_below_50_pct")
    assert (reading.trend.change, reading.trend.flat_threshold, reading.trend.direction) == (500 - 376, 1, "rising")


def test_n_no_value_24h_ago():
    values = list(range(720))
    values[696] = None
    reading = read(hourly(values, 5))
    assert (reading.trend, reading.trend_omitted) == (None, "no_value_24h_ago")
    assert reading.context is not None


@pytest.mark.parametrize(("base", "change"), [(-10, 30), (0, 20)])
def test_o_p_from_a_value_that_is_not_positive(base, change):
    values = [30 + i % 24 for i in range(720)]
    values[696] = base
    trend = read(hourly(values, 20)).trend
    assert (trend.change, trend.change_pct, trend.change_pct_reason, trend.direction) == (
        change,
        None,
        "from_not_positive",
        "rising",
    )


def test_q_day_ahead_rows_are_neither_current_nor_in_the_window():
    ahead = [(NOW + i * HOUR, HOUR, 500) for i in range(1, 37)]
    reading = read(hourly([30 + i % 24 for i in range(720)], 40, ahead))
    assert (reading.value, reading.ts, reading.next_ts) == (40, NOW, NOW + HOUR)
    assert reading.context.max == 53


def test_r_nulls_are_not_zero():
    values = [None if i % 3 == 0 else 1000 + i % 24 for i in range(720)]
    reading = read(hourly(values, 1012))
    assert (reading.context.sample_count, reading.context.min) == (480, 1001)
    assert (reading.trend, reading.trend_omitted) == (None, "no_value_24h_ago")


@pytest.mark.parametrize(
    ("now", "local_before"),
    [("2026-10-25T17:00", "2026-10-24T19:00+02:00"), ("2027-03-28T16:00", "2027-03-27T17:00+01:00")],
)
def test_s_a_day_earlier_is_absolute_time(now, local_before):
    current = int(datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp())
    rows = [(current - i * HOUR, HOUR, float(i)) for i in range(720, -1, -1)]
    trend = read(history(rows, "Europe/Berlin"), current + 60).trend
    assert (
        datetime.fromtimestamp(trend.from_ts, ZoneInfo("Europe/Berlin")).isoformat(timespec="minutes") == local_before
    )
    assert trend.from_value == 24


def test_t_daily_cycle():
    rows = [
        (NOW - i * HOUR, HOUR, 1000 + 500 * math.exp(-(min(i % 24, 24 - i % 24) ** 2) / 2) + (i // 24 * 7) % 30 - 14.5)
        for i in range(720, 0, -1)
    ]
    context = read(history([*rows, (NOW, HOUR, 1500)])).context
    assert context.percentile > 95
    assert context.percentile_same_hour == 50


def reference_rows(rows):
    """The rows that stand: one value per interval, the later stated; nulls erase nothing; the finest of an overlap."""
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
    """Inverse CDF of (value, weight) pairs; the mean of two where the cut falls exactly between."""
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
    """The whole reading in plain exact arithmetic, as a dict of what is compared."""
    rows = reference_rows(rows)
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
    """Rows of mixed resolutions with holes, repeats, overlaps and rows ahead, in a zone with clock changes."""
    tz = draw(st.sampled_from(["UTC", "Europe/Berlin", "Australia/Adelaide", "America/Chicago"]))
    now = draw(
        st.sampled_from(
            [NOW, *(int(datetime.fromisoformat(t).timestamp()) for t in ("2026-11-01T07Z", "2027-04-04T03Z"))]
        )
    )
    rows, pool = [], draw(st.lists(values, min_size=1, max_size=12))
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from([900, 1800, 3600, 3600, 7200]))
        first = now - draw(st.integers(0, 33 * DAY // step)) * step + draw(st.sampled_from([0, 0, 0, 900, 1800]))
        stride = draw(st.integers(1, 5))
        rows += [
            (first + i * step, step, pool[i * stride % len(pool)])
            for i in range(draw(st.integers(1, 33 * DAY // step)))
        ]
    return draw(st.permutations(rows) if len(rows) < 60 else st.just(rows)), tz, now + draw(st.integers(0, 7200))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(series(), min_size=1, max_size=3), st.data())
def test_agrees_with_plain_exact_arithmetic(cases, choice):
    as_of = choice.draw(st.sampled_from([c[2] for c in cases]))
    computed = readings([history(rows, tz) for rows, tz, _ in cases], as_of)
    assert [compared(f) for f in computed] == [reference(rows, tz, as_of) for rows, tz, _ in cases]


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


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(-2000, 20000), st.floats(-3, 3)), min_size=1, max_size=30),
    st.floats(-2000, 20000),
)
def test_words_and_numbers_never_contradict(pool, now):
    reading = read(hourly([pool[i * 7 % len(pool)] for i in range(720)], now))
    context, trend = reading.context, reading.trend
    assert 0 <= context.percentile <= 100
    assert (context.percentile == 0) == (now < context.min)
    assert (context.percentile == 100) == (now > context.max)
    assert context.min <= context.p10 <= context.median <= context.p90 <= context.max
    assert (context.vs_median > 0) == (now > context.median)
    for pct, part in ((context.vs_median_pct, context.vs_median), (trend.change_pct, trend.change)):
        assert pct is None or (math.isfinite(pct) and np.sign(pct) == np.sign(part))
    assert (context.vs_median_pct is None) == bool(context.vs_median_pct_reason)
    assert (trend.change_pct is None) == bool(trend.change_pct_reason)
    assert {"rising": trend.change > 0, "falling": trend.change < 0, "flat": abs(trend.change) <= trend.flat_threshold}[
        trend.direction
    ]
    assert (context.band in ("record_low", "record_high")) <= (not context.min <= now <= context.max)


def test_nothing_has_begun():
    assert readings([history([(NOW, HOUR, 1.0)])], NOW - 1) == [None]
    assert readings([history([])], NOW) == [None]
    assert readings([], NOW) == []
    assert readings([history([(NOW, HOUR, None)])], NOW) == [None]


def test_a_row_that_begins_now_is_current():
    assert read(history([(NOW, HOUR, 1.0)]), NOW).ts == NOW


def test_a_row_reaching_into_the_current_one_weighs_until_there():
    rows = [(NOW - 1800 - i * HOUR, HOUR, 10.0) for i in range(719, 0, -1)]
    context = read(history([*rows, (NOW - 1800, HOUR, 20.0), (NOW, HOUR, 15.0)])).context
    # 719 hours of 10 below, half an hour of 20 above
    assert context.percentile_exact == 99.93


def test_series_do_not_touch_each_other():
    a = hourly([20000 + 10 * i for i in range(720)], 25000)
    b = hourly([50] * 720, 50)
    empty = history([])
    assert readings([a, empty, b], NOW) == [readings([a], NOW)[0], None, readings([b], NOW)[0]]


def test_nothing_is_rounded_before_it_is_compared():
    context = read(hourly([50.001] * 720, 50.0011)).context
    assert (context.percentile, context.ties_pct) == (100, 0)


def test_a_tiny_change_keeps_its_sign():
    context = read(hourly([30000.0] * 720, 30001.2)).context
    assert (context.vs_median, context.vs_median_pct) == (1.2, 0.004)
