"""Test the readers of times and clocks: the spellings they accept and reject, and how days are cut into requests."""

from __future__ import annotations

import re
from datetime import date

import pytest

from assets.parsing.clocks import fixed_instant, instants, plausible, wall_instant
from assets.parsing.days import months, runs
from assets.parsing.stamps import (
    american_date,
    american_stamp,
    clock_minutes,
    epoch_instant,
    iso_date,
    iso_instant,
    named_date,
    utc_stamp,
    wall_stamp,
)
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY, HOUR, instant, market_days

NEW_YORK = "America/New_York"
NOON = instant("2026-04-01T12:00:00Z")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (utc_stamp, "2026-04-01T12:00Z"),
        (utc_stamp, "2026-04-01T12:00:00+00:00"),
        (wall_stamp, "2026/04/01 12:00:00"),
        (wall_stamp, "2026-04-01T12:00:00.000"),
        (american_stamp, "4/1/2026 12:00"),
        (american_stamp, "04/01/2026 12:00:00"),
        (iso_instant, "2026-04-01T12:00:00"),
        (iso_instant, "2026-04-01 08:00:00-04:00"),
        (epoch_instant, NOON),
        (epoch_instant, NOON * 1000.0),
    ],
)
def test_one_instant_in_many_spellings(read, text):
    assert read(text) == NOON


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (utc_stamp, "2026-04-01T12:00"),
        (utc_stamp, "2026-04-01T25:00Z"),
        (utc_stamp, "2026-02-30T12:00Z"),
        (utc_stamp, None),
        (utc_stamp, "1989-12-31T23:59Z"),
        (utc_stamp, "2100-01-01T00:00Z"),
        (wall_stamp, "2026/04-01 12:00"),
        (wall_stamp, "２026-04-01 12:00"),
        (american_stamp, "13/1/2026"),
        (american_stamp, "4/1/2026 24:00"),
        (american_stamp, "4/1/1989"),
        (iso_instant, "tomorrow"),
        (iso_instant, 5),
        (iso_instant, "1989-01-01T00:00:00"),
        (epoch_instant, True),
        (epoch_instant, -1),
        (epoch_instant, 5),
        (epoch_instant, 1e18),
        (american_date, "2026-04-01"),
        (iso_date, "4/1/2026"),
        (named_date, "01-Avr-2026"),
        (clock_minutes, "24:01"),
        (clock_minutes, "1:2:3"),
    ],
)
def test_what_is_no_time_is_a_changed_feed(read, text):
    with pytest.raises(FeedChanged, match=re.escape(repr(str(text)))):
        read(text)


def test_dates_and_times_of_day():
    assert american_date(" 7/4/2026") == iso_date("2026-07-04") == named_date("04-Jul-2026") == date(2026, 7, 4)
    assert [clock_minutes(text) for text in ("0:00", "9:05", "16:05:00", "24:00")] == [0, 545, 965, 1440]


def test_a_wall_clock_names_an_instant_but_in_the_hour_that_spring_skips():
    autumn = date(2026, 11, 1)
    first, second = (wall_instant(autumn, HOUR, NEW_YORK, second_pass=late) for late in (False, True))
    assert second - first == HOUR
    with pytest.raises(FeedChanged, match="has no 02:30"):
        wall_instant(date(2026, 3, 8), 2 * HOUR + 1800, NEW_YORK)
    assert fixed_instant(date(2026, 7, 1), HOUR, -5) == instant("2026-07-01T06:00:00Z")
    assert plausible(NOON, "x") == NOON


def wall_clocks(*clocks: str) -> list[int]:
    return [american_stamp(f"11/1/2026 {clock}") for clock in clocks]


def test_the_order_of_a_file_tells_the_two_passes_of_the_repeated_hour():
    begin = instant("2026-11-01T04:00:00Z")
    assert instants(wall_clocks("0:30", "1:00", "1:30", "1:00", "1:30", "2:00"), NEW_YORK) == [
        begin + i * 1800 for i in (1, 2, 3, 4, 5, 6)
    ]
    assert instants(wall_clocks("0:30", "1:00", "1:30"), NEW_YORK) == [begin + i * 1800 for i in (1, 2, 3)]
    assert instants(wall_clocks("0:30", "1:00", "1:30", "2:00"), NEW_YORK) == [
        begin + 1800,
        None,
        None,
        begin + 6 * 1800,
    ]


def test_days_are_cut_into_runs_and_months():
    days = market_days(date(2026, 10, 20), date(2026, 11, 19), NEW_YORK)
    assert [len(run) for run in runs([*reversed(days), *days], 31)] == [31]
    assert [len(run) for run in runs(days, 31, 31 * DAY)] == [30, 1]
    assert [len(run) for run in runs(days, 14)] == [14, 14, 3]
    assert [len(run) for run in runs([days[0], *days[5:]], 31)] == [1, 26]
    assert [(m[0], m[-1]) for m in months(days)] == [
        (date(2026, 10, 20), date(2026, 10, 31)),
        (date(2026, 11, 1), date(2026, 11, 19)),
    ]
    assert (runs([], 5), months([])) == ([], [])
