"""Test means over hours, civil days, weeks, months and years: weights, coverage, clock changes, units, sources."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.figures.resample import (
    LEAST_COVERAGE,
    LONGEST,
    Interval,
    bounds,
    chunks,
    interval_at,
    joined,
    means,
    sums,
)
from warehouse.market.clock import DAY, HOUR, LAST_INSTANT, RESOLUTIONS, Window, instant
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

AT = instant("2026-05-04T00:00:00Z")
ZONES = ("UTC", "Australia/Adelaide", "America/New_York", "Europe/London", "Europe/Berlin")


def columns(rows: list[tuple[int, float, str]], unit: str = "MW", source: str = "a") -> RowColumns:
    """Return the columns of one series, given by start, value and resolution."""
    kinds = sorted({resolution for _, _, resolution in rows}, key=RESOLUTIONS.__getitem__)
    labels = tuple(RowLabels(None, None, None, unit, kind, source, f"{source}.x") for kind in kinds)
    return RowColumns(
        labels,
        np.array([kinds.index(r) for _, _, r in rows], np.int32),
        np.array([t for t, _, _ in rows], np.int64),
        np.array([v for _, v, _ in rows], np.float64),
    )


def resampled(rows: RowColumns, span: Window, interval: Interval, tz: str = "UTC") -> RowColumns:
    """Return the means of a range of whole intervals."""
    within = bounds(span, interval, tz)
    return means(sums(rows, within), within, interval)


def test_where_the_unit_changes_within_an_interval_there_is_no_mean() -> None:
    labels = tuple(RowLabels(None, None, None, unit, "30m", "a", "a.x") for unit in ("PLN/MWh", "EUR/MWh"))
    rows = RowColumns(
        labels,
        np.array([0, 1, 1, 1], np.int32),
        AT + np.arange(4, dtype=np.int64) * 1800,
        np.array([1.0, 2.0, 3.0, 5.0]),
    )
    hourly = resampled(rows, Window(AT, AT + 2 * HOUR), "1h")
    assert [
        (hourly.labels[code].unit, float(value)) for code, value in zip(hourly.label, hourly.value, strict=True)
    ] == [("EUR/MWh", 4.0)]


def test_a_mean_of_several_sources_names_them_all() -> None:
    labels = tuple(RowLabels(None, None, None, "MW", "30m", source, f"{source}.x") for source in ("b", "a"))
    rows = RowColumns(labels, np.array([0, 1, 0, 0], np.int32), AT + np.arange(4, dtype=np.int64) * 1800, np.ones(4))
    hourly = resampled(rows, Window(AT, AT + 2 * HOUR), "1h")
    assert [hourly.labels[code].source for code in hourly.label] == ["a, b", "b"]


def civil_start(ts: int, interval: Interval, tz: str) -> int:
    """Return the start of the interval that contains `ts`, by the calendar of `datetime`."""
    local = datetime.fromtimestamp(ts, ZoneInfo("UTC" if interval == "1h" else tz))
    if interval == "1h":
        return int(local.replace(minute=0, second=0).timestamp())
    day = local.replace(hour=0, minute=0, second=0, fold=0)
    if interval == "1w":
        day -= timedelta(days=day.isoweekday() - 1)
    day = day.replace(day=1) if interval == "1mo" else day.replace(month=1, day=1) if interval == "1y" else day
    return int(day.timestamp())


@st.composite
def mixed_rows(draw: st.DrawFn) -> list[tuple[int, float, str]]:
    """Draw rows of mixed resolutions with gaps, over clock changes and the turn of a year."""
    ts, rows = draw(st.sampled_from(["2025-10-20", "2025-12-25", "2026-03-06", "2026-03-25", "2026-10-01"])), []
    at = instant(f"{ts}T13:00:00Z")
    for _ in range(draw(st.integers(1, 12))):
        resolution = draw(st.sampled_from(["5m", "15m", "30m"]))
        at += draw(st.sampled_from([0, 0, 0, 1800, 7 * HOUR, 20 * DAY]))
        for _ in range(draw(st.integers(1, 80))):
            rows.append((at, draw(st.integers(-(10**11), 10**11)) / 10**6, resolution))
            at += RESOLUTIONS[resolution]
        at += -at % 1800
    return rows


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(rows=mixed_rows(), tz=st.sampled_from(ZONES), interval=st.sampled_from([*LONGEST]))
def test_means_are_the_exact_ones_rounded_once(rows: list[tuple[int, float, str]], tz: str, interval: Interval) -> None:
    """Compare with Python's fractions in one step, also for means that were built from sums of days."""
    groups: dict[int, list[tuple[Fraction, int]]] = defaultdict(list)
    for ts, value, resolution in rows:
        groups[civil_start(ts, interval, tz)].append((Fraction(str(value)), RESOLUTIONS[resolution]))
    expected = {}
    for start, group in groups.items():
        covered = sum(seconds for _, seconds in group)
        if covered / (interval_at(start, interval, tz).end - start) >= LEAST_COVERAGE:
            exact = sum((value * seconds for value, seconds in group), Fraction(0)) / covered
            share = covered / (interval_at(start, interval, tz).end - start)
            expected[start] = (round(exact * 10**6) / 10**6, len(group), round(share, 4))
    window = Window(rows[0][0], rows[-1][0] + 1)
    computed: dict[int, tuple[float, int, float]] = {}
    for span in chunks(window, interval, tz):
        within = bounds(span, interval, tz)
        of_days = [sums(columns(rows), bounds(days, "1d", tz)) for days in chunks(span, "1d", tz)]
        parts = [sums(columns(rows), within)] if interval == "1h" else of_days
        whole = joined(part.between(span) for part in parts)
        mean = means(whole, within, interval)
        values = zip(*(column.tolist() for column in (mean.value, mean.samples, mean.coverage)), strict=True)  # type: ignore[union-attr]
        computed |= dict(zip(mean.ts.tolist(), values, strict=True))
    assert computed == expected


@pytest.mark.parametrize("interval", [*LONGEST])
@pytest.mark.parametrize("tz", ZONES)
def test_intervals_follow_each_other_and_chunks_hold_whole_ones(interval: Interval, tz: str) -> None:
    window = Window(instant("2024-12-20T05:00:00Z"), instant("2027-01-03T00:00:00Z"))
    spans = chunks(window, interval, tz)
    assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
    starts = [start for span in spans for start in bounds(span, interval, tz).tolist()[:-1]]
    for start, end in pairwise([*starts, spans[-1].end]):
        assert start == civil_start(start, interval, tz) == civil_start(end - 1, interval, tz)
        assert end - start <= LONGEST[interval]
    assert starts[0] <= window.start
    assert spans[-1].end >= window.end


@pytest.mark.parametrize("interval", [*LONGEST])
@pytest.mark.parametrize("tz", ZONES)
def test_the_calendar_holds_at_both_ends_of_time(interval: Interval, tz: str) -> None:
    assert interval_at(0, interval, tz).start <= 0 < interval_at(0, interval, tz).end
    last = interval_at(LAST_INSTANT, interval, tz)
    assert last.start < last.end <= LAST_INSTANT + 1
