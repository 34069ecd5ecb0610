"""Market days cut into the blocks that one request may ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from warehouse.clock import MarketDay


def blocks(days: Sequence[MarketDay], longest: int) -> Iterator[list[MarketDay]]:
    """Runs of days that follow each other, ascending, each at most `longest` days."""
    block: list[MarketDay] = []
    for day in sorted(set(days)):
        if block and (len(block) == longest or day.day != block[-1].day + timedelta(days=1)):
            yield block
            block = []
        block.append(day)
    if block:
        yield block


def months_of(days: Sequence[MarketDay]) -> dict[tuple[int, int], tuple[date, ...]]:
    """The days by the (year, month) they lie in, ascending: what monthly files are asked for."""
    found: dict[tuple[int, int], tuple[date, ...]] = {}
    for day in sorted({d.day for d in days}):
        found[day.year, day.month] = (*found.get((day.year, day.month), ()), day)
    return found
