"""The tools' answers: equal to REST, as columns where they are long, and to be gone on with without a gap."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mcp.reading import rows_of
from tests.mcp.tool_calls import FREE, SERIES, WithHeaders, as_rest
from warehouse.market import clock


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
    )  # what is free needs no key to be whole
    for headers, sample in ((keyed.headers, ""), ({}, sampled)):
        rest = keyed.app.test_client().get(path + sample, headers=headers).json
        result = WithHeaders(keyed, headers).call(tool, **arguments)["structuredContent"]
        if "order=desc" in path:
            rest["data"].reverse()  # `rows_of` gives them ascending
        assert as_rest(result) == rest


@pytest.mark.parametrize("metric", SERIES)
def test_long_answers_hold_the_same_rows_as_columns(keyed: Any, metric: str) -> None:
    window = {"start": clock.now() - 4 * 86400, "zone": "GB", "metric": metric}
    long = keyed.call("get_history", limit=150, **window)["structuredContent"]
    path = f"/v1/{metric.replace('_', '-')}/GB?limit=150&start={window['start']}&order=desc"
    rest = keyed.app.test_client().get(path, headers=keyed.headers).json
    rest["data"].reverse()
    assert long["count"] == 150
    assert len({len(column) for column in long["columns"].values()}) == 1
    assert rows_of(long) == rest["data"]
    assert long["constant"]["unit"] == rest["data"][0]["unit"]
    assert as_rest(long) == rest


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
    assert "raise limit" in result["content"][0]["text"]


def test_a_window_between_two_rows_is_told_to_widen(keyed: Any) -> None:
    window = {"start": "2026-03-30T10:05:00Z", "end": "2026-03-30T10:20:00Z"}
    result = keyed.call("get_history", zone="GB", metric="price", **window)
    text = result["content"][0]["text"]
    assert result["structuredContent"]["gaps"] == []
    assert "no rows in" in text
    assert "to 2026-03-30T12:00:00Z: widen the window." in text
