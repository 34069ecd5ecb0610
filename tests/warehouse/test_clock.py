"""Test market time: days of 23, 24 and 25 hours, ambiguous stamps, windows, civil hours, the single `now`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warehouse.errors import BadWindow
from warehouse.figures.context import local_hours
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.zones import ZONES

ZONE_NAMES = sorted({z.tz for z in ZONES.values()} | {z.market_tz for z in ZONES.values()})
DAYS = st.dates(date(1999, 1, 1), date(2060, 1, 1))


@pytest.mark.parametrize(
    ("day", "tz", "hours"),
    [
        (date(2026, 3, 29), "Europe/Berlin", 23),
        (date(2026, 10, 25), "Europe/Berlin", 25),
        (date(2026, 11, 1), "America/New_York", 25),
        (date(2026, 3, 8), "America/Los_Angeles", 23),
        (date(2026, 10, 4), "Australia/Sydney", 23),
        (date(2026, 10, 4), "Australia/Brisbane", 24),
        (date(2026, 11, 1), "Etc/GMT+5", 24),
        (date(2026, 7, 1), "Europe/London", 24),
    ],
)
def test_a_market_day_is_as_long_as_the_clock_makes_it(day: date, tz: str, hours: int) -> None:
    assert MarketDay(day, tz).hours == hours


@given(DAYS, st.sampled_from(ZONE_NAMES))
def test_market_days_follow_each_other_without_gap(day: date, tz: str) -> None:
    today = MarketDay(day, tz)
    assert today.end == today.next().start
    assert today.hours in (23, 24, 25)
    assert MarketDay.at(today.start, tz) == today == MarketDay.at(today.end - 1, tz)


@given(st.integers(0, 4102444800), st.sampled_from(ZONE_NAMES))
@example(clock.instant("2026-10-25T01:30:00Z"), "Europe/Berlin")
def test_local_stamps_turn_back_into_their_instant(ts: int, tz: str) -> None:
    moment = datetime.fromtimestamp(ts, ZoneInfo(tz))
    naive = moment.replace(tzinfo=None, fold=0)
    assert clock.local_instant(naive, tz, second_pass=bool(moment.fold)) == ts
    if moment.fold:
        assert clock.is_ambiguous(naive, tz)


def test_a_stamp_that_the_spring_change_skips_names_no_instant() -> None:
    with pytest.raises(BadWindow):
        clock.local_instant(datetime(2026, 3, 29, 2, 30), "Europe/Berlin")  # noqa: DTZ001  a wall-clock stamp


@given(st.integers(0, 4102444800), st.integers(0, 400 * clock.DAY))
@example(0, 31 * clock.DAY)
def test_months_are_those_that_a_window_touches(start: int, length: int) -> None:
    window = Window(start, start + length)
    touched = clock.months(window)
    if not length:
        assert touched == []
        return
    assert touched[0] == clock.month_of(start)
    assert touched[-1] == clock.month_of(window.end - 1)
    for before, after in pairwise(touched):
        assert clock.month_window(before).end == clock.month_window(after).start


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "2026-01-01T00:00:00",
        "-1",
        "99999999999999",
        "2026-13-01T00:00:00Z",
        "1e9",
        "٣",
        "10000-01-01T00:00Z",
        "00000000000000000000253402300800",
    ],
)
def test_what_names_no_instant_is_refused(text: str) -> None:
    with pytest.raises(BadWindow):
        clock.instant(text)


def test_a_capacity_year_ends_where_the_next_begins() -> None:
    starts = [int((datetime(year, 1, 1, tzinfo=UTC) - timedelta(hours=1)).timestamp()) for year in (2023, 2024, 2025)]
    assert clock.interval_end(starts[0], "1y") == starts[1]
    assert clock.interval_end(starts[1], "1y") == starts[2]
    assert clock.interval_end(starts[0], "15m") == starts[0] + 900


TZS = sorted({zone.tz for zone in ZONES.values()} | {"UTC", "Etc/GMT+5", "Australia/Lord_Howe"})


@given(
    st.sampled_from(TZS), st.integers(1_500_000_000, 2_000_000_000), st.lists(st.integers(0, 40 * 86400), max_size=60)
)
def test_agrees_with_zoneinfo(tz, start, offsets):
    ts = [start + offset for offset in offsets]
    assert local_hours(np.array(ts, np.int64), tz).tolist() == [
        datetime.fromtimestamp(t, ZoneInfo(tz)).hour for t in ts
    ]


@pytest.mark.parametrize(
    ("tz", "change"), [("Europe/Berlin", "2026-10-25T01:00"), ("Australia/Adelaide", "2026-10-03T16:30")]
)
def test_the_second_of_the_change(tz, change):
    turn = int(datetime.fromisoformat(change).replace(tzinfo=UTC).timestamp())
    ts = np.array([turn - 15 * 86400, turn - 1, turn, turn + 15 * 86400], np.int64)
    assert local_hours(ts, tz).tolist() == [datetime.fromtimestamp(int(t), ZoneInfo(tz)).hour for t in ts]
