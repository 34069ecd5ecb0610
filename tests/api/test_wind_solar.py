"""Test `/v1/windows?metric=wind_solar`: the share against exact fractions, best hours, missing inputs, the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.api.conftest import NOW, Rig
from tests.api.declared_sources import SOURCES, feed, source
from warehouse.market.clock import DAY, HOUR
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Forecast
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import layout

RUNNING = NOW - NOW % HOUR
QUARTER = 900
STEPS = {"15m": QUARTER, "30m": 1800, "1h": HOUR}
DAILY = Publication(daily_at=time(18))
GRID = source(
    "grid",
    (
        feed("grid.mix", ("BE", "GB", "FR"), (Forecast.MIX,), "15m", publication=DAILY),
        feed("grid.load", ("BE", "GB"), (Forecast.DEMAND,), "15m", publication=DAILY),
    ),
)
OTHER = source("other", (feed("other.load", ("BE", "FR"), (Forecast.DEMAND,), "1h", rank=2),))


class Grid:
    """A warehouse with forecasts of a day and a half."""

    def __init__(self, rig: Rig) -> None:
        rig.sources = {**SOURCES, "grid": GRID, "other": OTHER}
        self.rig = rig

    def put(
        self,
        zone: str,
        what: str,
        resolution: str,
        values: Sequence[float],
        start: int = RUNNING,
        by: str = "",
        at: int = NOW - 600,
    ) -> None:
        """Fold a vintage of demand or of a fuel."""
        rows, step = Rows(), STEPS[resolution]
        is_load = what == "demand"
        key = SeriesKey(zone, f"{'demand' if is_load else 'mix'}_forecast", "MW", resolution, None if is_load else what)
        rows.extend_vintage(key, at, "fetched", [start + n * step for n in range(len(values))], list(values))
        ranks = {feed.id: feed.rank for of in self.rig.sources.values() for feed in of.feeds}
        fold(self.rig.storage, by or ("grid.load" if is_load else "grid.mix"), rows, {}, ranks, NOW - 60, "live")

    def ask(self, zone: str, **query: Any) -> tuple[int, Any]:
        self.rig.publish()
        client = self.rig.client()
        sent = {"metric": "wind_solar", **query}
        response = client.get(f"/v1/windows/{zone}", query_string=sent, headers=self.rig.key(client))
        return response.status_code, response.get_json()


@pytest.fixture
def grid(rig: Rig) -> Grid:
    return Grid(rig)


@pytest.mark.parametrize("zone", ["BE", "GB"])
@pytest.mark.parametrize("query", [{"hours": 3}, {"hours": 1.5, "find": "lowest"}, {"slots": 4}])
def test_the_best_hours_are_those_of_a_table_of_quarter_hours(grid: Grid, zone: str, query: dict[str, Any]) -> None:
    random = np.random.default_rng(11)
    steps = {"wind_onshore": "15m", "wind_offshore": "30m", "solar": "15m", "demand": "30m" if zone == "GB" else "15m"}
    table: dict[str, list[Fraction]] = {}
    for what, resolution in steps.items():
        count = 36 * HOUR // STEPS[resolution]
        values = random.integers(6_000, 7_000, count) if what == "demand" else random.integers(0, 4_000, count)
        grid.put(zone, what, resolution, [float(value) for value in values])
        table[what] = [Fraction(int(value)) for value in values for _ in range(STEPS[resolution] // QUARTER)]
    generation = [sum(parts) for parts in zip(*(table[fuel] for fuel in steps if fuel != "demand"), strict=True)]
    load = [own + (solar if zone == "GB" else 0) for own, solar in zip(table["demand"], table["solar"], strict=True)]
    share = [
        Fraction(round(100 * sum(generation[n : n + 2]) / sum(load[n : n + 2]) * 10_000), 10_000)
        for n in range(0, len(load), 2)
    ]  # by half hours, the longest intervals
    length = round(2 * query.get("hours", 0)) or 1
    means = [sum(share[n : n + length]) / length for n in range(len(share) - length + 1)]
    sign = 1 if query.get("find") == "lowest" else -1
    order = sorted(range(len(means)), key=lambda n: (sign * means[n], n))

    status, body = grid.ask(zone, **query)
    assert status == 200
    assert {name: body[name] for name in ("available", "metric", "find", "unit", "basis", "published_at")} == {
        "available": True,
        "metric": "wind_solar",
        "find": query.get("find", "highest"),
        "unit": "%",
        "basis": "operator_forecast",
        "published_at": NOW - 600,
    }
    if "slots" in query:
        starts = sorted(order[: query["slots"]])
        assert [(slot["start"], slot["value"]) for slot in body["slots"]] == [
            (RUNNING + n * 1800, float(means[n])) for n in starts
        ]
    else:
        assert (body["start"], body["mean"]) == (RUNNING + order[0] * 1800, float(round(means[order[0]], 4)))
        assert body["blocks"] == len(means)
    assert max(map(float, share)) > 100, "a share may exceed 100%"


def test_demand_of_another_publisher_never_divides(grid: Grid) -> None:
    grid.put("BE", "wind_onshore", "1h", [500.0] * 30)
    grid.put("BE", "demand", "1h", [1_000.0] * 6)
    grid.put("BE", "demand", "1h", [10.0] * 30, by="other.load")
    _, body = grid.ask("BE", hours=1)
    assert (body["mean"], body["horizon"]["until"]) == (50, RUNNING + 6 * HOUR)
    status, body = grid.ask("FR")
    assert (status, body["type"].rpartition("/")[2], body["zones"]) == (404, "metric-not-available", ["GB", "BE"])


@pytest.mark.parametrize(
    ("absent", "query", "reason"),
    [
        ("demand", {}, "demand_forecast_missing"),
        ("mix", {}, "mix_forecast_missing"),
        ("solar", {"from": RUNNING + 12 * HOUR}, "mix_forecast_missing"),
        ("demand", {"from": RUNNING + 12 * HOUR}, "demand_forecast_missing"),
        ("", {"from": RUNNING + 40 * HOUR}, "not_known_yet"),
        ("", {"from": RUNNING + 10 * HOUR, "to": RUNNING + 11 * HOUR}, "horizon_too_short"),
    ],
)
def test_the_response_says_which_forecast_is_missing(grid: Grid, absent: str, query: Any, reason: str) -> None:
    for what in ("wind_onshore", "solar", "demand"):
        is_absent = absent in (what, "demand" if what == "demand" else "mix")
        grid.put("BE", what, "1h", [500.0] * ((10 if query else 0) if is_absent else 30))
    _, body = grid.ask("BE", **query)
    assert (body["available"], body["reason"]) == (False, reason)
    if reason.startswith(("mix", "demand")):
        assert ("wind and solar" in body["detail"]) == (reason == "mix_forecast_missing")


def test_a_gap_names_the_forecast_that_has_it_also_for_the_time_behind_it(grid: Grid) -> None:
    grid.put("BE", "wind_onshore", "1h", [500.0] * 6)
    grid.put("BE", "wind_onshore", "1h", [500.0] * 20, RUNNING + 7 * HOUR)
    grid.put("BE", "demand", "1h", [1_000.0] * 30)
    _, body = grid.ask("BE", **{"from": RUNNING + 9 * HOUR})
    assert (body["reason"], body["horizon"]["until"]) == ("mix_forecast_missing", RUNNING + 6 * HOUR)


def test_a_fuel_of_yesterday_is_missing_today_not_nothing(grid: Grid) -> None:
    grid.put("BE", "solar", "1h", [400.0] * 20, RUNNING - 22 * HOUR, at=RUNNING - 30 * HOUR)
    grid.put("BE", "wind_onshore", "1h", [500.0] * 30)
    grid.put("BE", "demand", "1h", [1_000.0] * 30)
    assert grid.ask("BE")[1]["reason"] == "mix_forecast_missing"


def test_great_britain_has_no_share_without_its_forecast_of_solar(grid: Grid) -> None:
    grid.put("GB", "wind_onshore", "1h", [500.0] * 30)
    grid.put("GB", "demand", "30m", [1_000.0] * 60)
    assert grid.ask("GB")[1]["reason"] == "mix_forecast_missing"


@pytest.mark.parametrize(("age", "reason"), [(2 * DAY, None), (2 * DAY + 1, "forecast_too_old")])
def test_a_daily_forecast_is_used_for_two_days(grid: Grid, age: int, reason: str | None) -> None:
    grid.put("BE", "demand", "1h", [1_000.0] * 120, RUNNING - 72 * HOUR, at=NOW - age)
    grid.put("BE", "wind_onshore", "1h", [500.0] * 30)
    _, body = grid.ask("BE")
    assert body.get("reason") == reason


def test_its_error_is_in_percentage_points_and_energy_has_no_cost(grid: Grid) -> None:
    for what in ("wind_onshore", "demand"):
        grid.put("BE", what, "1h", [500.0 + (what == "demand") * n for n in range(30)])
    errors = [hour / 2 for hour in range(1, 49)]
    grid.rig.put_document(layout.PUBLISHERS, {"scores": [], "shares": [{"zone": "BE", "mae_by_hour": errors}]})
    _, body = grid.ask("BE", kwh=22, kw=11)
    assert (body["hours"], body["start"], body["lead_s"], body["error"]) == (2, RUNNING, 0, 0.5)
    assert "cost" not in body
    _, body = grid.ask("BE", find="lowest")
    assert body["error"] == 13.5


def test_a_forecast_that_may_not_be_passed_on_gives_no_share(grid: Grid) -> None:
    for what in ("wind_onshore", "demand"):
        grid.put("BE", what, "1h", [500.0] * 30)
    shut = replace(GRID.feeds[1], withheld=True)
    grid.rig.sources["grid"] = replace(GRID, feeds=(GRID.feeds[0], shut))
    status, body = grid.ask("BE")
    assert (status, body["type"].rpartition("/")[2], body["sources"]) == (404, "withheld-by-terms", ["grid"])


def test_an_agent_finds_the_greenest_hours(grid: Grid) -> None:
    for what in ("wind_onshore", "demand"):
        grid.put("BE", what, "1h", [500.0 + (what == "demand") * n for n in range(30)])
    grid.rig.put_document(layout.PUBLISHERS, {"scores": [], "shares": [{"zone": "BE", "mae_by_hour": [3.5] * 48}]})
    _, body = grid.ask("BE", sample="true")
    assert (body["sample"], body["mean"]) == (True, 99.8007)
    client = grid.rig.client()
    arguments = {"zone": "BE", "metric": "wind_solar", "hours": 1}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "find_window", "arguments": arguments},
    }
    headers = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
    result = client.post("/mcp", json=call, headers=headers | grid.rig.key(client)).get_json()["result"]
    assert (result["structuredContent"]["mean"], result["structuredContent"]["error"]) == (100, 3.5)
    text = result["content"][0]["text"]
    assert text.startswith("BE wind and solar as a share of demand, highest 1 h by the operator's forecast published ")
    assert "(mean absolute error at this lead 3.5 percentage points)" in text
    assert "mean 100 % (+2.7908 percentage points, +2.9% against the mean of all known values)" in text
