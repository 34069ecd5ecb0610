"""Check the tools' arguments and responses: equal to REST, paged without gaps, marked as sample, stale or simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.reading import read_table, rows_of
from tests.mcp.tool_calls import DATA, FREE, WithHeaders, as_rest
from warehouse.market import clock
from warehouse.market.clock import DAY


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("list_zones", {}, "/v1/zones"),
        ("get_status", {}, "/v1/status"),
        ("get_latest", {"zone": "GB"}, "/v1/latest/GB"),
        ("get_zone_brief", {"zone": "DE-LU"}, "/v1/brief/DE-LU"),
        ("get_map_snapshot", {}, "/v1/map/snapshot"),
        ("find_window", {"zone": "DE-LU", "hours": "0.5h"}, "/v1/windows/DE-LU?hours=0.5"),
        (
            "get_statistics",
            {"zone": "GB", "metric": "demand", "start": "2026-03-28", "above": 31000},
            "/v1/demand/GB?stats=true&start=2026-03-28&above=31000",
        ),
        (
            "get_history",
            {"zone": "GB", "metric": "carbon-intensity", "limit": 100},
            "/v1/carbon-intensity/GB?limit=100&order=desc",
        ),
        (
            "get_history",
            {"zone": "GB", "metric": "generation", "limit": 60, "order": "desc"},
            "/v1/generation/GB?limit=60&order=desc",
        ),
        ("get_history", {"zone": "GB", "metric": "demand", "interval": "1h"}, "/v1/demand/GB?interval=1h"),
        ("get_history", {"zone": "DE-LU", "metric": "capacity"}, "/v1/capacity/DE-LU"),
    ],
    ids=str,
)
def test_structured_content_is_the_body_of_the_rest_path(
    keyed: Any, tool: str, arguments: dict[str, Any], path: str
) -> None:
    sampled = (
        "" if tool in FREE else ("&" if "?" in path else "?") + "sample=true"
    )  # a free tool is complete without a key
    for headers, sample in ((keyed.headers, ""), ({}, sampled)):
        rest = keyed.app.test_client().get(path + sample, headers=headers).json
        result = WithHeaders(keyed, headers).call(tool, **arguments)["structuredContent"]
        if "order=desc" in path:
            rest["data"].reverse()  # `rows_of` returns ascending rows
        assert as_rest(result) == rest


@pytest.mark.parametrize(
    ("metric", "step", "more"), [("price", 1800, {}), ("demand", 300, {}), ("demand", DAY, {"interval": "1d"})]
)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_text_alone_holds_every_row(keyed: Any, metric: str, step: int, more: dict[str, str], order: str) -> None:
    window = {"start": clock.now() - 3 * DAY, "end": clock.now(), "limit": 1000, "order": order, **more}
    text = keyed.call("get_history", zone="GB", metric=metric, **window)["content"][0]["text"]
    rest = keyed.app.test_client().get(f"/v1/{metric}/GB", query_string=window, headers=keyed.headers).json
    given = {ts: value for ts, value in read_table(text, step, "GB").items() if value is not None}
    assert given == {row["ts"]: pytest.approx(row["value"], rel=1e-8) for row in rest["data"]} != {}


def test_a_thousand_rows_fit_what_hosts_take(keyed: Any) -> None:
    result = keyed.call("get_history", zone="GB", metric="demand", start="2026-03-20T00:00:00Z", limit=1000)
    assert result["structuredContent"]["count"] == 1000
    assert len(json.dumps(result["structuredContent"], separators=(",", ":"))) < 30_000


@pytest.mark.parametrize("order", ["asc", "desc", None])
@pytest.mark.parametrize(("metric", "limit"), [("demand", 40), ("generation", 7), ("generation", 120), ("price", 1)])
def test_going_on_as_told_loses_no_row(keyed: Any, metric: str, limit: int, order: str) -> None:
    whole = keyed.call("get_history", zone="GB", metric=metric, limit=1000, order=order)["structuredContent"]
    window: dict[str, Any] = {"start": clock.now() - 86400, "end": clock.now()}
    walked: list[tuple[Any, ...]] = []
    for _ in range(100):
        page = keyed.call("get_history", zone="GB", metric=metric, limit=limit, order=order, **window)
        content = page["structuredContent"]
        walked += [(row["ts"], row.get("fuel"), row["value"]) for row in rows_of(content)]
        assert content["truncated"] == ("next" in content)
        if "next" not in content:
            break
        assert "TRUNCATED" in page["content"][0]["text"]
        assert str(content["next"]["start" if order == "asc" else "end"]) in page["content"][0]["text"]
        assert set(content["next"]) == {"start", "end"}, "the window stays the same while the clock advances"
        window = content["next"]
    assert sorted(walked) == [(row["ts"], row.get("fuel"), row["value"]) for row in rows_of(whole)], "each row once"


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_limit_below_one_instant_is_said_and_not_a_circle(keyed: Any, order: str) -> None:
    result = keyed.call("get_history", zone="GB", metric="generation", limit=2, order=order)
    assert result["structuredContent"]["truncated"] is True
    assert "next" not in result["structuredContent"]
    assert "Use a higher limit" in result["content"][0]["text"]


def test_a_window_between_two_rows_is_told_to_widen(keyed: Any) -> None:
    window = {"start": "2026-03-30T10:05:00Z", "end": "2026-03-30T10:20:00Z"}
    result = keyed.call("get_history", zone="GB", metric="price", **window)
    text = result["content"][0]["text"]
    assert result["structuredContent"]["gaps"] == []
    assert "no rows in" in text
    assert (
        "the last row before it begins at 2026-03-30T10:00:00Z and the first row after it begins at 2026-03-30T10:30"
        in text
    )


@pytest.mark.parametrize("tool", DATA)
def test_a_sample_says_that_it_is_one_and_how_to_get_more(mcp: Any, keyed: Any, tool: str) -> None:
    sampled, whole = WithHeaders(mcp, {}).call(tool, **DATA[tool]), keyed.call(tool, **DATA[tool])
    first = sampled["content"][0]["text"].splitlines()[0]
    assert first.startswith("SAMPLE: without an API key")
    assert "http://emds.example/v1/keys/signup" in first
    assert "Authorization: Bearer" in first
    assert sampled["structuredContent"]["sample"] is True
    assert "SAMPLE" not in whole["content"][0]["text"]
    assert "sample" not in whole["structuredContent"]


@pytest.mark.parametrize("tool", DATA)
def test_licence_and_attribution_stand_in_both(keyed: Any, tool: str) -> None:
    result = keyed.call(tool, **DATA[tool])
    assert "Source: © North Grid. Licence: North Grid: CC BY 4.0." in result["content"][0]["text"]
    assert "© North Grid" in json.dumps(result["structuredContent"], ensure_ascii=False)


def test_stale_figures_are_said_to_be_stale(keyed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert "STALE" not in keyed.call(tool, **DATA[tool])["content"][0]["text"]
    monkeypatch.setenv("EMDS_NOW", "2026-04-02T00:00:00Z")
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert keyed.call(tool, **DATA[tool])["content"][0]["text"].startswith("STALE: newer data was due at 2026-03-")


def test_simulated_figures_are_said_to_be_simulated(make: Any, simulated: Path) -> None:
    mcp = make(simulated)
    for tool, arguments in DATA.items():
        result = mcp.call(tool, **arguments)
        assert "SIMULATED data, not market data." in result["content"][0]["text"]
        assert "SIMULATED, not market data" in json.dumps(result["structuredContent"])


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
        ({"zone": "GB"}, "metric: is required"),
        ({"zone": 5, "metric": "price"}, "Use one of US-CAISO"),
        ({"zone": "NL,BE", "metric": "price"}, "For several, send zones"),
        ({"zone": "GB", "metric": "frequency"}, "'frequency' is not a known value"),
        ({**GB_PRICE, "limit": True}, "from 1 to 1000"),
        ({**GB_PRICE, "by": "border"}, "by: cannot be used with the metric price"),
        ({"zone": "GB", "metric": "demand", "market": "day_ahead"}, "market: cannot be used with the metric demand"),
        ({**GB_PRICE, "sample": "maybe"}, "true or false"),
        ({**GB_PRICE, "start": []}, "is not a valid time"),
        ({**GB_PRICE, "unit": "MW"}, "unit: is not an argument of this tool"),
        ({"zone": "DE-LU", "metric": "capacity", "interval": "1d"}, "cannot be used with the metric capacity"),
        ({"zone": "GB", "metric": "interchange", "lead": "24h"}, "lead: cannot be used with the metric interchange"),
        ({"zone": json.loads('{"a":' * 900 + "1" + "}" * 900), "metric": "price"}, "Use one of US-CAISO"),
        ({"zone": json.loads("[" * 900 + "]" * 900), "metric": "price"}, "Use one of US-CAISO"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
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
        ({"zone": "FR", "metric": "generation"}, "Zones that have this metric: US-CAISO, GB"),
        ({"zone": "DE-LU", "metric": "carbon_intensity"}, "Zones that have this metric: GB"),
        ({"zone": "US-PJM", "metric": "price"}, "shut, whose terms do not allow redistribution"),
    ],
    ids=str,
)
def test_what_a_zone_does_not_have_is_an_error_of_the_tool(mcp: Any, arguments: dict[str, Any], text: str) -> None:
    result = mcp.call("get_history", **arguments)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]
