"""Columns and tables of a history: every row stands there once, at its time, whatever is missing."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp import history
from warehouse.market.clock import RESOLUTIONS, instant, iso

GRIDS = {"5m": 3600, "15m": 3600, "30m": 3600, "1h": 21_600}
FIGURES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9999, 9999).map(float)


@st.composite
def rows(draw: Any) -> tuple[str, list[int], list[float]]:
    """Rows on their grid in any order, with holes of any length."""
    resolution = draw(st.sampled_from(sorted(GRIDS)))
    step = RESOLUTIONS[resolution]
    places = draw(st.lists(st.integers(0, 90) | st.integers(0, 10**6), min_size=1, max_size=60, unique=True))
    first = draw(st.integers(10**6, 2 * 10**6)) * step
    values = draw(st.lists(FIGURES, min_size=len(places), max_size=len(places)))
    return resolution, [first + place * step for place in places], values


@given(rows())
def test_each_row_stands_under_its_time_and_holes_are_missing(given_rows: tuple[str, list[int], list[float]]) -> None:
    resolution, ts, values = given_rows
    spans = history._spans(ts, values, {"resolution": resolution})
    assert spans is not None
    found: dict[int, float] = {}
    for time, inside in spans.items():
        begin = instant(time.replace("Z", ":00Z"))
        assert begin // GRIDS[resolution] == (begin + (len(inside) - 1) * RESOLUTIONS[resolution]) // GRIDS[resolution]
        found |= {begin + place * RESOLUTIONS[resolution]: value for place, value in enumerate(inside)}
    assert list(found) == sorted(found)
    assert {at: value for at, value in found.items() if value is not None} == dict(zip(ts, values, strict=True))
    assert (min(found), max(found)) == (min(ts), max(ts))
    assert orjson.loads(orjson.dumps(spans)) == spans
    assert all(any(value is not None for value in inside) for inside in spans.values())


@pytest.mark.parametrize(
    ("ts", "resolution"), [([300, 601], "5m"), ([300, 300], "5m"), ([86_400], "1d"), ([0, 1_800, 1_800], "30m")]
)
def test_rows_off_their_grid_long_or_at_one_instant_have_no_spans(ts: list[int], resolution: str) -> None:
    assert history._spans(ts, [1.0] * len(ts), {"resolution": resolution}) is None


def test_a_whole_figure_has_no_point_unless_it_is_no_integer_of_json() -> None:
    columns, _ = history.columns({"ts": [0, 300, 600, 900], "value": [50.0, -0.5, 1e300, 2.0**53]})
    assert orjson.dumps(columns["value"]) == b"[50,-0.5,1e+300,9007199254740992.0]"


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_a_stamp_leaves_out_no_seconds_that_matter(ts: int) -> None:
    [text] = history._stamps([ts])
    assert text == (f"{iso(ts)[:16]}Z" if ts % 60 == 0 else iso(ts))


def test_rows_of_days_and_years_carry_their_civil_date_and_no_instant(agents: Any) -> None:
    """The French day of the 29th begins at 23:00 UTC on the 28th."""
    asked = {"zone": "FR", "metric": "price", "interval": "1d", "start": "2026-03-27", "end": "2026-03-30"}
    result = agents.with_key().call("get_history", **asked)
    columns = result["structuredContent"]["columns"]
    assert columns["date"] == ["2026-03-27", "2026-03-28", "2026-03-29"]
    assert "time" not in columns
    for date, value in zip(columns["date"], columns["value"], strict=True):
        assert f"\n{date} {value:.10g}" in result["content"][0]["text"]
    assert "the oldest at 2026-03-27, the newest at 2026-03-29" in result["content"][0]["text"]


def test_hours_carry_the_civil_clock_beside_utc_across_its_change(keyed: Any) -> None:
    window = {"start": "2026-03-28T22:00:00Z", "end": "2026-03-29T04:00:00Z"}
    result = keyed.call("get_history", zone="GB", metric="price", **window)
    offsets = {"2026-03-28T22:00Z": "+00:00", "2026-03-29T01:00Z": "+01:00"}
    assert result["structuredContent"]["clock"] == {"tz": "Europe/London", "utc_offsets": offsets}
    text = result["content"][0]["text"]
    assert "Each line: time day Europe/London of its first value" in text
    assert re.search(r"^2026-03-29T00:00Z Sun 00:00 \S+ \S+\n2026-03-29T01:00Z Sun 02:00 ", text, re.M)
    mix = keyed.call("get_history", zone="GB", metric="generation", **window)["content"][0]["text"]
    assert "time day Europe/London gas nuclear wind" in mix
    assert "\n2026-03-29T01:00Z Sun 02:00 33.25 25.25 41.5\n" in mix


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
    assert cut["content"][0]["text"].startswith("TRUNCATED to the newest rows. Older ones exist")
    first = keyed.call("get_history", limit=3, order="asc", **asked)["structuredContent"]["columns"]["time"]
    assert first == whole[:3]


def test_what_was_not_known_yet_is_the_reason_of_no_rows(keyed: Any) -> None:
    result = keyed.call("get_history", zone="GB", metric="price", as_of="1970-01-01T00:00:00Z")
    reason = result["structuredContent"]["reason"]
    assert reason.startswith("Rows of this window are held, but none was known yet as of 1970-01-01T00:00:00Z")
    assert reason in result["content"][0]["text"]
    past = keyed.call("get_history", zone="GB", metric="price", start="2020-01-01", end="2020-01-02")
    assert past["structuredContent"]["reason"].startswith("Held are intervals from")
