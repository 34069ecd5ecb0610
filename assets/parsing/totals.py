"""Sums that are written only where all their parts are there: a zone's demand, a zone's net."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum
from typing import NamedTuple

DIGITS = 6
"""Decimals of a sum: finer than any publisher prints, coarser than what adding floats leaves behind."""


class Total(NamedTuple):
    """The sums by instant, ascending, and how many instants have none."""

    ts: list[int]
    values: list[float]
    incomplete: int
    """Instants at which a part is missing."""
    conflicting: int
    """Instants at which a part is stated twice with different values."""


def total(parts: Iterable[tuple[Sequence[int], Sequence[float]]]) -> Total:
    """The sums of parts given as columns of instants and values. No parts, no sums."""
    columns = list(parts)
    if columns and _alike([ts for ts, _ in columns]):
        return Total(
            [*columns[0][0]], [summed(values) for values in zip(*(values for _, values in columns), strict=True)], 0, 0
        )
    known = [undisputed(*part) for part in columns]
    if not known:
        return Total([], [], 0, 0)
    stated = {ts for column, _ in columns for ts in column}
    torn = {
        ts
        for (column, _), part in zip(columns, known, strict=True)
        if len(part) < len(column)
        for ts in column
        if ts not in part
    }
    whole = sorted(set(known[0]).intersection(*known[1:]))
    return Total(
        whole, [summed(part[ts] for part in known) for ts in whole], len(stated) - len(whole) - len(torn), len(torn)
    )


def _alike(stamps: Sequence[Sequence[int]]) -> bool:
    """Whether all parts have the same instants, each once and ascending: the common case, and five times as fast."""
    first = stamps[0]
    return all(ts == first for ts in stamps[1:]) and all(a < b for a, b in pairwise(first))


def undisputed(ts: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    """Value by instant, without the instants that are stated with two values."""
    part = dict(zip(ts, values, strict=True))
    if len(part) < len(ts):
        for at in {at for at, value in zip(ts, values, strict=True) if part[at] != value}:
            del part[at]
    return part


def summed(values: Iterable[float]) -> float:
    """The sum, rounded to hide float error."""
    return round(fsum(values), DIGITS)
