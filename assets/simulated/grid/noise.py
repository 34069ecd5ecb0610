"""Compute deterministic noise, continuous in time: smooth curves through random knots derived from a name.

A name and a time give the same value in every process. Nothing is stored between calls.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def smooth(name: str, ts: Ints, period: int) -> Floats:
    """Return values in -1..1 at times (Unix seconds), in the shape of `ts`. Knots are `period` seconds apart.

    Between two knots the curve is a smoothstep, so that it and its slope are continuous.
    """
    if not ts.size:
        return np.zeros(ts.shape)
    knot = ts // period
    first = int(knot.min())
    heights = _uniform(name, np.arange(first, int(knot.max()) + 2, dtype=np.int64))
    place = knot - first
    x = (ts - knot * period) / period
    x *= x * (3.0 - 2.0 * x)
    low = heights[place]
    return low + (heights[place + 1] - low) * x


def mixed(name: str, ts: Ints, *octaves: tuple[float, int]) -> Floats:
    """Return a sum of curves, each with a weight and a period in seconds."""
    total = np.zeros(ts.shape)
    for weight, period in octaves:
        total += weight * smooth(f"{name}/{period}", ts, period)
    return total


def _uniform(name: str, knots: Ints) -> Floats:
    """Return one value in -1..1 per knot number: SplitMix64 of the number and the name's hash."""
    x = knots.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(_seed(name))
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * (2.0 / (1 << 53)) - 1.0


@lru_cache(maxsize=4096)
def _seed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
