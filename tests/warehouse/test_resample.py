"""Means over hours and civil days: weights, coverage, clock changes, units, sources; against a plain computation."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.figures.resample import chunks, means
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, MarketDay, Window, instant
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import RowColumns

AT = instant("2026-05-04T00:00:00Z")


def columns(rows: list[tuple[int, float, str]], unit: str = "MW", source: str = "a") -> RowColumns:
    """Rows of one series: start, value, resolution."""
    kinds = sorted({resolution for _, _, resolution in rows}, key=RESOLUTIONS.__getitem__)
    labels = tuple(RowLabels(None, None, None, unit, kind, source, f"{source}.x") for kind in kinds)
    return RowColumns(
        labels,
        np.array([kinds.index(r) for _, _, r in rows], np.int32),
        np.array([t for t, _, _ in rows], np.int64),
        np.array([v for _, v, _ in rows], np.float64),
    )


def test_a_mean_weighs_each_row_by_its_length() -> None:
    rows = columns([(AT, 10.0, "30m"), (AT + 1800, 40.0, "15m"), (AT + 2700, 20.0, "15m")])
    hourly = means(rows, Window(AT, AT + HOUR), "1h", "UTC")
    assert (hourly.value[0], hourly.samples[0], hourly.coverage[0]) == (20.0, 3, 1.0)  # type: ignore[index]


def test_an_hour_half_covered_has_a_mean_and_one_less_covered_none() -> None:
    rows = columns(
        [*((AT + i * 300, 5.0, "5m") for i in range(6)), *((AT + HOUR + i * 300, 5.0, "5m") for i in range(5))]
    )
    hourly = means(rows, Window(AT, AT + 2 * HOUR), "1h", "UTC")
    assert hourly.ts.tolist() == [AT]
    assert hourly.coverage.tolist() == [0.5]  # type: ignore[union-attr]


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_civil_day_has_the_hours_that_it_has(day: str, hours: int) -> None:
    start = MarketDay.at(instant(f"{day}T12:00:00Z"), "Europe/Berlin")
    rows = columns([(start.start + i * HOUR, float(i), "1h") for i in range(hours)])
    daily = means(rows, Window(start.start, start.end), "1d", "Europe/Berlin")
    assert daily.ts.tolist() == [start.start]
    assert daily.samples.tolist() == [hours]  # type: ignore[union-attr]
    assert daily.value[0] == round(sum(range(hours)) / hours, 6)


def test_where_the_unit_changes_within_an_interval_there_is_no_mean() -> None:
    labels = tuple(RowLabels(None, None, None, unit, "30m", "a", "a.x") for unit in ("PLN/MWh", "EUR/MWh"))
    rows = RowColumns(
        labels,
        np.array([0, 1, 1, 1], np.int32),
        AT + np.arange(4, dtype=np.int64) * 1800,
        np.array([1.0, 2.0, 3.0, 5.0]),
    )
    hourly = means(rows, Window(AT, AT + 2 * HOUR), "1h", "UTC")
    assert [
        (hourly.labels[code].unit, float(value)) for code, value in zip(hourly.label, hourly.value, strict=True)
    ] == [("EUR/MWh", 4.0)]


def test_a_mean_of_several_sources_names_them_all() -> None:
    labels = tuple(RowLabels(None, None, None, "MW", "30m", source, f"{source}.x") for source in ("b", "a"))
    rows = RowColumns(labels, np.array([0, 1, 0, 0], np.int32), AT + np.arange(4, dtype=np.int64) * 1800, np.ones(4))
    hourly = means(rows, Window(AT, AT + 2 * HOUR), "1h", "UTC")
    assert [hourly.labels[code].source for code in hourly.label] == ["a, b", "b"]


def test_fuels_keep_their_order_and_stay_apart() -> None:
    labels = tuple(RowLabels(fuel, None, None, "MW", "30m", "a", "a.x") for fuel in ("wind", "gas"))
    starts = np.repeat(AT + np.arange(2, dtype=np.int64) * 1800, 2)
    rows = RowColumns(labels, np.array([1, 0, 1, 0], np.int32), starts, np.array([1.0, 5, 3, 9]))
    hourly = means(rows, Window(AT, AT + HOUR), "1h", "UTC")
    assert [(hourly.labels[code].fuel, float(v)) for code, v in zip(hourly.label, hourly.value, strict=True)] == [
        ("gas", 2.0),
        ("wind", 7.0),
    ]


def test_nothing_has_no_means() -> None:
    assert len(means(columns([]), Window(AT, AT + DAY), "1d", "UTC")) == 0


@settings(max_examples=100, deadline=None)
@given(
    present=st.lists(st.integers(0, 3 * 96 - 1), unique=True, min_size=1).map(sorted),
    values=st.lists(st.floats(-1e4, 1e4), min_size=300, max_size=300),
    zone=st.sampled_from(["UTC", "Australia/Adelaide", "America/New_York", "Europe/London"]),
    interval=st.sampled_from(["1h", "1d"]),
)
def test_means_equal_a_plain_computation(present: list[int], values: list[float], zone: str, interval: str) -> None:
    base = instant("2026-03-28T12:00:00Z")
    rows = [(base + i * 900, values[i], "15m") for i in present]
    groups: dict[int, list[float]] = defaultdict(list)
    for ts, value, _ in rows:
        groups[ts // HOUR * HOUR if interval == "1h" else MarketDay.at(ts, zone).start].append(value)
    lengths = {start: HOUR if interval == "1h" else MarketDay.at(start, zone).end - start for start in groups}
    expected = {
        start: sum(group) / len(group) for start, group in groups.items() if len(group) * 900 * 2 >= lengths[start]
    }
    computed = {}
    for span in chunks(Window(base, base + 3 * DAY), interval, zone):  # type: ignore[arg-type]
        part = means(columns(rows), span, interval, zone)  # type: ignore[arg-type]
        computed |= dict(zip(part.ts.tolist(), part.value.tolist(), strict=True))
    assert computed.keys() == expected.keys()
    assert all(abs(computed[start] - expected[start]) < 1e-5 for start in expected)


def test_chunks_follow_each_other_without_a_gap() -> None:
    spans = chunks(
        Window(instant("2025-11-15T00:00:00Z"), instant("2026-04-02T00:00:00Z")), "1d", "America/Los_Angeles"
    )
    assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
    assert spans[0].start == instant("2025-11-01T07:00:00Z")
    assert spans[-1].end == instant("2026-05-01T07:00:00Z")
