"""The tools: schemas that hosts accept, answers equal to REST and true to the schemas, texts that suffice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.mcp.reading import rows_of
from warehouse import clock

MODERN = "2026-07-28"
FREE = ["list_zones", "get_status"]
DATA = {
    "get_latest": {"zone": "GB"},
    "get_zone_brief": {"zone": "GB"},
    "get_history": {"zone": "GB", "metric": "price"},
    "get_map_snapshot": {},
    "find_window": {"zone": "DE-LU"},
    "get_statistics": {"zone": "GB", "metric": "price"},
}
SERIES = ["price", "demand", "interchange", "generation", "carbon_intensity", "carbon-intensity"]


@pytest.fixture
def tools(mcp: Any) -> dict[str, Any]:
    """By name, as the newest version lists them."""
    return {tool["name"]: tool for tool in mcp.ask(MODERN, "tools/list").json["result"]["tools"]}


@pytest.fixture
def keyed(mcp: Any, key: str) -> Any:
    """A caller with a key."""
    mcp.headers["Authorization"] = f"Bearer {key}"
    return mcp


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas within it."""
    if isinstance(schema, dict):
        yield schema
        for name, part in schema.items():
            yield from (
                (inner for member in part.values() for inner in parts(member)) if name == "properties" else parts(part)
            )
    elif isinstance(schema, list):
        for member in schema:
            yield from parts(member)


# Schemas


def test_descriptions_and_names_are_such_as_directories_take(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        assert re.fullmatch(r"[a-z_]{1,64}", name)
        assert 60 < len(tool["description"]) < 800
        assert tool["annotations"] == {
            "title": tool["title"],
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        assert "icons" not in tool
        assert "execution" not in tool


def test_input_schemas_are_such_as_hosts_take(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert not {"anyOf", "oneOf", "allOf", "if"} & set(schema)
        for part in parts(schema):
            assert not {"$ref", "$defs", "x-mcp-header"} & set(part)
            assert isinstance(part.get("type", ""), str)
        for argument in schema["properties"].values():
            assert argument["description"]
        assert "api_key" in schema["properties"]
        assert ("sample" in schema["properties"]) == (name in DATA)
        assert "api_key" not in schema.get("required", [])


def test_output_schemas_leave_room_to_grow(tools: dict[str, Any]) -> None:
    for tool in tools.values():
        schema = tool["outputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        for part in parts(schema):
            assert part.get("additionalProperties") is not False
            assert not {"$ref", "enum", "const", "pattern"} & set(part)


def test_zones_and_metrics_are_those_of_the_service(tools: dict[str, Any], mcp: Any) -> None:
    listed = [zone["id"] for zone in mcp.call("list_zones")["structuredContent"]["zones"]]
    assert len(listed) == 25
    for name in ("get_latest", "get_zone_brief", "get_history"):
        assert tools[name]["inputSchema"]["properties"]["zone"]["enum"] == listed
    history = tools["get_history"]["inputSchema"]["properties"]
    assert set(history["metric"]["enum"]) == {*SERIES, "capacity"}
    assert (history["limit"]["minimum"], history["limit"]["maximum"], history["limit"]["default"]) == (1, 1000, 200)


def test_the_list_is_small_enough_to_stand_in_every_prompt(mcp: Any) -> None:
    assert len(mcp.ask(MODERN, "tools/list").data) < 22_000


# Answers


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 10},
        {"limit": 100},
        {"limit": 101},
        {"limit": 1000},
        {"order": "desc"},
        {"interval": "1h"},
        {"start": 0, "end": 10},
        {"interval": "1d", "start": "2026-03-01T00:00:00Z"},
    ],
    ids=str,
)
@pytest.mark.parametrize("metric", SERIES)
def test_history_is_true_to_its_output_schema(
    keyed: Any, tools: dict[str, Any], metric: str, arguments: dict[str, Any]
) -> None:
    for caller in ({}, {"Authorization": keyed.headers["Authorization"]}):
        keyed.headers = caller
        result = keyed.call("get_history", zone="GB", metric=metric, **arguments)
        jsonschema.validate(result["structuredContent"], tools["get_history"]["outputSchema"])


def test_every_answer_is_true_to_its_output_schema(keyed: Any, tools: dict[str, Any]) -> None:
    yearly = {"zone": "DE-LU", "metric": "capacity"}
    calls: list[tuple[str, dict[str, Any]]] = [*((name, {}) for name in FREE), *DATA.items(), ("get_history", yearly)]
    for headers in ({}, dict(keyed.headers)):
        keyed.headers = headers
        for name, arguments in calls:
            result = keyed.call(name, **arguments)
            assert "isError" not in result
            jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])


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
            "/v1/carbon-intensity/GB?limit=100",
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
        if arguments.get("order") == "desc":
            rest["data"].reverse()  # columns ascend
        assert as_rest(result) == rest


