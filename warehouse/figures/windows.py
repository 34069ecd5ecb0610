"""The arithmetic of `/v1/windows`, method `windows/2`: the best block or slots of known future intervals. No files.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. Only intervals
whose value is published take part, and no block spans an interval that is missing. docs/windows.md gives the rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Literal, NamedTuple

from warehouse.market.clock import Window

METHOD = "windows/2"
ALTERNATIVES = 3
"""How many blocks are given beside the best one."""

Kind = Literal["lowest", "highest"]


@dataclass(frozen=True, slots=True)
class Interval:
    """One known interval `[start, end)`, Unix seconds UTC, and its value."""

    start: int
    end: int
    value: float


@dataclass(frozen=True, slots=True)
class Block:
    """One run of whole and part intervals `[start, end)` without a gap. `mean` is weighted by time."""

    start: int
    end: int
    mean: float
    min: float
    max: float
    rank: int
    """1 + the number of blocks that are strictly better; blocks of equal mean share a rank."""
    vs_horizon_mean_pct: float | None
    """Percent of the horizon's mean, signed by it; None where that mean is not above zero."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The best whole intervals, in order of time, next to each other or not. `mean` is weighted by time."""

    slots: tuple[Interval, ...]
    mean: float
    min: float
    max: float
    vs_horizon_mean_pct: float | None
    """Percent of the horizon's mean, signed by it; None where that mean is not above zero."""


@dataclass(frozen=True, slots=True)
class Now:
    """How the running interval compares."""

    in_best: bool
    """Whether its start lies inside the best block, or it is one of the best slots."""
    rank: int | None
    """Of the block that starts with it, or of itself among the slots; None where it takes no part."""


@dataclass(frozen=True, slots=True)
class Search:
    """The answer to one question over one horizon."""

    mean: float
    """Of all that was searched."""
    blocks: int
    """How many blocks were ranked, or slots."""
    best: Block | Slots
    alternatives: tuple[Block, ...]
    """The next best blocks that overlap neither the best one nor each other, best first."""
    now: Now
    exact: Fraction
    """The mean of the best, not rounded."""


class _Candidate(NamedTuple):
    """One block before it is ranked."""

    start: int
    end: int
    total: int
    """The sum of value times seconds, in the horizon's smallest unit: blocks of one length compare by it."""
    low: int
    high: int


class _Exact(NamedTuple):
    """A horizon's values as whole numbers of `1 / scale`, and the sums of value times seconds before each interval."""

    starts: list[int]
    values: list[int]
    sums: list[int]
    scale: int
    mean: Fraction
    """Weighted by time, in the unit of the values."""


def horizon(intervals: Sequence[Interval], now: int, until: int) -> list[Interval]:
    """The known intervals from the running one to `until`, ascending, cut at the first gap; empty where none runs.

    `intervals` ascend and do not overlap. An interval that reaches past `until` is cut there.
    """
    known: list[Interval] = []
    for interval in intervals:
        if interval.end <= now:
            continue
        if interval.start > (known[-1].end if known else now) or interval.start >= until:
            break
        known.append(Interval(interval.start, min(interval.end, until), interval.value))
    return known


def clip(known: Sequence[Interval], spans: Sequence[Window]) -> list[Interval]:
    """The parts of known intervals that lie inside spans, ascending. Spans ascend and do not overlap."""
    return [
        Interval(max(interval.start, span.start), min(interval.end, span.end), interval.value)
        for span in spans
        for interval in known
        if interval.start < span.end and span.start < interval.end
    ]


def best_block(known: Sequence[Interval], now: int, seconds: int, kind: Kind) -> Search | None:
    """The best block of `seconds` within known intervals; None where no block of that length fits.

    `known` ascend and may lie apart; no block spans what is between. Blocks start where an interval starts. Among equal
    means the earliest is the best. `now`: the start of the running interval.
    """
    if not known:
        return None
    exact = _exact(known)
    reach = _reach(known)
    candidates = [
        _candidate(exact, place, begin, begin + seconds)
        for place, begin in enumerate(exact.starts)
        if begin + seconds <= reach[place]
    ]
    if not candidates:
        return None
    sign = 1 if kind == "lowest" else -1
    order = sorted(candidates, key=lambda block: (sign * block.total, block.start))
    ranks = _ranks(order)
    best, *rest = (_block(block, ranks[block.total], exact) for block in _apart(order))
    running = ranks[candidates[0].total] if candidates[0].start == now else None
    return Search(
        rounded(exact.mean, 4),
        len(order),
        best,
        tuple(rest),
        Now(best.start <= now < best.end, running),
        Fraction(order[0].total, exact.scale * seconds),
    )


