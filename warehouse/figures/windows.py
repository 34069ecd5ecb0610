"""The arithmetic of `/v1/windows`, method `windows/1`: the best block of known future intervals. No files, no clock.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. Nothing is
forecast: only intervals whose value is published take part, and no block spans an interval that is missing.
docs/windows.md gives the rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Literal, NamedTuple

METHOD = "windows/1"
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
class Now:
    """How the block that starts with the running interval compares."""

    in_best: bool
    """Whether the present lies inside the best block."""
    rank: int
    """Of the block that starts with the running interval."""


@dataclass(frozen=True, slots=True)
class Search:
    """The answer to one question over one horizon."""

    start: int
    """The start of the first interval of the horizon: the one that is running."""
    until: int
    """The end of its last interval before the first gap or the end of what was asked for."""
    mean: float
    blocks: int
    """How many blocks were ranked."""
    best: Block
    alternatives: tuple[Block, ...]
    """The next best that overlap neither the best block nor each other, best first."""
    now: Now


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


def search(known: Sequence[Interval], now: int, seconds: int, kind: Kind) -> Search | None:
    """The best block of `seconds` within a horizon (of `horizon`); None where no block of that length fits.

    Blocks start where an interval starts. Among equal means the earliest is the best.
    """
    if not known:
        return None
    exact = _exact(known)
    start, until = known[0].start, known[-1].end
    candidates = [
        _candidate(exact, index, begin, begin + seconds)
        for index, begin in enumerate(exact.starts)
        if begin + seconds <= until
    ]
    if not candidates:
        return None
    sign = 1 if kind == "lowest" else -1
    order = sorted(candidates, key=lambda block: (sign * block.total, block.start))
    ranks = _ranks(order)
    whole = Fraction(exact.sums[-1], exact.scale * (until - start))
    best, *rest = (_block(block, ranks[block.total], whole, exact.scale) for block in _apart(order))
    running = candidates[0]
    return Search(
        start,
        until,
        _rounded(whole, 4),
        len(order),
        best,
        tuple(rest),
        Now(best.start <= now < best.end, ranks[running.total]),
    )


def _exact(known: Sequence[Interval]) -> _Exact:
    decimals = [Decimal(repr(interval.value)) for interval in known]
    scale = 10 ** max(0, *(-int(value.as_tuple().exponent) for value in decimals))
    values = [int(value * scale) for value in decimals]
    areas = (value * (interval.end - interval.start) for value, interval in zip(values, known, strict=True))
    return _Exact([interval.start for interval in known], values, list(accumulate(areas, initial=0)), scale)


def _candidate(exact: _Exact, index: int, start: int, end: int) -> _Candidate:
    """The block from interval `index` to `end`, which may lie inside an interval."""
    last = bisect_right(exact.starts, end - 1) - 1
    total = exact.sums[last] + exact.values[last] * (end - exact.starts[last]) - exact.sums[index]
    touched = exact.values[index : last + 1]
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


def _block(block: _Candidate, rank: int, whole: Fraction, scale: int) -> Block:
    mean = Fraction(block.total, scale * (block.end - block.start))
    pct = _rounded(100 * (mean - whole) / whole, 1) if whole > 0 else None
    return Block(block.start, block.end, _rounded(mean, 4), block.low / scale, block.high / scale, rank, pct)


def _rounded(value: Fraction, digits: int) -> float:
    """Half to even; what is published. Never -0.0."""
    return float(round(value, digits)) + 0.0
