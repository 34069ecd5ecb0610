"""What agents read from the tools: all rows from the text alone, few tokens, pages that end, keys and offers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.mcp.reading import read_table, tokens
from warehouse.market.clock import DAY, HOUR

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def call(market: Any) -> Call:
    """Calls a tool as a client of 2025-11-25 with a key. Returns the result."""
    client = market.client()
    headers = market.key(client)

    def called(tool: str, header: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        given = {"MCP-Protocol-Version": "2025-11-25", **(headers if header is None else header)}
        result: dict[str, Any] = client.post("/mcp", json=message, headers=given).get_json()["result"]
        return result

    called.key = headers["Authorization"].split()[1]  # type: ignore[attr-defined]
    called.client = client  # type: ignore[attr-defined]
    return called


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize(
    ("zone", "metric", "step", "interval"),
    [
        ("DE-LU", "price", 900, None),
        ("GB", "demand", 300, None),
        ("DE-LU", "price", HOUR, "1h"),
        ("GB", "demand", DAY, "1d"),
    ],
)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_text_alone_holds_every_row(
    call: Call, market: Any, zone: str, metric: str, step: int, interval: str | None, order: str
) -> None:
    more = {"interval": interval} if interval else {}
    window = {"start": market.now - 40 * HOUR, "end": market.now, "limit": 1000, "order": order, **more}
    result = call("get_history", zone=zone, metric=metric, **window)
    rest = call.client.get(  # type: ignore[attr-defined]
        f"/v1/{metric}/{zone}",
        query_string=window,
        headers={"Authorization": f"Bearer {call.key}"},  # type: ignore[attr-defined]
    ).get_json()
    assert rest["count"] > 0
    given = {ts: value for ts, value in read_table(text_of(result), step, zone).items() if value is not None}
    assert given == {row["ts"]: row["value"] for row in rest["data"]}


def test_fuels_and_borders_are_columns_of_the_text(call: Call) -> None:
    lines = text_of(call("get_history", zone="GB", metric="generation")).splitlines()
    assert "time day Europe/London gas nuclear wind" in lines
    assert len([line for line in lines if re.fullmatch(r"2026-\S+Z \w+ [\d:]+ 33.25 33.25 33.25", line)]) == 48
    borders = text_of(call("get_history", zone="GB", metric="interchange", by="border"))
    assert "time day Europe/London FR/ifa NL/britned" in borders.splitlines()
    structure = call("get_history", zone="GB", metric="generation")["structuredContent"]
    assert set(structure["columns"]) == {"time", "gas", "nuclear", "wind"}
    assert len(structure["columns"]["gas"]) == 48


def test_a_sample_can_be_declined_and_refusals_speak_of_tools(call: Call) -> None:
    declined = call("get_history", header={}, zone="GB", metric="price", sample=False)
    assert declined["isError"] is True
    for part in declined["content"]:
        assert "sample=true" not in part["text"]
    assert "without both for a sample" in " ".join(part["text"] for part in declined["content"])


def test_a_snapshot_of_one_metric_is_short(everywhere: Any) -> None:
    client = everywhere.client()
    headers = everywhere.key(client)

    def snapshot(**arguments: Any) -> dict[str, Any]:
        params = {"name": "get_map_snapshot", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        given = {**headers, "MCP-Protocol-Version": "2025-11-25"}
        result: dict[str, Any] = client.post("/mcp", json=message, headers=given).get_json()["result"]
        return result

    demand = snapshot(metric="demand")
    assert tokens(text_of(demand)) < 400
    assert len(re.findall(r"[A-Z]{2}[-A-Z0-9]* \d", text_of(demand).partition("Source:")[0])) == 25
    assert tokens(json.dumps(demand["structuredContent"])) < 600
    two = snapshot(metric=["price", "demand"], zones="GB,de_lu")["structuredContent"]
    assert {zone for group in two["values"] for zone in group["zone"]} == {"GB", "DE-LU"}
    assert {group["metric"] for group in two["values"]} == {"price", "demand"}
    assert set(snapshot(zones="GB")["structuredContent"]["zones"]) == {"GB"}
    assert "kepler" in text_of(snapshot(zones=["kepler"]))
