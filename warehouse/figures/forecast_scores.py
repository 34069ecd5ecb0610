"""Score a publisher's forecasts against actual values by lead, from versions. No files, no clock.

docs/publishers.md gives the definitions; `assets.documents.scores` reads the data.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np

from warehouse.errors import BadWindow
from warehouse.market.clock import HOUR, Window, local_date, local_instant, zone_of
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Floats, Ints, Versions
from warehouse.series.row_columns import RowColumns

LEADS = tuple(hours * HOUR for hours in (1, 6, 12, 24, 48))
"""Seconds ahead at which forecasts are scored."""
LEAST = 100
"""Minimum number of intervals for a score."""


def means(actual: RowColumns, ts: Ints, step: int) -> Floats:
    """Return the time-weighted mean of actual values in each interval of `step` seconds; NaN unless they fill it."""
    starts, place_of = np.unique(ts, return_inverse=True)
    if not len(starts):
        return np.empty(0, np.float64)
    place, seconds = np.searchsorted(starts, actual.ts, side="right") - 1, actual.seconds()
    inside = (place >= 0) & (actual.ts + seconds <= starts[place] + step)
    place, seconds, value = place[inside], seconds[inside], actual.value[inside]
    filled = np.bincount(place, seconds, len(starts)) == step
    of_start = np.where(filled, np.bincount(place, value * seconds, len(starts)) / step, np.nan)
    return np.asarray(of_start[place_of], np.float64)


def score(
    versions: Versions, actual: RowColumns, lead_s: int, window: Window, tz: str, relative: bool
) -> dict[str, int | float | None]:
    """Return the scores of a feed's forecasts: in each interval, the newest vintage at least `lead_s` seconds old.

    The intervals are those of the window in the newest row's resolution. `actual` are the served values. If `relative`,
    errors are also given as a share of them. Scores are None below LEAST intervals.
    """
    step = _step(versions)
    picked, came = _pairs(versions, actual, lead_s, window)
    grid = np.arange(-(-window.start // step) * step, window.end, step, dtype=np.int64)
    naive = means(actual, naive_starts(picked, tz), step)
    enough = len(picked) >= LEAST
    intervals = int((~np.isnan(means(actual, grid, step))).sum())
    figures = figures_of(picked.value, came, naive, relative) if enough else dict.fromkeys(_FIGURES)
    coverage = round(len(picked) / intervals, 4) if enough else None
    return {"lead_s": lead_s, "n": len(picked), "coverage": coverage, **figures}


def mae(versions: Versions, actual: RowColumns, lead_s: int, window: Window) -> float | None:
    """Return only the mean absolute error, as in `score`; None below LEAST intervals."""
    picked, came = _pairs(versions, actual, lead_s, window)
    return _rounded(np.abs(picked.value - came).mean()) if len(picked) >= LEAST else None


def _step(versions: Versions) -> int:
    """Return the length of the newest row's interval in seconds."""
    return int(versions.seconds()[versions.ts.argmax()])


def _pairs(versions: Versions, actual: RowColumns, lead_s: int, window: Window) -> tuple[Versions, Floats]:
    """Return the scored forecasts and the actual values."""
    step = _step(versions)
    picked = Pick(lead_s=lead_s).choose(versions, {label.feed: 1 for label in versions.labels})
    picked = picked.take((picked.ts >= window.start) & (picked.ts < window.end) & (picked.seconds() == step))
    came = means(actual, picked.ts, step)
    known = ~np.isnan(came)
    return picked.take(known), came[known]


_FIGURES = ("bias", "mae", "rmse", "wape", "skill")


def figures_of(forecast: Floats, came: Floats, naive: Floats, relative: bool) -> dict[str, Any]:
    """Return bias, errors and skill of forecasts of the same intervals. Only `naive` may contain NaN."""
    error = forecast - came
    both = ~np.isnan(naive)
    naive_mae = float(np.abs(naive - came)[both].mean()) if both.any() else 0.0
    total = float(np.abs(came).sum())
    return {
        "bias": _rounded(error.mean()),
        "mae": _rounded(np.abs(error).mean()),
        "rmse": _rounded(np.sqrt((error**2).mean())),
        "wape": _rounded(100 * np.abs(error).sum() / total) if relative and total else None,
        "skill": _rounded(1 - np.abs(error)[both].mean() / naive_mae) if naive_mae else None,
    }


def naive_starts(picked: Versions, tz: str) -> Ints:
    """Return the start of the same civil hour on the last complete day before each forecast's publication.

    If the clocks skip that hour, the start is 0, which has no actual value.
    """
    starts = []
    for ts, published in zip(picked.ts.tolist(), picked.published_at.tolist(), strict=True):
        clock = datetime.fromtimestamp(ts, zone_of(tz)).time()
        day = local_date(published, tz) - timedelta(days=1)
        try:
            starts.append(local_instant(datetime.combine(day, clock.replace(fold=0)), tz))
        except BadWindow:
            starts.append(0)
    return np.array(starts, np.int64)


def _rounded(value: float) -> float:
    return round(float(value), 4) + 0.0
