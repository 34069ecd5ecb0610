"""What MISO is asked, by live addresses and names of daily files; and that its figures are withheld."""

from __future__ import annotations

from datetime import date

import pytest

from assets import sources
from tests.sources.miso_reports import LMP_RT
from warehouse.market import clock
from warehouse.market.clock import MarketDay


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