ADDED = ("time", "notes", "next", "held", "columns", "by_time")
"""What the tools add to the members of REST."""


def as_rest(stated: Any) -> Any:
    """An answer without what the tools add, its rows as REST gives them."""
    if isinstance(stated, list):
        return [as_rest(part) for part in stated]
    if not isinstance(stated, dict):
        return stated
    kept = {name: as_rest(part) for name, part in stated.items() if name not in ADDED and not name.endswith("_time")}
    if "constant" in kept:
        kept["data"] = rows_of(stated)
        del kept["constant"]
    if "market_tz" in kept:
        del kept["metrics"]
    return kept


class WithHeaders:
    """The same caller with other headers."""

    def __init__(self, caller: Any, headers: dict[str, str]) -> None:
        self.caller, self.headers = caller, headers

    def call(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        before, self.caller.headers = self.caller.headers, self.headers
        try:
            result: dict[str, Any] = self.caller.call(*arguments, **named)
        finally:
            self.caller.headers = before
        return result


@pytest.mark.parametrize("metric", SERIES)
def test_long_answers_hold_the_same_rows_as_columns(keyed: Any, metric: str) -> None:
    window = {"start": clock.now() - 4 * 86400, "zone": "GB", "metric": metric}
    long = keyed.call("get_history", limit=150, **window)["structuredContent"]
    path = f"/v1/{metric.replace('_', '-')}/GB?limit=150&start={window['start']}"
    rest = keyed.app.test_client().get(path, headers=keyed.headers).json
    assert long["count"] == 150
    assert "data" not in long
    assert len({len(column) for column in long.get("columns", {}).values()}) <= 1
    assert rows_of(long) == rest["data"]
    assert long["constant"]["unit"] == rest["data"][0]["unit"]
    assert as_rest(long) == rest


def test_a_thousand_rows_fit_what_hosts_take(keyed: Any) -> None:
    result = keyed.call("get_history", zone="GB", metric="demand", start="2026-03-20T00:00:00Z", limit=1000)
    assert result["structuredContent"]["count"] == 1000
    assert len(json.dumps(result["structuredContent"], separators=(",", ":"))) < 30_000


@pytest.mark.parametrize("order", ["asc", "desc"])
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


def test_a_window_without_rows_is_an_answer(keyed: Any) -> None:
    result = keyed.call("get_history", zone="GB", metric="price", start=86400, end=2 * 86400)
    assert result["structuredContent"]["count"] == 0
    assert result["structuredContent"]["data"] == []
    text = result["content"][0]["text"]
    assert "no rows in [1970-01-02T00:00:00Z, 1970-01-03T00:00:00Z)" in text
    assert re.search(r"Held are intervals from 2026-0[23]-\d\dT[0-9:]+Z to 2026-03-30T12:00:00Z", text)


# Arguments


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
        ({"zone": 5, "metric": "price"}, "zones are US-CAISO"),
        ({"zone": "GB", "metric": "frequency"}, "metrics are"),
        ({**GB_PRICE, "limit": 0}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": 1001}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": True}, "from 1 to 1000"),
        ({**GB_PRICE, "limit": "ten"}, "from 1 to 1000"),
        ({**GB_PRICE, "by": "border"}, "by: only for interchange"),
        ({"zone": "GB", "metric": "demand", "market": "day_ahead"}, "market: only for price"),
        ({**GB_PRICE, "sample": "maybe"}, "true or false"),
        ({**GB_PRICE, "start": "2026-02-30"}, "a date"),
        ({**GB_PRICE, "limit": 2.5}, "from 1 to 1000"),
        ({**GB_PRICE, "order": "up"}, "asc or desc"),
        ({**GB_PRICE, "interval": "5m"}, "1h or 1d"),
        ({**GB_PRICE, "start": "yesterday"}, "RFC 3339"),
        ({**GB_PRICE, "start": "2026-03-30T00:00:00"}, "with an offset"),
        ({**GB_PRICE, "start": -1}, "1970"),
        ({**GB_PRICE, "start": True}, "RFC 3339"),
        ({**GB_PRICE, "start": []}, "RFC 3339"),
        ({**GB_PRICE, "end": 10**18}, "9999"),
        ({**GB_PRICE, "start": 20, "end": 10}, "start 20"),
        ({**GB_PRICE, "unit": "MW"}, "unit: no such argument"),
        ({**GB_PRICE, "api_key": 5}, "api_key"),
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


