"""Check columns and tables of histories of one or several zones: each contains every row once, at its time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp import row_table
from tests.mcp.conftest import NOW, Make, store_rows
from tests.mcp.reading import at
from warehouse.market.clock import DAY, HOUR, iso
from warehouse.store.storage import Folder

KEYS = {"zone": ["FR", "GB"], "fuel": ["gas", "wind"], "counterparty": ["NL", "BE"], "link": ["one", None]}
MEMBERS = {"unit": ["MW", "GW"], "coverage": [1.0, 0.5], "source": ["a", "b"]}


@given(st.data(), st.sampled_from([(), ("zone",), ("fuel",), ("zone", "fuel"), ("counterparty", "link")]))
def test_columns_hold_every_row_once_whatever_its_members_are(data: Any, keys: tuple[str, ...]) -> None:
    """The test reassembles rows from the arrays, by the names of zone and fuel, and from the shared members."""
    kinds = [st.sampled_from(KEYS[key]) for key in keys]
    places = data.draw(st.lists(st.tuples(st.integers(0, 5), *kinds), unique=True, max_size=12))
    places.sort(key=lambda place: place[0])
    values = [data.draw(st.floats(-1e9, 1e9)) for _ in places]
    rows = {"ts": [hour * 3600 for hour, *_ in places], "value": values}
    rows |= {key: [place[1 + number] for place in places] for number, key in enumerate(keys)}
    rows |= {name: [data.draw(st.sampled_from(words)) for _ in places] for name, words in MEMBERS.items()}
    ts, arrays, constant = row_table.columns(rows)
    assert [at(stamp) for stamp in arrays["time"]] == ts == sorted(set(rows["ts"]))
    named = ["/".join(word for word in place[1:] if word) for place in places]

    def members(key: str, line: int) -> list[Any]:
        shared = [constant.get(name) for name in MEMBERS]
        own = [arrays.get(f"{key}.{name}", arrays.get(name, [None] * len(ts)))[line] for name in MEMBERS]
        return [(of[key] if isinstance(of, dict) else of) or one for of, one in zip(shared, own, strict=True)]

    found = [
        (key, ts[line], value, *members(key, line))
        for key in set(named)
        for line, value in enumerate(arrays[key or "value"])
        if value is not None
    ]
    assert sorted(found) == sorted(zip(named, rows["ts"], values, *(rows[name] for name in MEMBERS), strict=True))


def test_members_that_rows_of_one_time_share_have_one_array() -> None:
    """Hourly means by fuel share one coverage, even if a fuel lacks an hour."""
    rows = {"ts": [0, 0, 3600], "fuel": ["gas", "wind", "gas"], "value": [1.0, 2.0, 3.0], "coverage": [1.0, 1.0, 0.5]}
    _, arrays, constant = row_table.columns(rows)
    assert arrays == {
        "time": ["1970-01-01T00:00Z", "1970-01-01T01:00Z"],
        "gas": [1.0, 3.0],
        "wind": [2.0, None],
        "coverage": [1.0, 0.5],
    }
    assert constant == {}
    _, arrays, _ = row_table.columns(rows | {"coverage": [1.0, 0.75, 0.5]})
    assert [name for name in arrays if "coverage" in name] == ["gas.coverage", "wind.coverage"]


def test_rows_of_days_and_years_carry_their_civil_date_and_no_instant(agents: Any) -> None:
    """The French day of 29 March starts at 23:00 UTC on 28 March."""
    asked = {"zone": "FR", "metric": "price", "interval": "1d", "start": "2026-03-27", "end": "2026-03-30"}
    result = agents.with_key().call("get_history", **asked)
    columns = result["structuredContent"]["columns"]
    assert columns["date"] == ["2026-03-27", "2026-03-28", "2026-03-29"]
    assert "time" not in columns
    for date, value in zip(columns["date"], columns["value"], strict=True):
        assert f"\n{date} {value:.10g}" in result["content"][0]["text"]
    assert re.search(r"newest \S+ at 2026-03-29\.", result["content"][0]["text"])


def test_hours_carry_the_civil_clock_beside_utc_across_its_change(keyed: Any) -> None:
    window = {"start": "2026-03-28T22:00:00Z", "end": "2026-03-29T04:00:00Z"}
    result = keyed.call("get_history", zone="GB", metric="price", **window)
    offsets = {"2026-03-28T22:00Z": "+00:00", "2026-03-29T01:00Z": "+01:00"}
    assert result["structuredContent"]["clock"] == {"tz": "Europe/London", "utc_offsets": offsets}
    text = result["content"][0]["text"]
    assert "\ntime day Europe/London value, then one each 30 min\n" in text
    assert re.search(r"^2026-03-29T00:00Z Sun 00:00 \S+ \S+\n2026-03-29T01:00Z Sun 02:00 ", text, re.M)
    mix = keyed.call("get_history", zone="GB", metric="generation", **window)["content"][0]["text"]
    assert "time day Europe/London gas nuclear wind" in mix
    assert "\n2026-03-29T01:00Z Sun 02:00 33.25 25.25 41.5\n" in mix


def test_a_clock_that_goes_back_has_two_offsets() -> None:
    ts = range(at("2026-10-24T22:00Z"), at("2026-10-25T04:00Z"), 900)
    offsets = {"2026-10-24T22:00Z": "+02:00", "2026-10-25T01:00Z": "+01:00"}
    assert row_table.utc_offsets(ts, ZoneInfo("Europe/Paris")) == offsets
    assert row_table.utc_offsets(ts[::-1], ZoneInfo("Europe/Paris")) == offsets


def test_zones_of_two_clocks_share_a_table_by_date(agents: Any) -> None:
    window = {"start": "2026-03-27", "end": "2026-03-30"}
    asked = {"zones": ["FR", "GB", "US-CAISO"], "metric": "price", "interval": "1d", **window}
    columns = agents.with_key().call("get_history", **asked)["structuredContent"]["columns"]
    assert columns["date"] == ["2026-03-27", "2026-03-28", "2026-03-29"]
    one = {zone: {**asked, "zone": zone} for zone in asked["zones"]}
    for zone, arguments in one.items():
        del arguments["zones"]
        single = agents.with_key().call("get_history", **arguments)["structuredContent"]["columns"]
        assert dict(zip(single["date"], single["value"], strict=True)) == dict(
            zip(columns["date"], columns[zone], strict=True)
        )


def test_where_a_limit_cuts_the_newest_rows_come_first(keyed: Any) -> None:
    asked = {"zone": "GB", "metric": "price", "start": "2026-03-30T00:00:00Z"}
    whole = keyed.call("get_history", **asked)["structuredContent"]["columns"]["time"]
    assert whole == sorted(whole)
    cut = keyed.call("get_history", limit=3, **asked)
    assert cut["structuredContent"]["columns"]["time"] == whole[:-4:-1]
    assert cut["content"][0]["text"].startswith("TRUNCATED: only the newest rows are shown. For the rest, call again")
    for limit, order, times in ((3, "asc", whole[:3]), (200, "asc", whole), (200, "desc", whole[::-1])):
        result = keyed.call("get_history", limit=limit, order=order, **asked)
        assert result["structuredContent"]["columns"]["time"] == times


def test_what_was_not_known_yet_is_the_reason_of_no_rows(keyed: Any) -> None:
    result = keyed.call("get_history", zone="GB", metric="price", as_of="1970-01-01T00:00:00Z")
    reason = result["structuredContent"]["reason"]
    assert reason.startswith("No data was known at 1970-01-01T00:00:00Z")
    assert reason in result["content"][0]["text"]
    past = keyed.call("get_history", zone="GB", metric="price", start="2020-01-01", end="2020-01-02")
    assert past["structuredContent"]["reason"].startswith("Data is available from")
    assert past["structuredContent"]["columns"] == {"time": [], "value": []}


@pytest.mark.parametrize(
    "asked",
    [
        {"zone": "GB", "start": "2026", "interval": "1y"},
        {"zone": "GB", "start": "2026-03-29", "end": "2026-03-30", "interval": "1mo"},
        {"zones": "DE-LU,GB", "start": "2026", "interval": "1y"},
    ],
)
def test_an_interval_that_its_rows_cover_too_little_of_is_not_called_empty(keyed: Any, asked: dict[str, str]) -> None:
    result = keyed.call("get_history", metric="price", **asked)["structuredContent"]
    assert result["count"] == 0
    assert result["reason"] == (
        f"This window has rows, but they cover too little of an interval of {asked['interval']}. Request a shorter "
        "interval or a longer window."
    )


def test_an_empty_window_of_capacity_has_a_reason_that_is_true(keyed: Any) -> None:
    window = {"start": "2020-01-01", "end": "2020-01-02"}
    years = keyed.call("get_history", zone="DE-LU", metric="capacity", **window)["structuredContent"]
    assert "from 2025-12-31T23:00:00Z to 2026-12-31T23:00:00Z" in years["reason"]


def test_an_empty_window_of_borders_names_their_nearest_rows(make: Make, warehouse: Path, tmp_path: Path) -> None:
    home = tmp_path / "borders"
    shutil.copytree(warehouse, home)
    first, last = NOW - NOW % HOUR - 39 * DAY, NOW - NOW % HOUR - DAY
    for start in (first, last):
        store_rows(Folder(home), "north.grid", "GB", "interchange", start, 1, lambda i: 9.0, "MW", counterparty="FR")
    windows = {
        ("2020-01-01", "2020-02-01"): f"; the first row after it begins at {iso(first)}. Request a longer window.",
        ("2031-01-01", "2031-02-01"): f"; the last row before it begins at {iso(last)}. Request a longer window.",
        ("-2h", "now"): f"; the last row before it begins at {iso(last)}. Request a longer window.",
    }
    for (begin, end), nearest in windows.items():
        for caller, words in ((make(home), nearest), (make(), " or near it.")):
            window = {"by": "border", "start": begin, "end": end}
            found = caller.call("get_history", zone="GB", metric="interchange", **window)["structuredContent"]
            assert found["reason"] == f"No border has a row in this window{words}"
            assert "available_range" not in found


def test_rows_off_their_grid_have_a_line_each_and_a_zone_without_rows_is_named(keyed: Any) -> None:
    stamps = ["2026-03-30T12:05Z", "2026-03-30T12:15Z"]
    columns = {"time": stamps, "value": [1.5, 2.0]}
    lines = row_table.table([at(stamp) for stamp in stamps], columns, {"resolution": "15m"}, None)
    assert lines == ["- is missing.", "time value", "2026-03-30T12:05Z 1.5", "2026-03-30T12:15Z 2"]
    text = keyed.call("get_history", zones=["GB", "US-CAISO"], metric="price")["content"][0]["text"]
    assert " No rows: US-CAISO.\n" in text


WINDOW = {"start": "2026-03-30T06:00:00Z", "end": "2026-03-30T09:00:00Z"}
Row = tuple[int, str, float]


@pytest.fixture(scope="module")
def agent(agents: Any) -> Any:
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
def test_a_column_a_zone_holds_the_rows_of_rest(agent: Any, order: str) -> None:
    arguments = {"zones": ["fr", "GB", "CH"], "metric": "demand", "order": order, **WINDOW}
    result = agent.call("get_history", **arguments)
    query = {"zones": "FR,GB,CH", **WINDOW}
    rest = agent.app.test_client().get("/v1/demand", query_string=query, headers=agent.headers).json
    rows = sorted((row["ts"], row["zone"], row["value"]) for row in rest["data"])
    assert len(rows) == 12 + 3 + 3
    assert from_structure(result["structuredContent"]) == rows
    assert from_text(result["content"][0]["text"]) == rows
    assert set(result["structuredContent"]["attribution"]) == {"FR", "GB", "CH"}
    answer = agent.call("get_history", zones=["GB", "FR"], metric="price", **WINDOW)["structuredContent"]
    assert answer["constant"]["unit"] == {"FR": "EUR/MWh", "GB": "GBP/MWh"}
    assert "; unit MW; resolution CH 1h, FR 15m, GB 1h" in result["content"][0]["text"]
    assert "ENTSO-E" in result["content"][0]["text"]
