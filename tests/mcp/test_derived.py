"""`find_window` and `get_statistics`: what they say in text and structure, what they take, what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from warehouse.market.clock import HOUR, iso


@pytest.fixture
def keyed(agents: Any) -> Any:
    """A caller with a key at a warehouse whose European prices reach to the end of tomorrow."""
    return agents.with_key()


def test_a_window_is_spelled_in_utc_and_civil_time(keyed: Any) -> None:
    result = keyed.call("find_window", zone="FR", hours=2)
    found, text = result["structuredContent"], result["content"][0]["text"]
    assert found["available"] is True
    assert found["end"] - found["start"] == 2 * HOUR
    assert found["start_time"] == iso(found["start"])
    assert found["horizon"]["until_time"] == iso(found["horizon"]["until"])
    assert [block["start_time"] for block in found["alternatives"]] == [iso(b["start"]) for b in found["alternatives"]]
    assert f"{iso(found['start'])} to {iso(found['end'])} (" in text
    assert "Europe/Paris" in text
    assert text.count("Next best: ") == len(found["alternatives"]) == 3
    for block in found["alternatives"]:
        assert iso(block["start"]) in text
    assert f"Prices are known from {iso(found['horizon']['from'])} to {iso(found['horizon']['until'])}" in text


@pytest.mark.parametrize("hours", [1.5, "1.5", "1.5h", " 1.5 "])
def test_hours_are_taken_as_numbers_and_as_text(keyed: Any, hours: Any) -> None:
    assert keyed.call("find_window", zone="FR", hours=hours)["structuredContent"]["hours"] == 1.5


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("find_window", {"zone": "FR", "hours": 0.3}, "steps of a quarter"),
        ("find_window", {"zone": "FR", "within": "97h"}, "up to 96"),
        ("find_window", {"zone": "FR", "metric": "demand"}, "takes price, carbon_intensity"),
        ("get_statistics", {"zone": "FR", "metric": "capacity"}, "not capacity"),
        ("get_statistics", {"zone": "FR", "metric": "demand", "market": "day_ahead"}, "market: not for demand"),
        ("get_statistics", {"zone": "FR", "metric": "price", "above": "high"}, "above: takes a number"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(keyed: Any, tool: str, arguments: dict[str, Any], text: str) -> None:
    result = keyed.call(tool, **arguments)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]


def test_where_nothing_is_known_ahead_the_text_says_why(keyed: Any) -> None:
    result = keyed.call("find_window", zone="GB")
    assert result["structuredContent"]["reason"] == "nothing_ahead"
    assert "no operator publishes a forecast" in result["content"][0]["text"]


def test_statistics_name_their_instants_and_spans(keyed: Any) -> None:
    window = {"start": "2026-03-28", "end": "2026-03-30"}
    result = keyed.call("get_statistics", zone="AU-NSW", metric="price", below="0", **window)
    of, text = result["structuredContent"]["statistics"], result["content"][0]["text"]
    assert of["min_time"] == iso(of["min_ts"])
    assert f"min {of['min']:g} at {iso(of['min_ts'])}" in text
    assert f"Below 0: {of['below']['hours']:g} h in {of['below']['intervals']} intervals" in text
    assert f"{of['below']['first'][0]['start_time']} to {of['below']['first'][0]['end_time']}" in text
    none = keyed.call("get_statistics", zone="AU-NSW", metric="price", start="1970", end="1971")
    assert none["structuredContent"]["statistics"] is None
    assert "no rows in [1970-01-01T00:00:00Z" in none["content"][0]["text"]