# What the zone cannot answer


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


# Texts


@pytest.mark.parametrize("tool", DATA)
def test_a_sample_says_that_it_is_one_and_how_to_get_more(mcp: Any, keyed: Any, tool: str) -> None:
    sampled, whole = WithHeaders(mcp, {}).call(tool, **DATA[tool]), keyed.call(tool, **DATA[tool])
    first = sampled["content"][0]["text"].splitlines()[0]
    assert first.startswith("SAMPLE: no API key was sent")
    assert "http://emds.example/v1/keys/signup" in first
    assert "Authorization: Bearer" in first
    assert sampled["structuredContent"]["sample"] is True
    assert "SAMPLE" not in whole["content"][0]["text"]
    assert "sample" not in whole["structuredContent"]


@pytest.mark.parametrize("tool", FREE)
def test_free_tools_are_no_samples(mcp: Any, tool: str) -> None:
    result = mcp.call(tool)
    assert "SAMPLE" not in result["content"][0]["text"]
    assert "sample" not in result["structuredContent"]


@pytest.mark.parametrize("tool", DATA)
def test_licence_and_attribution_stand_in_both(keyed: Any, tool: str) -> None:
    result = keyed.call(tool, **DATA[tool])
    assert "Source: © North Grid. Licence: North Grid: CC BY 4.0." in result["content"][0]["text"]
    assert "© North Grid" in json.dumps(result["structuredContent"], ensure_ascii=False)


def test_times_are_iso_8601(keyed: Any) -> None:
    for tool, arguments in DATA.items():
        text = keyed.call(tool, **arguments)["content"][0]["text"]
        assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
        assert not re.search(r"\b177\d{7}\b", text)


def test_figures_in_the_text_are_those_of_the_answer(keyed: Any) -> None:
    latest = keyed.call("get_latest", zone="GB")
    assert "price 50 GBP/MWh at 2026-03-30T12:00:00Z (30m)" in latest["content"][0]["text"]
    assert "wind 41.5, gas 33.25, nuclear 25.25" in latest["content"][0]["text"]
    history = keyed.call("get_history", zone="GB", metric="demand", limit=1000, order="desc")["content"][0]["text"]
    assert "288 rows of 5m in [2026-03-29T12:10:00Z, 2026-03-30T12:10:00Z)" in history
    assert (
        "Lowest 30000 at 2026-03-30T12:00:00Z, highest 32870 at 2026-03-30T11:55:00Z, newest 30010 at "
        "2026-03-30T12:05:00Z" in history
    )
    brief = keyed.call("get_zone_brief", zone="GB")
    assert brief["structuredContent"]["summary"] in brief["content"][0]["text"]
    zones = keyed.call("list_zones")["content"][0]["text"]
    assert "GB: Great Britain (Europe/London, GBP): price, demand, interchange, generation, carbon_intensity" in zones
    snapshot = keyed.call("get_map_snapshot")["content"][0]["text"]
    assert "No values: US-CAISO" in snapshot
    assert "price in GBP/MWh at 2026-03-30T12:00:00Z: GB 50\n" in snapshot


def test_stale_figures_are_said_to_be_stale(keyed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert "STALE" not in keyed.call(tool, **DATA[tool])["content"][0]["text"]
    monkeypatch.setenv("EMDS_NOW", "2026-04-02T00:00:00Z")
    for tool in ("get_latest", "get_zone_brief", "get_map_snapshot"):
        assert keyed.call(tool, **DATA[tool])["content"][0]["text"].startswith(
            "STALE: newer figures were due at 2026-03-"
        )


def test_simulated_figures_are_said_to_be_simulated(make: Any, simulated: Path) -> None:
    mcp = make(simulated)
    for tool, arguments in DATA.items():
        result = mcp.call(tool, **arguments)
        assert "SIMULATED figures, not market data." in result["content"][0]["text"]
        assert "SIMULATED, not market data" in json.dumps(result["structuredContent"])


def test_the_status_names_what_does_not_stand_well(mcp: Any) -> None:
    text = mcp.call("get_status")["content"][0]["text"]
    assert text.startswith("Freshness at 2026-03-30T12:10:00Z, 4 pairs of source and zone: 4 unknown.")
