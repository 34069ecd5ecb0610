"""What MISO is asked, by live addresses and names of daily files; and that its figures are withheld."""

from __future__ import annotations

from datetime import date

import pytest

from assets import sources
from tests.sources.miso_reports import AUTUMN, LMP_DA, LMP_RT, LMP_RT_DAILY, LOAD_DAILY, ORDINARY, SPRING
from warehouse.market import clock
from warehouse.market.clock import MarketDay, market_days


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def test_real_time_prices_are_the_newest_interval_or_for_a_fill_two_days(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")
    today = MarketDay(date(2026, 11, 20), LMP_RT.tz)
    for days, names in (
        ([today], ["Current"]),
        ([today.next(-1), today], ["Previous", "Rolling"]),
        ([today.next(-1)], ["Previous"]),
        ([today.next(-2)], []),
    ):
        requests = LMP_RT.requests(days, clock.now())
        assert [r.url.rpartition("/GetRealTimeFiveMinExPost/")[2] for r in requests] == names


@pytest.mark.parametrize(
    ("feed", "day", "name"),
    [
        (LMP_DA, SPRING, "20260308_da_expost_lmp.csv"),
        (LMP_DA, AUTUMN, "20261101_da_expost_lmp.csv"),
        (LMP_DA, ORDINARY, "20260923_da_expost_lmp.csv"),
        (LMP_DA, date(2026, 11, 21), "20261121_da_expost_lmp.csv"),
        (LOAD_DAILY, SPRING, "20260309_df_al.xls"),
        (LOAD_DAILY, AUTUMN, "20261102_df_al.xls"),
        (LOAD_DAILY, ORDINARY, "20260924_df_al.xls"),
        (LMP_RT_DAILY, SPRING, "20260308_rt_lmp_final.csv"),
        (LMP_RT_DAILY, AUTUMN, "20261101_rt_lmp_final.csv"),
        (LMP_RT_DAILY, date(2026, 11, 15), "20261115_rt_lmp_final.csv"),
        (LMP_RT_DAILY, date(2026, 11, 16), "20261116_rt_lmp_prelim.csv"),
        (LMP_RT_DAILY, date(2026, 11, 19), "20261119_rt_lmp_prelim.csv"),
    ],
)
def test_daily_files_are_asked_for_by_name(feed, day, name):
    (request,) = feed.requests([MarketDay(day, feed.tz)], clock.now())
    assert request.url == f"https://docs.misoenergy.org/marketreports/{name}"
    assert request.days == (day,)
    month = feed.requests(market_days(date(2026, 10, 1), date(2026, 10, 31), feed.tz), clock.now())
    assert len({r.url for r in month}) == 31


@pytest.mark.parametrize(
    "file",
    [
        "miso/Interchange_GetNsi_FiveMinute_EXCERPT.json",
        "miso/RealTimeTotalLoad.json",
        "miso/da_expost_lmp_20260714_TRIMMED.csv",
        "miso/df_al_20250310.xls",
    ],
)
def test_requests_are_those_that_were_recorded(file, recorded):
    entry = recorded(file)
    feed = sources.feed(entry["feed"])
    (request,) = feed.requests([MarketDay(date.fromisoformat(entry["day"]), feed.tz)], clock.now())
    assert request.url == entry["request_url"]
