"""The arithmetic of `/v1/windows`, method `windows/1`: the best block of known future intervals. No files, no clock.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. Nothing is
forecast: only intervals whose value is published take part, and no block spans an interval that is missing.
docs/windows.md gives the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Literal

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
    rank: int | None
    """Of the block that starts with the running interval; None where that block is not whole."""


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


@dataclass(frozen=True, slots=True)
class _Candidate:
    start: int
    end: int
    mean: Fraction
    low: Decimal
    high: Decimal


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
    candidates = _candidates(known, seconds)
    if not candidates:
        return None
    sign = 1 if kind == "lowest" else -1
    order = sorted(candidates, key=lambda block: (sign * block.mean, block.start))
    total = _integral(known, known[0].start, known[-1].end)
    mean = total / (known[-1].end - known[0].start)
    ranks = _ranks(order)
    chosen = _apart(order)
    best, *rest = (_block(block, ranks[block.start], mean) for block in chosen)
    first = candidates[0]
    return Search(
        known[0].start,
        known[-1].end,
        _float(mean),
        len(order),
        best,
        tuple(rest),
        Now(best.start <= now < best.end, ranks[first.start] if first.start == known[0].start else None),
    )


def _candidates(known: Sequence[Interval], seconds: int) -> list[_Candidate]:
    """Every block that starts with an interval and is covered to its end, ascending."""
    blocks = []
    for index, interval in enumerate(known):
        end = interval.start + seconds
        if end > known[-1].end:
            break
        part = [other for other in known[index:] if other.start < end]
        values = [_decimal(other.value) for other in part]
        mean = _integral(part, interval.start, end) / seconds
        blocks.append(_Candidate(interval.start, end, mean, min(values), max(values)))
    return blocks


def _integral(known: Sequence[Interval], start: int, end: int) -> Fraction:
    """The sum of value times seconds over `[start, end)`."""
    return sum(
        (Fraction(_decimal(i.value)) * (min(i.end, end) - max(i.start, start)) for i in known if i.start < end),
        Fraction(0),
    )


def _ranks(order: Sequence[_Candidate]) -> dict[int, int]:
    """By start: 1 + how many stand before the first of equal mean."""
    ranks: dict[int, int] = {}
    rank = 1
    for place, block in enumerate(order, 1):
        if place > 1 and block.mean != order[place - 2].mean:
            rank = place
        ranks[block.start] = rank
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


def _block(block: _Candidate, rank: int, mean: Fraction) -> Block:
    pct = float(round(100 * (block.mean - mean) / mean, 1)) + 0.0 if mean > 0 else None
    return Block(block.start, block.end, _float(block.mean), float(block.low), float(block.high), rank, pct)


def _decimal(value: float) -> Decimal:
    """The number that JSON states."""
    return Decimal(repr(value))


def _float(value: Fraction) -> float:
    """Rounded to 4 decimals, half to even: what is published."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return float(exact.quantize(Decimal("0.0001"), ROUND_HALF_EVEN)) + 0.0
