"""Test statistics over a window against sums by hand: partial intervals, gaps, ties, thresholds, a model by minute."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.figures.statistics import FIRST_SPANS, Gathered, Statistics, statistics
from warehouse.market.clock import HOUR

QUARTER = 900


def statistics_of(rows: list[tuple[int, int, float]], start: int, end: int, **limits: float) -> Statistics | None:
    ts, seconds, values = (np.array(column) for column in zip(*rows, strict=True))
    return statistics(ts.astype(np.int64), seconds.astype(np.int64), values.astype(float), start, end, **limits)


def test_spans_beyond_a_threshold_end_at_gaps_and_at_the_window() -> None:
    rows = [(0, HOUR, -1.0), (HOUR, HOUR, -2.0), (3 * HOUR, HOUR, -3.0), (4 * HOUR, HOUR, 0.0), (5 * HOUR, HOUR, -1.0)]
    stats = statistics_of(rows, HOUR // 2, 5 * HOUR + QUARTER, below=0.0, above=0.0)
    assert stats is not None
    assert stats.below is not None
    assert stats.above is not None
    assert stats.below.first == ((HOUR // 2, 2 * HOUR), (3 * HOUR, 4 * HOUR), (5 * HOUR, 5 * HOUR + QUARTER))
    assert (stats.below.hours, stats.below.intervals, stats.below.spans) == (2.75, 4, 3)
    assert (stats.above.hours, stats.above.intervals, stats.above.first) == (0, 0, ())


def test_only_the_first_spans_are_named() -> None:
    stats = statistics_of([(n * HOUR, HOUR, float(n % 2)) for n in range(60)], 0, 60 * HOUR, above=0.5)
    assert stats is not None
    assert stats.above is not None
    assert (stats.above.spans, len(stats.above.first)) == (30, FIRST_SPANS)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([5, 15, 60]), st.integers(-50, 50)), min_size=1, max_size=30),
    st.integers(0, 100),
    st.integers(1, 2000),
)
def test_agrees_with_a_count_minute_by_minute(parts: list[tuple[int, int, int]], first: int, length: int) -> None:
    rows, at = [], 0
    for gap, minutes, value in parts:
        at += gap * 5
        rows.append((at * 60, minutes * 60, float(value)))
        at += minutes
    minutes = [
        value
        for ts, seconds, value in rows
        for minute in range(ts // 60, (ts + seconds) // 60)
        if first <= minute < first + length
    ]
    stats = statistics_of(rows, first * 60, (first + length) * 60, above=10.0)
    if not minutes:
        assert stats is None
        return
    assert stats is not None
    assert stats.above is not None
    mean = Fraction(sum(int(v) for v in minutes), len(minutes))
    assert stats.mean == pytest.approx(float(mean))
    assert stats.std == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in map(int, minutes)) / len(minutes)))
    assert stats.coverage == pytest.approx(len(minutes) / length)
    ordered = sorted(minutes)
    for share, value in ((1, stats.p10), (5, stats.p50), (9, stats.p90)):
        assert value == ordered[-(-share * len(ordered) // 10) - 1]
    assert stats.above.hours == pytest.approx(sum(v > 10 for v in minutes) / 60)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([5, 15, 60]), st.integers(-9, 9)), min_size=1, max_size=40),
    st.sets(st.integers(0, 40)),
    st.booleans(),
)
def test_rows_that_come_in_parts_have_the_statistics_of_the_whole(
    parts: list[tuple[int, int, int]], cuts: set[int], same_length: bool
) -> None:
    rows, at = [], 0
    for gap, minutes, value in parts:
        minutes = 15 if same_length else minutes
        at += gap * 5
        rows.append((at * 60, minutes * 60, float(value)))
        at += minutes
    whole = statistics_of(rows, 600, at * 60 - 120, above=2.0, below=-1.0)
    gathered = Gathered(600, at * 60 - 120, 2.0, -1.0)
    places = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
    for first, last in pairwise(places):
        ts, seconds, values = (np.array(column) for column in zip(*rows[first:last], strict=True))
        gathered.add(ts.astype(np.int64), seconds.astype(np.int64), values.astype(float))
    result = gathered.statistics()
    assert (result is None) == (whole is None)
    if result is not None and whole is not None:
        close = {name: pytest.approx(getattr(whole, name)) for name in ("mean", "std")}
        assert {name: getattr(result, name) for name in close} == close
        assert replace(result, mean=0, std=0) == replace(whole, mean=0, std=0)
