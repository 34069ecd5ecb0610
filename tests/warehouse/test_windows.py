"""The best block and slots of a known horizon, worked out by hand; `test_horizon` tries all of them."""

from __future__ import annotations

from warehouse.figures.windows import Block, Interval, Search, Slots, best_block, best_slots, horizon
from warehouse.market.clock import HOUR, instant

QUARTER = 900
START = instant("2026-10-24T22:00:00Z")
"""Midnight in Brussels before the clocks go back: the market day has 25 hours."""


def hourly(*values: float, start: int = START, step: int = HOUR) -> list[Interval]:
    return [Interval(start + n * step, start + (n + 1) * step, value) for n, value in enumerate(values)]


def block(found: Search | None) -> tuple[Search, Block]:
    assert found is not None
    assert isinstance(found.best, Block)
    return found, found.best


def test_the_cheapest_block_and_the_next_ones_apart() -> None:
    answer, best = block(best_block(hourly(5, 1, 2, 9, 3, 3, 8, 1, 4), START, 2 * HOUR, "lowest"))
    assert best == Block(START + HOUR, START + 3 * HOUR, 1.5, 1, 2, 1, -62.5)
    assert [((b.start - START) // HOUR, b.rank) for b in answer.alternatives] == [(7, 2), (4, 3)]
    assert (answer.blocks, answer.mean, answer.exact) == (8, 4, 1.5)


def test_tenths_tie_exactly() -> None:
    """0.1 + 0.2 is 0.3 here."""
    answer, best = block(best_block(hourly(0.3, 0.0, 9, 0.1, 0.2), START, 2 * HOUR, "lowest"))
    assert best.start == START
    assert answer.alternatives[0].rank == 1


def test_no_block_spans_what_lies_apart() -> None:
    known = hourly(9, 1) + hourly(1, 5, 5, start=START + 3 * HOUR)
    answer, best = block(best_block(known, START, 2 * HOUR, "lowest"))
    assert (best.start, best.mean, answer.blocks) == (START + 3 * HOUR, 3, 3)
    assert best_block(known, START, 4 * HOUR, "lowest") is None


def test_a_horizon_begins_with_the_running_interval_and_ends_at_a_gap_or_where_it_was_asked_to() -> None:
    known = hourly(1, 2, 3) + hourly(1, 1, start=START + 4 * HOUR)
    assert [i.value for i in horizon(known, START + HOUR, START + 99 * HOUR)] == [2, 3]
    assert horizon(known, START - 1, START + 99 * HOUR) == []
    assert horizon(known, START + 3 * HOUR, START + 99 * HOUR) == []
    assert [i.end - START for i in horizon(known, START, START + HOUR + QUARTER)] == [HOUR, HOUR + QUARTER]


def test_slots_are_the_best_intervals_in_order_of_time() -> None:
    """A quarter hour weighs a quarter of an hour; of equal ones the earliest is taken."""
    known = [*hourly(8, 3, 3, 4, step=QUARTER), *hourly(2, 3, start=START + HOUR)]
    found = best_slots(known, START, 3, "lowest")
    assert found is not None
    assert isinstance(found.best, Slots)
    assert [(slot.start - START) // QUARTER for slot in found.best.slots] == [1, 2, 4]
    assert (found.best.mean, found.best.min, found.best.max) == (round((2 * 3 + 4 * 2) / 6, 4), 2, 3)
    assert (found.now.in_best, found.now.rank, found.blocks) == (False, 6, 6)
    assert best_slots(known, START, 7, "lowest") is None
