"""Recompute the statistics of every series from the rows that the API serves, and report differences.

    python tests/independent/series_statistics.py http://127.0.0.1:8000 emds_yourkey [ZONE ...]

The script implements docs/statistics.md a second time and weights values by whole seconds of covered time. It uses only
the standard library and no code of this project. A zone takes about ten requests of a key's daily quota. The exit code
is 0 if everything is equal, otherwise 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from service import SECONDS, get, rows_of

HOUR = 3600
WINDOW = 3 * 24 * HOUR - 1000
PATHS = ("price", "demand", "interchange", "carbon-intensity", "generation")
ABOVE, BELOW = 40, 0
TOLERANCE = Fraction(1, 10**6)
"""The largest accepted difference, because values are published with six decimals."""


class Part(NamedTuple):
    """The part of the window that a row covers, with its value during `[begin, until)`."""

    ts: int
    begin: int
    until: int
    value: Fraction


def parts_of(rows: list[dict[str, Any]], end: int) -> list[Part]:
    return [
        Part(row["ts"], row["ts"], min(row["ts"] + SECONDS[row["resolution"]], end), Fraction(row["value"]))
        for row in rows
    ]


def quantile(parts: list[Part], tenths: int) -> Fraction:
    """Return the least value such that at least `tenths` tenths of the covered time are at or below it."""
    covered = sum(part.until - part.begin for part in parts)
    at_or_below = 0
    for part in sorted(parts, key=lambda part: part.value):
        at_or_below += part.until - part.begin
        if 10 * at_or_below >= tenths * covered:
            return part.value
    raise AssertionError("some value is the greatest")


def beyond(parts: list[Part], threshold: int, is_beyond: Callable[[Fraction], bool]) -> dict[str, Any]:
    """Return the hours, rows and runs beyond `threshold`."""
    found = [part for part in parts if is_beyond(part.value)]
    runs: list[list[int]] = []
    for part in found:
        if runs and runs[-1][1] == part.begin:
            runs[-1][1] = part.until
        else:
            runs.append([part.begin, part.until])
    return {
        "threshold": threshold,
        "hours": Fraction(sum(part.until - part.begin for part in found), HOUR),
        "intervals": len(found),
        "spans": len(runs),
        "first": [{"start": begin, "end": until} for begin, until in runs[:10]],
    }


def statistics(parts: list[Part], start: int, end: int) -> dict[str, Any]:
    """Return the statistics that docs/statistics.md defines for these parts."""
    covered = sum(part.until - part.begin for part in parts)
    mean = sum(((p.until - p.begin) * p.value for p in parts), Fraction(0)) / covered
    variance = sum(((p.until - p.begin) * (p.value - mean) ** 2 for p in parts), Fraction(0)) / covered
    low, high = min(part.value for part in parts), max(part.value for part in parts)
    return {
        "count": len(parts),
        "coverage": Fraction(covered, end - start),
        "mean": mean,
        "std": Fraction(math.sqrt(variance)),
        "min": low,
        "min_ts": min(part.ts for part in parts if part.value == low),
        "max": high,
        "max_ts": min(part.ts for part in parts if part.value == high),
        "p10": quantile(parts, 1),
        "p50": quantile(parts, 5),
        "p90": quantile(parts, 9),
        "above": beyond(parts, ABOVE, lambda value: value > ABOVE),
        "below": beyond(parts, BELOW, lambda value: value < BELOW),
    }


def differences(published: Any, computed: Any, name: str = "") -> list[str]:
    """Return a line for each field that differs. Numbers may differ by TOLERANCE."""
    if isinstance(computed, dict) and isinstance(published, dict):
        names = sorted({*published, *computed})
        return [line for n in names for line in differences(published.get(n), computed.get(n), f"{name}.{n}")]
    if isinstance(computed, Fraction) and published is not None:
        equal = abs(published - computed) <= TOLERANCE
    else:
        equal = published == computed
    return [] if equal else [f"{name[1:]}: published {published}, computed {computed}"]


def compared(base: str, key: str, path: str, start: int, end: int) -> list[str] | None:
    """Return the differences between the statistics of a path and its rows, or None if the path has neither."""
    answer = get(base, key, path, start=start, end=end, stats="true", above=ABOVE, below=BELOW)
    if answer is None:
        return None
    rows = rows_of(base, key, path, start, end)
    by_fuel: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_fuel.setdefault(row.get("fuel", ""), []).append(row)
    computed = {fuel: statistics(parts_of(members, end), start, end) for fuel, members in by_fuel.items()}
    published = answer["fuels"] if "fuels" in answer else {"": answer["statistics"]}
    return differences({fuel: part for fuel, part in published.items() if part is not None}, computed)


def main() -> int:
    """Compare the named zones, or all, print the differences and return the exit code."""
    base, key, *zones = sys.argv[1:]
    zones = zones or [zone["id"] for zone in get(base, key, "/v1/zones")["zones"]]
    end = get(base, key, "/v1/demand/GB", stats="true")["end"] - 700
    equal = failed = 0
    for path in (f"/v1/{metric}/{zone}" for zone in zones for metric in PATHS):
        wrong = compared(base, key, path, end - WINDOW, end)
        if wrong is None:
            continue
        failed += bool(wrong)
        equal += not wrong
        for line in wrong:
            sys.stdout.write(f"{path} {line}\n")
    sys.stdout.write(f"{equal} equal, {failed} different\n")
    return 1 if failed or not equal else 0


if __name__ == "__main__":
    sys.exit(main())
