"""Rounded means over fixed steps of UTC time: the recent history of a zone's metrics, fuels and borders.

A series of means is `{"start": ts, "step": seconds, "values": [...]}`: values from `start` on, one a step, null where
less than half of the step is covered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.documents.figures import Figure, ZoneFigures
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.metrics import FORECASTS, Metric
from warehouse.series.reader import MonthFileSide, Reader, RowColumns

SHORT_HOURS = 48
HOURLY_DAYS = 7
LONG_STEP = 6 * HOUR
LONG_DAYS = 30
_AHEAD = 2 * DAY
"""An auction reaches to the end of tomorrow; so much of a forecast is shown."""
_ROUNDED_TO = {"MW": 100, "gCO2/kWh": 10}
"""Rounding by unit; prices and shares in percent are rounded to 1."""

Means = dict[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def rounded(value: float, unit: str) -> int:
    """The nearest multiple of the unit's step, halves away from zero: -149.9 MW is -100."""
    step = _ROUNDED_TO.get(unit, 1)
    return int(math.copysign(math.floor(abs(value) / step + 0.5), value)) * step


def means(ts: Ints, seconds: Ints, values: Floats, window: Window, step: int, unit: str) -> Means:
    """Duration-weighted means of intervals no longer than `step`, rounded for their unit."""
    exact = _step_means(ts, seconds, values, window, step)
    return {"start": window.start, "step": step, "values": _rounded_values(exact, unit)}


def _step_means(ts: Ints, seconds: Ints, values: Floats, window: Window, step: int) -> Floats:
    """The exact means, NaN where less than half of a step is covered. The window is made of whole steps."""
    count = (window.end - window.start) // step
    ts, seconds, values = _within(ts, seconds, values, window)
    short = seconds <= step
    place, lengths = (ts[short] - window.start) // step, seconds[short]
    covered = np.bincount(place, lengths, count)
    sums = np.bincount(place, values[short] * lengths, count)
    exact: Floats = np.divide(sums, covered, out=np.full(count, np.nan), where=covered * 2 >= step)
    return exact


def _within(ts: Ints, seconds: Ints, values: Floats, window: Window) -> tuple[Ints, Ints, Floats]:
    """The rows with a value that start in a window. Of an interval given twice the later row counts."""
    inside = (ts >= window.start) & (ts < window.end) & np.isfinite(values)
    ts, seconds, values = ts[inside], seconds[inside], values[inside]
    _, last = np.unique(ts[::-1], return_index=True)
    chosen = len(ts) - 1 - last
    return ts[chosen], seconds[chosen], values[chosen]


def _rounded_values(exact: Floats, unit: str) -> list[int | None]:
    return [rounded(value, unit) if math.isfinite(value) else None for value in exact.tolist()]


