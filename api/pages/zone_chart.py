"""Draw the chart in a zone's image, two days of hours and the known future hours, as SVG paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from api.documents.zone_figure import Hours, ZoneFigure, number
from warehouse.market.clock import DAY, HOUR, utc

LEFT, RIGHT, TOP, BOTTOM = 54, 466, 56, 144
"""The edges of the chart in the image, in pixels."""
_LABEL_S = 5 * HOUR
"""The time that the name of a day needs before the right edge."""
_LABEL_PX = 12
"""Levels that are closer than this share a label."""
Pairs = Sequence[tuple[int, int | None]]


@dataclass(frozen=True, slots=True)
class ZoneChart:
    """Paths and labels, in pixels of the image."""

    line: str
    ahead_line: str
    grid: str
    now: float
    ahead_width: float
    """The width of the part after `now`."""
    levels: tuple[tuple[float, str], ...]
    days: tuple[tuple[float, str], ...]


def draw(figure: ZoneFigure) -> ZoneChart | None:
    """Return the chart of `figure`, None if fewer than two hours are known."""
    hour = figure.now - figure.now % HOUR
    actual = _known(figure.hours, hour - 2 * DAY + HOUR)
    beyond = _known(figure.ahead, hour + HOUR)
    values = [value for _, value in (*actual, *beyond) if value is not None]
    if len(values) < 2:
        return None
    start, end = hour - 2 * DAY + HOUR, max(ts for ts, _ in (*actual, *beyond, (hour, 0))) + HOUR
    low, high = min(values), max(values)
    # Demand does not start at zero, because the chart shows its variation. A flat line is in the middle.
    bottom, top = (low, high) if high > low else (low - 1, high + 1)

    def x(ts: int) -> float:
        return round(LEFT + (ts - start) / (end - start) * (RIGHT - LEFT), 1)

    def y(value: float) -> float:
        return round(BOTTOM - 4 - (value - bottom) / (top - bottom) * (BOTTOM - TOP - 8), 1)

    def path(pairs: Pairs) -> str:
        runs = _runs(pairs)
        first = [f"M{x(run[0][0]):g} {y(run[0][1]):g}" for run in runs]
        steps = ["V".join(f"{y(value):g}H{x(ts + HOUR):g}" for ts, value in run) for run in runs]
        return "".join(f"{start}V{rest}" for start, rest in zip(first, steps, strict=True))

    levels = {low, high} | ({0} if low < 0 < high and min(y(low) - y(0), y(0) - y(high)) > _LABEL_PX else set())
    midnights = _midnights(start, end, figure.tz)
    grid = "".join(f"M{LEFT} {y(level):g}H{RIGHT}" for level in sorted(levels))
    grid += "".join(f"M{x(ts):g} {TOP}V{BOTTOM}" for ts in midnights)
    return ZoneChart(
        line=path(actual),
        ahead_line=path(beyond),
        grid=grid,
        now=x(figure.now),
        ahead_width=round(RIGHT - x(figure.now), 1),
        levels=tuple((y(level) + 4, number(level)) for level in sorted(levels)),
        days=tuple((x(ts), f"{utc(ts).astimezone(figure.tz):%a %-d}") for ts in midnights if ts < end - _LABEL_S),
    )


def _known(hours: Hours | None, start: int) -> Pairs:
    """Return the pairs from `start` (Unix seconds), without empty hours at the end."""
    pairs = [] if hours is None else hours.since(start)
    while pairs and pairs[-1][1] is None:
        pairs.pop()
    return pairs


def _runs(pairs: Pairs) -> list[list[tuple[int, int]]]:
    """Split a series at its gaps and return the parts."""
    grouped = groupby(pairs, key=lambda pair: pair[1] is not None)
    return [[(ts, value) for ts, value in run if value is not None] for is_known, run in grouped if is_known]


def _midnights(start: int, end: int, tz: ZoneInfo) -> list[int]:
    """Return the times at which a civil day begins. Offsets from UTC may include half an hour."""
    return [ts for ts in range(start + HOUR, end, HOUR // 2) if f"{utc(ts).astimezone(tz):%H:%M}" == "00:00"]
