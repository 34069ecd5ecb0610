"""Sum parts only if all of them are present: a zone's demand, a zone's net."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum
from typing import NamedTuple

from assets.parsing.columns import drop
from warehouse.rows.schema import Readings, Rows, SeriesKey

DIGITS = 6
"""The decimals of a sum: finer than publishers print, coarser than the error of adding floats."""


class Part(NamedTuple):
    """One part of a sum: its readings as columns of times and values."""

    ts: Sequence[int]
    values: Sequence[float]
    since: int = 0
    """The sum needs the part from this time on (Unix seconds), or from its first reading, whichever is earlier."""


def extend_net(rows: Rows, net: SeriesKey, ties: Iterable[tuple[str, str | None, int]]) -> None:
    """Add a zone's net to `rows`: the sum of its interconnectors' rows. `ties`: counterparty, link, start."""
    of_ties = [(net._replace(counterparty=area, link=link), since) for area, link, since in ties]
    readings = [(rows.readings.get(key, Readings([], [])), since) for key, since in of_ties]
    extend_total(rows, net, [Part(of_tie.ts, of_tie.values, since) for of_tie, since in readings])


class Total(NamedTuple):
    """The sums by time, ascending, and the number of times without a sum."""

    ts: list[int]
    values: list[float]
    incomplete: int
    """The number of times at which a part is missing."""
    conflicting: int
    """The number of times at which a part is stated twice with different values."""


def extend_total(rows: Rows, key: SeriesKey, parts: Iterable[Part]) -> None:
    """Add the sums of the parts under `key`, except at times that `rows` refuses. Count the times without a sum."""
    sums = total(parts)
    refused = rows.refused.get((key.zone, key.metric), set[int]())
    chosen = [(ts, value) for ts, value in zip(sums.ts, sums.values, strict=True) if ts not in refused]
    if chosen:
        rows.extend(key, [ts for ts, _ in chosen], [value for _, value in chosen])
    drop(rows, "sum without all its parts", sums.incomplete)
    drop(rows, "sum of contradicting parts", sums.conflicting)


def total(parts: Iterable[Part]) -> Total:
    """Return the sums of the parts. Without readings there are no sums."""
    summands = list(parts)
    last = max((max(part.ts) for part in summands if part.ts), default=0)
    needed = [part for part in summands if part.ts or part.since <= last]
    if needed and _alike([part.ts for part in needed]):
        return Total(
            [*needed[0].ts], [summed(values) for values in zip(*(p.values for p in needed), strict=True)], 0, 0
        )
    known = [(undisputed(p.ts, p.values), min([p.since, *p.ts])) for p in needed]
    instants = {ts for part in needed for ts in part.ts}
    torn = {
        ts for p, (part, _) in zip(needed, known, strict=True) if len(part) < len(p.ts) for ts in p.ts if ts not in part
    }
    whole = [ts for ts in sorted(instants) if all(ts in part or ts < begin for part, begin in known)]
    return Total(
        whole,
        [summed(part[ts] for part, _ in known if ts in part) for ts in whole],
        len(instants) - len(whole) - len(torn),
        len(torn),
    )


def _alike(stamps: Sequence[Sequence[int]]) -> bool:
    """Check whether all parts have the same times, unique and ascending. This common case is five times as fast."""
    first = stamps[0]
    return all(ts == first for ts in stamps[1:]) and all(a < b for a, b in pairwise(first))


def undisputed(ts: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    """Return the value by time, without the times that are stated with two values."""
    part = dict(zip(ts, values, strict=True))
    if len(part) < len(ts):
        for at in {at for at, value in zip(ts, values, strict=True) if part[at] != value}:
            del part[at]
    return part


def summed(values: Iterable[float]) -> float:
    """Return the sum, rounded to hide float error."""
    return round(fsum(values), DIGITS)
