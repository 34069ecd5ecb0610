"""Columns and tables of a history: every row stands there once, at its time, whatever is missing."""

from __future__ import annotations

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


def test_means_of_whole_days_are_columns_of_their_times(keyed: Any) -> None:
    """Though their samples and coverage may be the same in every row."""
    asked = {"interval": "1d", "start": "2026-02-25T00:00:00Z", "end": "2026-03-27T00:00:00Z"}
    structured = keyed.call("get_history", zone="GB", metric="price", **asked)["structuredContent"]
    assert structured["count"] == len(structured["columns"]["time"]) == 30
