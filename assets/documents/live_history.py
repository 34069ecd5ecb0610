"""Rounded means over fixed steps of UTC time: the recent history of a zone's metrics, fuels and borders.

A series of means is `{"start": ts, "step": seconds, "values": [...]}`: values from `start` on, one a step, null where
less than half of the step is covered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assets.documents.figures import ZoneFigures
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, Window
from warehouse.market.market import Metric
from warehouse.series import series
from warehouse.store.storage import Storage

SHORT_HOURS = 48
HOURLY_DAYS = 7
LONG_STEP = 6 * HOUR
LONG_DAYS = 30
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
    """Duration-weighted means of intervals no longer than `step`, rounded for their unit.

    `window` starts and ends on multiples of `step`. Of an interval given twice the later row counts.
    """
    count = (window.end - window.start) // step
    inside = (ts >= window.start) & (ts < window.end) & (seconds <= step) & np.isfinite(values)
    ts, seconds, values = ts[inside], seconds[inside], values[inside]
    _, last = np.unique(ts[::-1], return_index=True)
    chosen = len(ts) - 1 - last
    ts, seconds, values = ts[chosen], seconds[chosen], values[chosen]
    place = (ts - window.start) // step
    covered = np.bincount(place, seconds, count)
    sums = np.bincount(place, values * seconds, count)
    enough = covered * 2 >= step
    mean = np.divide(sums, covered, out=np.zeros(count), where=enough)
    return {
        "start": window.start,
        "step": step,
        "values": [
            rounded(value, unit) if there else None for value, there in zip(mean.tolist(), enough.tolist(), strict=True)
        ],
    }


def _back(now: int, hours: int, step: int, ahead: int = 0) -> Window:
    """So many hours up to the step that holds `now`, and `ahead` more seconds."""
    end = now - now % step + step
    return Window(end - hours * HOUR, end + ahead)


def last_hours(figures: ZoneFigures, now: int) -> dict[str, Any]:
    """Hourly means of each metric over the last 48 hours, the running hour last: `start` and values by metric."""
    window = _back(now, SHORT_HOURS, HOUR)
    hours: dict[str, Any] = {"start": window.start}
    for metric, figure in figures.figures.items():
        history = figures.histories[metric]
        hours[metric] = means(history.ts, history.seconds, history.value, window, HOUR, figure.unit)["values"]
    return hours


def zone_history(
    storage: Storage, catalogue: Mapping[str, Any], figures: ZoneFigures, borders: pa.Table | None, now: int
) -> dict[str, Any]:
    """What the panel of a zone draws: metrics over 7 and 30 days, the mix and the borders over 48 hours."""
    metrics: dict[str, Any] = {}
    for metric, figure in figures.figures.items():
        own = figures.histories[metric]
        ahead = 2 * DAY if metric == Metric.PRICE else 0
        short, long = _back(now, HOURLY_DAYS * 24, HOUR, ahead), _back(now, LONG_DAYS * 24, LONG_STEP)
        metrics[metric] = {
            "unit": figure.unit,
            "hours": _trimmed(means(own.ts, own.seconds, own.value, short, HOUR, figure.unit)),
            "days": _trimmed(means(own.ts, own.seconds, own.value, long, LONG_STEP, figure.unit)),
        }
    mix = _open_rows(storage, catalogue, figures.zone["id"], Metric.GENERATION, _back(now, SHORT_HOURS, HOUR))
    return {"metrics": metrics, "mix": _parts(mix, "fuel", now), "borders": _parts(borders, "counterparty", now)}


def _trimmed(history: Means) -> Means:
    """Without the steps before the first and after the last known one."""
    values = history["values"]
    known = [place for place, value in enumerate(values) if value is not None] or [0, -1]
    first, last = known[0], known[-1]
    return {**history, "start": history["start"] + first * history["step"], "values": values[first : last + 1]}


def border_rows(storage: Storage, catalogue: Mapping[str, Any], zone: str, now: int) -> pa.Table | None:
    """The border rows of the last 48 hours; None where the zone publishes no interchange."""
    rows = _open_rows(storage, catalogue, zone, Metric.INTERCHANGE, _back(now, SHORT_HOURS, HOUR))
    return None if rows is None else series.borders(rows)


def newest_flows(zone: str, borders: pa.Table | None, now: int) -> list[dict[str, Any]]:
    """The newest row of each border and tie of a zone, rounded: {zone, counterparty, link, mw, ts}, + = into it."""
    if borders is None:
        return []
    newest: dict[tuple[str, str | None], dict[str, Any]] = {}
    begun = borders.filter(pc.less_equal(borders.column("ts"), now)).select(["counterparty", "link", "ts", "value"])
    for row in begun.sort_by("ts").to_pylist():
        mw = rounded(row["value"], "MW")
        flow = {"zone": zone, "counterparty": row["counterparty"], "link": row["link"], "mw": mw, "ts": row["ts"]}
        newest[row["counterparty"], row["link"]] = flow
    return list(newest.values())


def _parts(rows: pa.Table | None, column: str, now: int) -> dict[str, Any] | None:
    """Hourly means over 48 hours by fuel or by border; None without rows.

    A border has its total where one is published, else its ties added, in the hours in which all of them have a value:
    one publisher's totals may end where another's ties begin.
    """
    if rows is None or not rows.num_rows:
        return None
    window, unit = _back(now, SHORT_HOURS, HOUR), rows.column("unit")[0].as_py()
    names = pc.fill_null(rows.column(column).cast(pa.string()), "").to_numpy(zero_copy_only=False)
    links = pc.fill_null(rows.column("link").cast(pa.string()), "").to_numpy(zero_copy_only=False)
    ts, seconds, values = _columns(rows)
    rows_of: dict[str, dict[str, list[int | None]]] = {}
    for name, link in sorted(set(zip(names, links, strict=True))):
        own = (names == name) & (links == link)
        rows_of.setdefault(name, {})[link] = means(ts[own], seconds[own], values[own], window, HOUR, unit)["values"]
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
    storage: Storage, catalogue: Mapping[str, Any], zone: str, metric: str, window: Window
) -> pa.Table | None:
    """The rows of a window that may be passed on; None where the zone does not publish the metric."""
    if metric not in catalogue["zones"][zone]["metrics"]:
        return None
    rows = series.read(storage, zone, metric, window)
    withheld = [feed for feed, entry in catalogue["feeds"].items() if entry["withheld"]]
    return rows.filter(pc.invert(pc.is_in(rows.column("feed").cast(pa.string()), pa.array(withheld, pa.string()))))


def _columns(rows: pa.Table) -> tuple[Ints, Ints, Floats]:
    """Interval starts, lengths in seconds, and values."""
    lengths = np.array([RESOLUTIONS[word] for word in rows.column("resolution").to_pylist()], np.int64)
    return rows.column("ts").to_numpy(), lengths, rows.column("value").to_numpy()
