"""Test the newest complete interval of a mix: fuels that arrive late, fuels of the night, longer rows, gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warehouse.figures.whole_mix import newest_whole
from warehouse.market.clock import DAY, Window
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

HOUR = 3600
NOW = 1_795_176_000  # the time 2026-11-20T12:00:00Z


def rows_of(*stated: tuple[str, str, int]) -> RowColumns:
    """Return rows by fuel, resolution and start in ascending order; each value is the row's index in `stated`."""
    ordered = sorted(enumerate(stated), key=lambda each: (each[1][2], each[1][0]))
    keys = list(dict.fromkeys((fuel, resolution) for fuel, resolution, _ in stated))
    labels = tuple(
        RowLabels(fuel=fuel, counterparty=None, link=None, unit="MW", resolution=resolution, source="a", feed="a.mix")
        for fuel, resolution in keys
    )
    label = np.array([keys.index(each[:2]) for _, each in ordered], np.int32)
    ts = np.array([each[2] for _, each in ordered], np.int64)
    return RowColumns(labels, label, ts, np.array([float(place) for place, _ in ordered]))


def whole(rows: RowColumns, now: int = NOW, left_out: tuple[str, ...] = ()) -> tuple[int, list[str]] | None:
    found = newest_whole(rows, Window(now - 2 * DAY, now + 1), left_out)
    if found is None:
        return None
    return found.ts, [str(found.rows.labels[code].fuel) for code in found.rows.label]


def hours(fuel: str, first: int, last: int) -> list[tuple[str, str, int]]:
    return [(fuel, "1h", NOW + i * HOUR) for i in range(first, last + 1)]


def test_an_interval_waits_for_its_last_fuel():
    rows = rows_of(*hours("gas", -40, 0), *hours("wind", -40, -2))
    assert whole(rows) == (NOW - 2 * HOUR, ["gas", "wind"])
    assert whole(rows, left_out=("wind",)) == (NOW, ["gas"])


def test_a_fuel_that_the_day_before_lacked_is_not_expected():
    rows = rows_of(*hours("gas", -40, 0), *hours("solar", -40, -26), *hours("solar", -10, -4))
    assert whole(rows) == (NOW, ["gas"])


def test_half_an_hour_covers_its_five_minute_intervals():
    gas = [("gas", "5m", NOW - i * 300) for i in range(400)]
    roofs = [("solar_rooftop", "30m", NOW - i * 1800) for i in range(1, 60)]
    assert whole(rows_of(*gas, *roofs)) == (NOW - 300, ["solar_rooftop", "gas"])


def test_rows_that_have_not_begun_do_not_count():
    assert whole(rows_of(*hours("gas", -40, 3))) == (NOW, ["gas"])


def test_nothing_is_whole_without_rows():
    assert whole(rows_of()) is None
    assert whole(rows_of(*hours("gas", -90, -60))) is None
    assert whole(rows_of(*hours("gas", -40, 0)), left_out=("gas",)) is None


@given(st.lists(st.tuples(st.sampled_from(["gas", "wind", "solar"]), st.integers(-60, 2)), unique=True, max_size=60))
def test_agrees_with_the_definition(stated: list[tuple[str, int]]):
    rows = rows_of(*((fuel, "1h", NOW + at * HOUR) for fuel, at in stated))
    there = set(stated)
    whole_hours = [
        at
        for _, at in stated
        if -48 <= at <= 0 and all((fuel, at) in there for fuel in ("gas", "wind", "solar") if (fuel, at - 24) in there)
    ]
    found = whole(rows)
    assert (None if found is None else found[0]) == (NOW + max(whole_hours) * HOUR if whole_hours else None)
    if found is not None:
        assert sorted(found[1]) == sorted(fuel for fuel, at in there if NOW + at * HOUR == found[0])