def _percentiles(figure: Figure, rows: RowColumns, values: Floats) -> list[int | None]:
    """The percentile of each mean among the 30 days of the zone's current figure, as the brief ranks; else null."""
    context = figure.reading.context
    if context is None:
        return [None] * len(values)
    window = Window(context.window_start, context.window_end)
    _, seconds, known = _within(rows.ts, rows.seconds(), rows.value, window)
    order = np.argsort(known)
    ascending, weights = known[order], np.concatenate(([0], np.cumsum(seconds[order])))
    below, up_to = (weights[np.searchsorted(ascending, values, side)] for side in ("left", "right"))
    rank = np.clip((below + up_to + weights[-1] / 100) * 50 // weights[-1], 1, 99)  # rounded half up
    rank[up_to == 0], rank[below == weights[-1]] = 0, 100
    return [int(r) if math.isfinite(v) else None for r, v in zip(rank, values.tolist(), strict=True)]


def _back(now: int, hours: int, step: int, ahead: int = 0) -> Window:
    """So many hours up to the step that holds `now`, and `ahead` more seconds."""
    end = now - now % step + step
    return Window(end - hours * HOUR, end + ahead)


def hours(reader: Reader, catalogue: Mapping[str, Any], figures: ZoneFigures, now: int) -> dict[str, Any]:
    """Hourly means of each metric from `start` on: 48 hours, the running one last, and what is known ahead of it.

    Ahead lie the prices that an auction has fixed and, by metric and apart from it, what publishers expect. Each mean
    has its percentile; what is expected has none, for it is not ranked among readings.
    """
    window = _back(now, SHORT_HOURS, HOUR, _AHEAD)
    body: dict[str, Any] = {"start": window.start}
    for metric, figure in figures.figures.items():
        own = figures.histories[metric]
        exact = _step_means(own.ts, own.seconds(), own.value, window, HOUR)
        values = _rounded_values(exact, figure.unit)
        count = max(SHORT_HOURS, _known_steps(values))
        body[metric] = values[:count]
        body[f"{metric}_percentile"] = _percentiles(figure, own, exact[:count])
        expected = _expected(reader, catalogue, figures, metric, window)
        if expected is not None:
            body[f"{metric}_forecast"] = expected["values"][: _known_steps(expected["values"])]
    return body


def _expected(
    reader: Reader, catalogue: Mapping[str, Any], figures: ZoneFigures, metric: str, window: Window
) -> Means | None:
    """The newest forecast of a metric by its publisher, over a window; None where there is none."""
    forecast = f"{metric}_forecast"
    if forecast not in FORECASTS:
        return None
    rows = _open_rows(reader, catalogue, figures.zone["id"], forecast, "net", window)
    unit = figures.figures[metric].unit
    return means(rows.ts, rows.seconds(), rows.value, window, HOUR, unit) if len(rows) else None


def zone_history(
    reader: Reader, catalogue: Mapping[str, Any], figures: ZoneFigures, borders: RowColumns | None, now: int
) -> dict[str, Any]:
    """What the panel of a zone draws: metrics over 7 and 30 days, the mix and the borders over 48 hours."""
    metrics: dict[str, Any] = {}
    for metric, figure in figures.figures.items():
        own = figures.histories[metric]
        short, long = _back(now, HOURLY_DAYS * 24, HOUR, _AHEAD), _back(now, LONG_DAYS * 24, LONG_STEP)
        expected = _expected(reader, catalogue, figures, metric, short)
        metrics[metric] = {
            "unit": figure.unit,
            "hours": _trimmed(means(own.ts, own.seconds(), own.value, short, HOUR, figure.unit)),
            "days": _trimmed(means(own.ts, own.seconds(), own.value, long, LONG_STEP, figure.unit)),
            "forecast": None if expected is None else _trimmed(expected),
        }
    zone, mix = figures.zone["id"], None
    if Metric.GENERATION in catalogue["zones"][zone]["metrics"]:
        mix = _open_rows(reader, catalogue, zone, Metric.GENERATION, "net", _back(now, SHORT_HOURS, HOUR))
    return {"metrics": metrics, "mix": _parts(mix, "fuel", now), "borders": _parts(borders, "counterparty", now)}


def _known_steps(values: Sequence[int | None]) -> int:
    """How many steps there are up to the last known one."""
    return max((place + 1 for place, value in enumerate(values) if value is not None), default=0)


def _trimmed(history: Means) -> Means:
    """Without the steps before the first and after the last known one."""
    values = history["values"]
    known = [place for place, value in enumerate(values) if value is not None] or [0, -1]
    first, last = known[0], known[-1]
    return {**history, "start": history["start"] + first * history["step"], "values": values[first : last + 1]}


def border_rows(reader: Reader, catalogue: Mapping[str, Any], zone: str, now: int) -> RowColumns | None:
    """The border rows of the last 48 hours; None where the zone publishes no interchange."""
    if Metric.INTERCHANGE not in catalogue["zones"][zone]["metrics"]:
        return None
    return _open_rows(reader, catalogue, zone, Metric.INTERCHANGE, "borders", _back(now, SHORT_HOURS, HOUR))


def newest_flows(zone: str, borders: RowColumns | None, now: int) -> list[dict[str, Any]]:
    """The newest row of each border and tie of a zone, rounded: {zone, counterparty, link, mw, ts}, + = into it."""
    if borders is None:
        return []
    newest: dict[tuple[str, str | None], dict[str, Any]] = {}
    for code, ts, value in zip(borders.label.tolist(), borders.ts.tolist(), borders.value.tolist(), strict=True):
        if ts <= now:
            _, counterparty, link, *_ = borders.labels[code]
            flow = {"zone": zone, "counterparty": counterparty, "link": link, "mw": rounded(value, "MW"), "ts": ts}
            newest[str(counterparty), link] = flow
    return list(newest.values())


def _parts(rows: RowColumns | None, column: str, now: int) -> dict[str, Any] | None:
    """Hourly means over 48 hours by fuel or by border; None without rows.

    A border has its total where one is published, else its ties added, in the hours in which all of them have a value:
    one publisher's totals may end where another's ties begin.
    """
    if rows is None or not len(rows):
        return None
    window, unit = _back(now, SHORT_HOURS, HOUR), rows.labels[rows.label[0]].unit
    seconds = rows.seconds()
    names = [(getattr(label, column) or "", label.link or "") for label in rows.labels]
    rows_of: dict[str, dict[str, list[int | None]]] = {}
    for name, link in sorted({names[code] for code in np.unique(rows.label)}):
        own = np.array([each == (name, link) for each in names])[rows.label]
        steps = means(rows.ts[own], seconds[own], rows.value[own], window, HOUR, unit)["values"]
        rows_of.setdefault(name, {})[link] = steps
    parts = {name: _border(own) for name, own in rows_of.items()}
    return {"unit": unit, "start": window.start, "step": HOUR, "parts": parts}


def _border(rows_of: Mapping[str, list[int | None]]) -> list[int | None]:
    """The steps of one border, or fuel, from its rows by link; those without a link are its total."""
    ties = [steps for link, steps in rows_of.items() if link]
    added = [_sum(step) for step in zip(*ties, strict=True)]
    total = rows_of.get("")
    if total is None:
        return added
    if not ties:
        return total
    return [tie if whole is None else whole for whole, tie in zip(total, added, strict=True)]


def _sum(values: tuple[int | None, ...]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _open_rows(
    reader: Reader, catalogue: Mapping[str, Any], zone: str, metric: str, side: MonthFileSide, window: Window
) -> RowColumns:
    """The rows of a window that may be passed on."""
    rows = reader.read(zone, metric, side, window)
    return rows.of_feeds(lambda feed: not catalogue["feeds"].get(feed, {}).get("withheld"))
