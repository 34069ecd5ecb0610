"""The tools' arguments: as people write them, and refused by name with what fits or what the zone has not."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("zone", ["gb", " GB ", "Gb"])
def test_zones_are_taken_as_people_write_them(mcp: Any, zone: str) -> None:
    assert mcp.call("get_latest", zone=zone)["structuredContent"]["zone"] == "GB"
    assert mcp.call("get_latest", zone="de_lu")["structuredContent"]["zone"] == "DE-LU"


@pytest.mark.parametrize("start", ["2026-03-30T02:00:00+02:00", 1774828800, " 1774828800 ", 1774828800.0])
def test_instants_are_taken_as_seconds_and_as_text(keyed: Any, start: Any) -> None:
    assert keyed.call("get_history", zone="GB", metric="price", start=start)["structuredContent"]["start"] == 1774828800


GB_PRICE = {"zone": "GB", "metric": "price"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "metric: required"),
        ({"zone": "GB"}, "metric: required"),
        ({"zone": 5, "metric": "price"}, "Zones are US-CAISO"),
        ({"zone": "GB", "metric": "frequency"}, "does not know 'frequency'"),
        ({**GB_PRICE, "limit": 1001}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": True}, "from 1 to 1000"),
        ({**GB_PRICE, "by": "border"}, "by: not for price"),
        ({"zone": "GB", "metric": "demand", "market": "day_ahead"}, "market: not for demand"),
        ({**GB_PRICE, "sample": "maybe"}, "true or false"),
        ({**GB_PRICE, "order": "up"}, "takes asc, desc"),
        ({**GB_PRICE, "interval": "5m"}, "takes 1h, 1d"),
        ({**GB_PRICE, "start": []}, "is no time"),
        ({**GB_PRICE, "unit": "MW"}, "unit: no such argument"),
        ({**GB_PRICE, "api_key": {}}, "api_key"),
        ({"zone": "DE-LU", "metric": "capacity", "interval": "1d"}, "not for capacity"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_named_with_what_fits(mcp: Any, arguments: dict[str, Any], text: str) -> None:
    result = mcp.call("get_history", **arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Invalid arguments: ")
    assert text in result["content"][0]["text"]
    assert "structuredContent" not in result


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"zone": "FR", "metric": "generation"}, "Zones that publish it: US-CAISO, GB"),
        ({"zone": "DE-LU", "metric": "carbon_intensity"}, "Zones that publish it: GB"),
        ({"zone": "US-PJM", "metric": "price"}, "shut, whose terms do not allow passing it on"),
    ],
    ids=str,
)
def test_what_a_zone_does_not_have_is_an_error_of_the_tool(mcp: Any, arguments: dict[str, Any], text: str) -> None:
    result = mcp.call("get_history", **arguments)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]


def test_what_is_not_there_yet_is_an_error_of_the_tool(mcp: Any) -> None:
    for tool in ("get_latest", "get_zone_brief"):
        result = mcp.call(tool, zone="FR")
        assert result["isError"] is True
        assert "does not exist yet" in result["content"][0]["text"]
