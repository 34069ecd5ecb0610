"""Sums that are written only where all their parts are there (DESIGN.md section 3): a zone's demand, a zone's net."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    known: list[dict[int, float]] = []
    torn: set[int] = set()
    for ts, values in parts:
        part = dict(zip(ts, values, strict=True))
        if len(part) != len(ts):
            torn |= {at for at, value in zip(ts, values, strict=True) if part[at] != value}
        known.append(part)
    if not known:
        return Total([], [], 0, 0)
    stated = set().union(*known)
    whole = sorted(set(known[0]).intersection(*known[1:]) - torn)
    sums = [round(fsum(part[at] for part in known), DIGITS) for at in whole]
    return Total(whole, sums, len(stated) - len(whole) - len(torn), len(torn))
