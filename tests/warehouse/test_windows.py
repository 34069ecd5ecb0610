"""The best block of a known horizon: ties, gaps, negative prices, mixed resolutions, clock changes, part horizons."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from warehouse.figures.windows import Interval, horizon, search
from warehouse.market.clock import HOUR, instant

QUARTER = 900
START = instant("2026-10-24T22:00:00Z")
"""Midnight in Brussels before the clocks go back: the market day has 25 hours."""


def hourly(*values: float, start: int = START, step: int = HOUR) -> list[Interval]:
    return [Interval(start + n * step, start + (n + 1) * step, value) for n, value in enumerate(values)]


def test_the_cheapest_block_and_the_next_ones_apart() -> None:
    known = hourly(5, 1, 2, 9, 3, 3, 8, 1, 4)
    answer = search(known, START, 2 * HOUR, "lowest")
    assert answer is not None
    assert (answer.best.start, answer.best.mean, answer.best.rank) == (START + HOUR, 1.5, 1)
    assert (answer.best.min, answer.best.max) == (1, 2)
    assert [(b.start - START) // HOUR for b in answer.alternatives] == [7, 4]
    assert [b.rank for b in answer.alternatives] == [2, 3]
    assert (answer.start, answer.until, answer.blocks, answer.mean) == (START, START + 9 * HOUR, 8, 4)
    assert answer.best.vs_horizon_mean_pct == -62.5


def test_the_dearest_block() -> None:
    answer = search(hourly(5, 1, 2, 9, 3), START, HOUR, "highest")
    assert answer is not None
    assert answer.best.start == START + 3 * HOUR


def test_among_equal_blocks_the_earliest_is_best_and_they_share_a_rank() -> None:
    answer = search(hourly(4, 2, 4, 2, 4), START, HOUR, "lowest")
    assert answer is not None
    assert answer.best.start == START + HOUR
    assert [b.rank for b in answer.alternatives] == [1, 3, 3]


def test_tenths_tie_exactly() -> None:
    """0.1 + 0.2 is 0.3 here."""
    answer = search(hourly(0.3, 0.0, 9, 0.1, 0.2), START, 2 * HOUR, "lowest")
    assert answer is not None
    assert answer.best.start == START
    assert answer.alternatives[0].rank == 1


def test_negative_prices_are_cheaper_and_have_no_percentage_of_a_mean_below_zero() -> None:
    answer = search(hourly(-5, -20, 1), START, HOUR, "lowest")
    assert answer is not None
    assert answer.best.mean == -20
    assert answer.best.vs_horizon_mean_pct is None


def test_now_is_ranked_by_the_block_that_starts_with_the_running_interval() -> None:
    known = hourly(2, 1, 1, 3)
    running = search(known, START + 1800, 2 * HOUR, "lowest")
    assert running is not None
    assert not running.now.in_best
    assert running.now.rank == 2
    inside = search(horizon(known, START + HOUR + 60, START + 9 * HOUR), START + HOUR + 60, 2 * HOUR, "lowest")
    assert inside is not None
    assert inside.now.in_best
    assert inside.now.rank == 1


def test_a_horizon_ends_at_the_first_gap_and_begins_with_the_running_interval() -> None:
    known = hourly(1, 2, 3) + hourly(1, 1, start=START + 4 * HOUR)
    assert [i.value for i in horizon(known, START + HOUR, START + 99 * HOUR)] == [2, 3]
    assert horizon(known, START - 1, START + 99 * HOUR) == []
    assert horizon(known, START + 3 * HOUR, START + 99 * HOUR) == []


def test_a_horizon_is_cut_where_it_was_asked_to_end() -> None:
    cut = horizon(hourly(1, 2, 3), START, START + HOUR + QUARTER)
    assert [(i.start, i.end) for i in cut] == [(START, START + HOUR), (START + HOUR, START + HOUR + QUARTER)]


def test_no_block_is_longer_than_the_horizon() -> None:
    assert search(hourly(1, 2), START, 3 * HOUR, "lowest") is None


def test_quarter_hours_and_hours_share_a_horizon() -> None:
    """A block may end inside an hourly interval: that hour counts by its part."""
    known = hourly(8, 0, 4, 4, step=QUARTER) + hourly(2, start=START + HOUR)
    answer = search(known, START, HOUR, "lowest")
    assert answer is not None
    assert answer.best.start == START + HOUR
    quarter = next(b for b in (answer.best, *answer.alternatives) if b.start != answer.best.start)
    assert quarter.start == START


def test_a_day_of_25_hours_has_25_blocks_of_an_hour() -> None:
    answer = search(hourly(*range(25)), START, HOUR, "lowest")
    assert answer is not None
    assert answer.blocks == 25


PRICES = st.decimals(-500, 4000, places=2, allow_nan=False).map(float)


@given(
    st.lists(st.tuples(PRICES, st.sampled_from([QUARTER, 2 * QUARTER, HOUR])), min_size=1, max_size=40),
    st.sampled_from([QUARTER, HOUR, 2 * HOUR, 5 * QUARTER]),
    st.sampled_from(["lowest", "highest"]),
)
def test_agrees_with_a_search_by_quarter_hours(parts: list[tuple[float, int]], seconds: int, kind: str) -> None:
    """Every interval cut into quarter hours, every block summed from scratch."""
    known, at = [], START
    for value, length in parts:
        known.append(Interval(at, at + length, value))
        at += length
    quarters = [Fraction(repr(i.value)) for i in known for _ in range((i.end - i.start) // QUARTER)]
    count = seconds // QUARTER
    starts = {i.start for i in known}
    means = {
        START + n * QUARTER: sum(quarters[n : n + count]) / count
        for n in range(len(quarters) - count + 1)
        if START + n * QUARTER in starts
    }
    answer = search(known, START, seconds, "lowest" if kind == "lowest" else "highest")
    if not means:
        assert answer is None
        return
    assert answer is not None
    better = min if kind == "lowest" else max
    best = better(means.values())
    assert answer.best.start == min(start for start, mean in means.items() if mean == best)
    assert abs(Fraction(answer.best.mean) - best) < Fraction(1, 1000)
    assert answer.blocks == len(means)
    sign = 1 if kind == "lowest" else -1
    assert answer.now.rank == 1 + sum(sign * mean < sign * means[START] for mean in means.values())
    spans = [(b.start, b.end) for b in (answer.best, *answer.alternatives)]
    assert all(a[1] <= b[0] or b[1] <= a[0] for i, a in enumerate(spans) for b in spans[:i])
