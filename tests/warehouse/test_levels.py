"""Test level shifts: days that leave their series' level, jump at the start or are restated by a factor.

Weather does not count as a shift.
"""

from __future__ import annotations

import numpy as np
import pytest

from warehouse.judge import levels
from warehouse.judge.levels import Hourly, shifts
from warehouse.market.clock import DAY, HOUR, Window, instant

START = instant("2026-11-01T00:00:00Z")
DAYS = 21


def curve(metric: str, seed: int = 0) -> np.ndarray:
    """Return three weeks of hourly means with a daily cycle, weekends and noise."""
    rng = np.random.default_rng(seed)
    hour = np.arange(DAYS * 24)
    cycle = np.sin((hour % 24 - 9) / 24 * 2 * np.pi)
    weekend = np.where(hour // 24 % 7 >= 5, 0.88, 1.0)
    if metric == "demand":
        return (50_000 + 9_000 * cycle) * weekend * (1 + 0.02 * rng.standard_normal(len(hour)))
    if metric == "interchange":
        return -3_000 + 800 * cycle + 300 * rng.standard_normal(len(hour))
    return (60 + 25 * cycle) * weekend + 8 * rng.standard_normal(len(hour))


def series(values: np.ndarray, first: int = 0) -> Hourly:
    return Hourly(np.arange(START // HOUR + first, START // HOUR + first + len(values)), values)


def day(number: int) -> Window:
    return Window(START + number * DAY, START + (number + 1) * DAY)


@pytest.mark.parametrize("metric", ["demand", "interchange", "price"])
def test_ordinary_days_pass(metric: str) -> None:
    for seed in range(5):
        values = curve(metric, seed)
        for number in range(7, DAYS):
            stored, new = series(values[: number * 24]), series(values[number * 24 : number * 24 + 24], number * 24)
            assert shifts(metric, "FR", [day(number)], new, stored) == []


@pytest.mark.parametrize(("metric", "factor"), [("demand", 2), ("demand", 0.5), ("price", 10), ("interchange", -1)])
@pytest.mark.parametrize("hours", [6, 24])
def test_a_day_at_another_level_is_told(metric: str, factor: float, hours: int) -> None:
    values = curve(metric)
    new = series(factor * values[20 * 24 : 20 * 24 + hours], 20 * 24)
    (shift,) = shifts(metric, "FR", [day(20)], new, series(values[: 20 * 24]))
    assert shift.day == day(20)
    assert shift.hours == hours
    assert " instead of about " in str(shift)


def test_what_is_stored_of_the_same_hours_tells_a_factor_at_once() -> None:
    """Fetch yesterday and today so far again, as a poll does."""
    values = curve("interchange") + 3_000  # around zero, so that its level proves nothing
    new = series(-values[19 * 24 :], 19 * 24)
    reported = shifts("interchange", "AT", [day(19), day(20)], new, series(values))
    assert [(shift.day, shift.reason) for shift in reported] == [
        (day(number), "the stored values are restated by a factor of -1") for number in (19, 20)
    ]


def test_a_revision_is_no_shift() -> None:
    values = curve("demand")
    new = series(values[19 * 24 :] * 1.03, 19 * 24)
    assert shifts("demand", "FR", [day(19), day(20)], new, series(values)) == []


def test_a_shifted_day_is_no_past_of_the_next() -> None:
    values = curve("demand")
    new = series(values[10 * 24 :] * 2, 10 * 24)
    reported = shifts("demand", "FR", [day(n) for n in range(10, DAYS)], new, series(values[: 10 * 24]))
    assert [shift.day for shift in reported] == [day(n) for n in range(10, 20)], (
        "then fewer than five good days are left"
    )


def test_too_little_past_or_too_few_hours_say_nothing() -> None:
    values = curve("demand")
    assert shifts("demand", "FR", [day(4)], series(2 * values[96:120], 96), series(values[:96])) == []
    assert shifts("demand", "FR", [day(20)], series(2 * values[480:483], 480), series(values[:480])) == []
    assert shifts("capacity", "FR", [day(20)], series(2 * values[480:], 480), series(values[:480])) == []
    assert shifts("demand", "FR", [day(20)], series(values[:0]), series(values)) == []


def test_two_feeds_agree_within_a_quarter() -> None:
    values = curve("demand")
    one = series(values)
    assert levels.agree("demand", "FR", day(20), one, series(values * 1.1)) is True
    assert levels.agree("demand", "FR", day(20), one, series(values * 2)) is False
    assert levels.agree("demand", "FR", day(20), one, series(values[:0])) is None


def test_hourly_means_of_any_grid() -> None:
    ts = START + np.array([0, 300, 3600, 1800])
    hourly = levels.hourly(ts, np.array([1.0, 2.0, 7.0, 3.0]))
    assert hourly.hour.tolist() == [START // HOUR, START // HOUR + 1]
    assert hourly.value.tolist() == [2.0, 7.0]


def test_medians_are_numpys() -> None:
    random = np.random.default_rng(3)
    for width in range(4, 26):
        rows = np.round(random.normal(1e4, 3e3, (14, width)), width % 4)
        rows[:, 1:][random.random((14, width - 1)) < 0.3] = np.nan
        assert levels._medians(rows).tolist() == np.nanmedian(rows, axis=1).tolist()
        assert levels._median(rows.ravel()) == np.nanmedian(rows)
