"""The tools' arguments: as people write them, and refused by name with what fits or what the zone has not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.conftest import MODERN


@pytest.mark.parametrize("zone", ["gb", " GB ", "Gb"])
def test_zones_are_taken_as_people_write_them(mcp: Any, zone: str) -> None:
    assert mcp.call("get_latest", zone=zone)["structuredContent"]["zone"] == "GB"
    assert mcp.call("get_latest", zone="de_lu")["structuredContent"]["zone"] == "DE-LU"


@pytest.mark.parametrize(
    "start",
    [
        "2026-03-30T00:00:00Z",
        "2026-03-30T02:00:00+02:00",
        1774828800,
        "1774828800",
        1774828800.0,
        " 1774828800 ",
    ],
)
def test_instants_are_taken_as_seconds_and_as_text(keyed: Any, start: Any) -> None:
    assert keyed.call("get_history", zone="GB", metric="price", start=start)["structuredContent"]["start"] == 1774828800


def test_null_is_an_argument_left_out(mcp: Any) -> None:
    arguments = {"start": None, "end": None, "limit": None, "order": None, "interval": None, "api_key": None}
    assert mcp.call("get_history", zone="GB", metric="price", **arguments) == mcp.call(
        "get_history", zone="GB", metric="price"
    )
    assert mcp.ask(MODERN, "tools/call", name="get_status", arguments=None).status_code == 200
    assert mcp.ask(MODERN, "tools/call", name="get_status").status_code == 200


GB_PRICE = {"zone": "GB", "metric": "price"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "metric: required"),
        ({"metric": "price"}, "zone: required, or zones"),
        ({"zone": "GB"}, "metric: required"),
        ({"zone": None, "metric": "price"}, "zone: required"),
        ({"zone": 5, "metric": "price"}, "Zones are US-CAISO"),
        ({"zone": "GB", "metric": "frequency"}, "does not know 'frequency'"),
        ({**GB_PRICE, "limit": 0}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": 1001}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": True}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": "ten"}, "from 1 to 1000"),
        ({**GB_PRICE, "by": "border"}, "by: only for interchange"),
        ({"zone": "GB", "metric": "demand", "market": "day_ahead"}, "market: only for price"),
        ({**GB_PRICE, "sample": "maybe"}, "true or false"),
        ({**GB_PRICE, "start": "2026-02-30"}, "day is out of range for month"),
        ({**GB_PRICE, "limit": 2.5}, "from 1 to 1000"),
        ({**GB_PRICE, "order": "up"}, "takes asc, desc"),
        ({**GB_PRICE, "interval": "5m"}, "takes 1h, 1d"),
        ({**GB_PRICE, "start": -1}, "is no time"),
        ({**GB_PRICE, "start": True}, "is no time"),
        ({**GB_PRICE, "start": []}, "is no time"),
        ({**GB_PRICE, "end": 10**18}, "looks like nanoseconds"),
        ({**GB_PRICE, "start": 20}, "Unix seconds are at least"),
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


def test_free_tools_take_a_key_and_nothing_else(mcp: Any) -> None:
    assert "there are api_key" in mcp.call("get_status", zone="GB")["content"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"zone": "FR", "metric": "generation"}, "Zones that publish it: US-CAISO, GB"),
        ({"zone": "DE-LU", "metric": "carbon_intensity"}, "Zones that publish it: GB"),
        ({"zone": "US-PJM", "metric": "price"}, "shut, whose terms do not allow passing it on"),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", MODERN])
def test_what_a_zone_does_not_have_is_an_error_of_the_tool(
    mcp: Any, version: str, arguments: dict[str, Any], text: str
) -> None:
    result = mcp.call("get_history", version, **arguments)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]


def test_what_is_not_there_yet_is_an_error_of_the_tool(mcp: Any) -> None:
    for tool in ("get_latest", "get_zone_brief"):
        result = mcp.call(tool, zone="FR")
        assert result["isError"] is True
        assert "does not exist yet" in result["content"][0]["text"]
