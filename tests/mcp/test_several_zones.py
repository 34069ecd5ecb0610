"""`get_history` of several zones in one call: the rows of REST in text and structure, pages, refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.mcp.reading import at

WINDOW = {"start": "2026-03-30T06:00:00Z", "end": "2026-03-30T09:00:00Z"}
Row = tuple[int, str, float]


@pytest.fixture(scope="module")
def keyed(agents: Any) -> Any:
    return agents.with_key()


def from_structure(answer: dict[str, Any]) -> list[Row]:
    columns = dict(answer["columns"])
    instants = [at(stamp) for stamp in columns.pop("time")]
    return sorted(
        (ts, zone, value)
        for zone, values in columns.items()
        for ts, value in zip(instants, values, strict=True)
        if value is not None
    )


def from_text(text: str) -> list[Row]:
    head, *lines = [line for line in text.splitlines() if line.startswith("time ") or re.match(r"2026-\S+Z ", line)]
    zones = head.split(" ")[1:]
    rows = [(at(stamp), zip(zones, cells, strict=True)) for stamp, *cells in (line.split(" ") for line in lines)]
    return sorted((ts, zone, float(cell)) for ts, cells in rows for zone, cell in cells if cell != "-")


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_column_a_zone_holds_the_rows_of_rest(keyed: Any, order: str) -> None:
    arguments = {"zones": ["fr", "GB", "CH"], "metric": "demand", "order": order, **WINDOW}
    result = keyed.call("get_history", **arguments)
    query = {"zones": "FR,GB,CH", **WINDOW}
    rest = keyed.app.test_client().get("/v1/demand", query_string=query, headers=keyed.headers).json
    rows = sorted((row["ts"], row["zone"], row["value"]) for row in rest["data"])
    assert len(rows) == 12 + 3 + 3
    assert from_structure(result["structuredContent"]) == rows
    assert from_text(result["content"][0]["text"]) == rows
    assert set(result["structuredContent"]["attribution"]) == {"FR", "GB", "CH"}
    assert "CH (MW, 1h)" in result["content"][0]["text"]
    assert "ENTSO-E" in result["content"][0]["text"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_walk_by_next_gives_every_row_once(keyed: Any, order: str) -> None:
    arguments = {"zones": "FR,PL,AT", "metric": "price", "order": order}
    whole = from_structure(keyed.call("get_history", **arguments, **WINDOW)["structuredContent"])
    walked, window = list[Row](), dict[str, Any](WINDOW)
    for _ in range(20):
        answer = keyed.call("get_history", **arguments, limit=8, **window)["structuredContent"]
        walked += from_structure(answer)
        if "next" not in answer:
            break
        window = answer["next"]
    assert sorted(walked) == whole
    assert len(whole) == 36


def test_currencies_are_told_apart(keyed: Any) -> None:
    answer = keyed.call("get_history", zones=["GB", "FR"], metric="price", **WINDOW)["structuredContent"]
    assert answer["units"] == {"GB": "GBP/MWh", "FR": "EUR/MWh"}


def test_a_call_counts_once_for_a_key(agents: Any) -> None:
    caller = agents.with_key()
    caller.call("get_history", zones=["GB", "FR"], metric="price", **WINDOW)
    assert caller.app.test_client().get("/v1/usage", headers=caller.headers).json["quota"]["used"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "price"}, "zone: required, or zones"),
        ({"metric": "price", "zone": "GB", "zones": ["FR"]}, "zone: required, or zones"),
        ({"metric": "price", "zones": ["FR", "XX"]}, "There is no zone 'XX'"),
        ({"metric": "price", "zones": []}, "There is no zone ''"),
        ({"metric": "generation", "zones": ["GB", "US-CAISO"]}, "not with generation"),
        ({"metric": "price", "zones": ["FR", "GB"], "start": "2026-03-29"}, "not the same instant in FR and GB"),
        ({"metric": "carbon_intensity", "zones": ["FR", "GB"]}, "no carbon_intensity of FR"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_said(keyed: Any, arguments: dict[str, Any], words: str) -> None:
    result = keyed.call("get_history", **arguments)
    assert result["isError"] is True
    assert words in result["content"][0]["text"]
