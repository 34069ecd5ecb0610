"""Test Energinet's carbon intensity: actual values and forecasts look alike, and zero is a value."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Feed, Request
from warehouse.rows.schema import Rows

CARBON, FORECAST = (sources.feed(f"energinet.{name}") for name in ("carbon", "carbon_forecast"))
NIGHT = "2026-03-02T00:00:00"


def parsed(feed: Feed, dataset: str | None, **record: object) -> Rows:
    """Return the rows of a response with one record."""
    whole = {"Minutes5UTC": NIGHT, "PriceArea": "DK1", "CO2Emission": 92.0} | record
    response = {"total": 1, "limit": 0, "records": [whole]} | ({"dataset": dataset} if dataset else {})
    return feed.parse(json.dumps(response).encode(), Request(feed.id, ""))


def test_a_forecast_is_never_read_as_actual_values_nor_the_other_way_round() -> None:
    assert {row.metric for row in parsed(CARBON, "CO2Emis")} == {"carbon"}
    assert {row.metric for row in parsed(FORECAST, "CO2EmisProg")} == {"carbon_forecast"}
    for feed, other in ((CARBON, "CO2EmisProg"), (FORECAST, "CO2Emis")):
        with pytest.raises(FeedChanged, match=other):
            parsed(feed, other)


def test_zero_is_a_value_and_null_is_none() -> None:
    (row,) = parsed(CARBON, None, CO2Emission=0)
    assert (row.zone, row.ts, row.value, row.resolution) == ("DK-1", instant("2026-03-02T00:00Z"), 0.0, "5m")
    assert not len(parsed(CARBON, None, CO2Emission=None))


def test_other_columns_are_named_in_the_failure() -> None:
    response = {"records": [{"TimeUTC": NIGHT, "PriceArea": "DK1", "Intensity": 92.0}]}
    with pytest.raises(FeedChanged, match=r"Intensity.*instead of Minutes5UTC"):
        CARBON.parse(json.dumps(response).encode(), Request(CARBON.id, ""))


def test_the_forecast_is_requested_until_the_end_of_the_next_day() -> None:
    days = [MarketDay(date(2026, 3, day), FORECAST.tz) for day in (1, 2)]
    (request,) = FORECAST.requests(days, days[1].start)
    assert dict(request.params)["start"] == "2026-03-02"
    assert dict(request.params)["end"] == "2026-03-04"
    assert request.url.endswith("/CO2EmisProg")
