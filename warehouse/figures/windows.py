"""The arithmetic of `/v1/windows`, method `windows/2`: the best block or slots of known future intervals. No files.

Every comparison is made on exact numbers: seconds as integers, values as the decimals that JSON states. Only intervals
whose value is published take part, and no block spans an interval that is missing. docs/windows.md gives the rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal, NamedTuple

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


class Best(NamedTuple):
    """The best block, or the best slots, of one horizon."""

    members: dict[str, Any]
    """As the API answers (docs/windows.md): of a block `start`, `end`, `mean`, `min`, `max`, `rank` (1 + the number of
    blocks that are strictly better) and `vs_horizon_mean_pct`; of slots themselves in order of time, and the same
    without `rank`. Behind these `now` (`in_best`: whether the running interval's start lies inside; `rank` of the block
    that starts with it, or of itself among the slots, None where it takes no part), `mean_of_horizon`, and of a block
    `blocks`, how many were ranked, and `alternatives`, the next best that overlap neither it nor each other."""
    exact: Fraction
    """The mean of the best, weighted by time and not rounded."""


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


def best_block(known: Sequence[Interval], now: int, seconds: int, kind: Kind) -> Best | None:
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
    members = {
        **best,
        "now": {"in_best": order[0].start <= now < order[0].end, "rank": running},
        "mean_of_horizon": rounded(exact.mean, 4),
        "blocks": len(order),
        "alternatives": rest,
    }
    return Best(members, Fraction(order[0].total, exact.scale * seconds))


def best_slots(known: Sequence[Interval], now: int, count: int, kind: Kind) -> Best | None:
    """The `count` best of known intervals, ascending; None where there are fewer. Among equal ones the earliest."""
    if len(known) < count:
        return None
    exact = _exact(known)
    sign = 1 if kind == "lowest" else -1
    chosen = sorted(sorted(range(len(known)), key=lambda place: (sign * exact.values[place], place))[:count])
    values = [exact.values[place] for place in chosen]
    slots = [known[place] for place in chosen]
    area = sum(value * (slot.end - slot.start) for value, slot in zip(values, slots, strict=True))
    mean = Fraction(area, exact.scale * sum(slot.end - slot.start for slot in slots))
    running = 1 + sum(sign * value < sign * exact.values[0] for value in exact.values)
    members = {
        "slots": [asdict(slot) for slot in slots],
        **_means(mean, min(values), max(values), exact),
        "now": {"in_best": slots[0].start == now, "rank": running if known[0].start == now else None},
        "mean_of_horizon": rounded(exact.mean, 4),
    }
    return Best(members, mean)


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


def _block(block: _Candidate, rank: int, exact: _Exact) -> dict[str, Any]:
    mean = Fraction(block.total, exact.scale * (block.end - block.start))
    return {"start": block.start, "end": block.end, "rank": rank, **_means(mean, block.low, block.high, exact)}


def _means(mean: Fraction, low: int, high: int, exact: _Exact) -> dict[str, float | None]:
    """Of a block or slots, and how far their mean lies from the horizon's; None where that is not above zero."""
    away = rounded(100 * (mean - exact.mean) / exact.mean, 1) if exact.mean > 0 else None
    low_and_high = {"min": low / exact.scale, "max": high / exact.scale}
    return {"mean": rounded(mean, 4), **low_and_high, "vs_horizon_mean_pct": away}


def rounded(value: Fraction, digits: int) -> float:
    """Half to even; what is published. Never -0.0."""
    return float(round(value, digits)) + 0.0
