"""Histories of one series around an instant, and the reading of each."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from warehouse.figures.context import Reading, read_at
from warehouse.figures.window_stats import SeriesHistory

HOUR, DAY = 3600, 86400
NOW = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
START = NOW - 720 * HOUR


def history(rows, tz="UTC") -> SeriesHistory:
    """`rows` are (start, seconds, value); None: no row."""
    rows = [row for row in rows if row[2] is not None]
    return SeriesHistory(
        np.array([r[0] for r in rows], np.int64),
        np.array([r[1] for r in rows], np.int64),
        np.array([r[2] for r in rows], np.float64),
        tz,
    )


def hourly(values, now, extra=(), seconds=HOUR) -> SeriesHistory:
    """720 hourly values up to NOW (None: no row), the current row, and further ones."""
    rows = [(START + i * HOUR, HOUR, v) for i, v in enumerate(values)]
    return history([*rows, (NOW, seconds, now), *extra])


def read(one: SeriesHistory, as_of: int = NOW + 60) -> Reading:
    reading = read_at(one, as_of)
    assert reading is not None
    return reading