def best_slots(known: Sequence[Interval], now: int, count: int, kind: Kind) -> Search | None:
    """The `count` best of known intervals, ascending; None where there are fewer. Among equal ones the earliest."""
    if len(known) < count:
        return None
    exact = _exact(known)
    sign = 1 if kind == "lowest" else -1
    chosen = sorted(sorted(range(len(known)), key=lambda place: (sign * exact.values[place], place))[:count])
    values = [exact.values[place] for place in chosen]
    slots = tuple(known[place] for place in chosen)
    area = sum(value * (slot.end - slot.start) for value, slot in zip(values, slots, strict=True))
    mean = Fraction(area, exact.scale * sum(slot.end - slot.start for slot in slots))
    low, high = min(values) / exact.scale, max(values) / exact.scale
    running = 1 + sum(sign * value < sign * exact.values[0] for value in exact.values)
    return Search(
        rounded(exact.mean, 4),
        len(known),
        Slots(slots, rounded(mean, 4), low, high, _percent(mean, exact.mean)),
        (),
        Now(slots[0].start == now, running if known[0].start == now else None),
        mean,
    )


def _exact(known: Sequence[Interval]) -> _Exact:
    decimals = [Decimal(repr(interval.value)) for interval in known]
    scale = 10 ** max(0, *(-int(value.as_tuple().exponent) for value in decimals))
    values = [int(value * scale) for value in decimals]
    lengths = [interval.end - interval.start for interval in known]
    sums = list(accumulate((value * length for value, length in zip(values, lengths, strict=True)), initial=0))
    return _Exact([interval.start for interval in known], values, sums, scale, Fraction(sums[-1], scale * sum(lengths)))


def _reach(known: Sequence[Interval]) -> list[int]:
    """Of each interval, until when the known time goes on without a gap."""
    reach = [interval.end for interval in known]
    for place in range(len(known) - 2, -1, -1):
        if known[place + 1].start == known[place].end:
            reach[place] = reach[place + 1]
    return reach


def _candidate(exact: _Exact, place: int, start: int, end: int) -> _Candidate:
    """The block from the interval at `place` to `end`, which may lie inside an interval."""
    last = bisect_right(exact.starts, end - 1) - 1
    total = exact.sums[last] + exact.values[last] * (end - exact.starts[last]) - exact.sums[place]
    touched = exact.values[place : last + 1]
    return _Candidate(start, end, total, min(touched), max(touched))


def _ranks(order: Sequence[_Candidate]) -> dict[int, int]:
    """By total: 1 + how many stand before the first that has it."""
    ranks: dict[int, int] = {}
    for place, block in enumerate(order, 1):
        ranks.setdefault(block.total, place)
    return ranks


def _apart(order: Sequence[_Candidate]) -> list[_Candidate]:
    """The best block, then the next best that overlap none chosen before."""
    chosen: list[_Candidate] = []
    for block in order:
        if all(block.end <= other.start or other.end <= block.start for other in chosen):
            chosen.append(block)
            if len(chosen) == 1 + ALTERNATIVES:
                break
    return chosen


def _block(block: _Candidate, rank: int, exact: _Exact) -> Block:
    mean = Fraction(block.total, exact.scale * (block.end - block.start))
    low, high = block.low / exact.scale, block.high / exact.scale
    return Block(block.start, block.end, rounded(mean, 4), low, high, rank, _percent(mean, exact.mean))


def _percent(mean: Fraction, whole: Fraction) -> float | None:
    """How far a mean lies from the horizon's, signed by it; None where that is not above zero."""
    return rounded(100 * (mean - whole) / whole, 1) if whole > 0 else None


def rounded(value: Fraction, digits: int) -> float:
    """Half to even; what is published. Never -0.0."""
    return float(round(value, digits)) + 0.0
