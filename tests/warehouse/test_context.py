"""Worked examples A to T of the method, and its edges."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.warehouse.context_histories import HOUR, NOW, START, history, hourly, read
from warehouse.figures.context import read_at


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


def test_d_tiny_record_over_a_constant():
    reading = read(hourly([50] * 720, 50.01))
    assert (reading.context.percentile, reading.context.band, reading.trend.direction) == (100, "very_high", "flat")
    assert reading.context.vs_median == 0.01
    assert reading.context.vs_median_pct == 0.02


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


def test_nothing_has_begun():
    assert read_at(history([(NOW, HOUR, 1.0)]), NOW - 1) is None
    assert read_at(history([]), NOW) is None


def test_a_row_reaching_into_the_current_one_weighs_until_there():
    rows = [(NOW - 1800 - i * HOUR, HOUR, 10.0) for i in range(719, 0, -1)]
    context = read(history([*rows, (NOW - 1800, HOUR, 20.0), (NOW, HOUR, 15.0)])).context
    # 719 hours of 10 below, half an hour of 20 above
    assert context.percentile_exact == 99.93


def test_nothing_is_rounded_before_it_is_compared():
    context = read(hourly([50.001] * 720, 50.0011)).context
    assert (context.percentile, context.ties_pct) == (100, 0)


def test_a_tiny_change_keeps_its_sign():
    context = read(hourly([30000.0] * 720, 30001.2)).context
    assert (context.vs_median, context.vs_median_pct) == (1.2, 0.004)
