"""Score the publishers' forecasts over the last 30 days by feed and zone (docs/publishers.md).

Also measure the error of the share of wind and solar, from two forecasts of a publisher (docs/windows.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from warehouse.errors import StorageError
from warehouse.figures.forecast_scores import LEADS, LEAST, mae, score
from warehouse.figures.wind_solar import shares
from warehouse.market.clock import DAY, HOUR, Window, months
from warehouse.market.feeds import Feed, Source
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Forecast, Metric, actual_of
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Versions, concat
from warehouse.series import month_versions
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns, sides_of
from warehouse.store.storage import Storage

DAYS = 30
HOURS = 48
"""The number of hours ahead for which the error of the forecasts in best-hours searches is given, hour by hour."""
_BEFORE = 10 * DAY
"""Actual values are read from this long before the window, so that they include the day before any publication."""


def measure(
    storage: Storage, sources: Mapping[str, Source], kept_out: Collection[str], now: int
) -> list[dict[str, Any]]:
    """Return an entry per zone, metric, fuel and feed that forecasts it and may be redistributed."""
    window = _window(now)
    feeds = [feed for source in sources.values() for feed in source.feeds if feed.id not in kept_out]
    return [
        entry
        for feed in feeds
        for metric in Forecast
        if feed.carries(metric)
        for zone in feed.zones
        for entry in _entries(storage, feed, zone, metric, window)
    ]


def measure_shares(
    storage: Storage, sources: Mapping[str, Source], kept_out: Collection[str], now: int
) -> list[dict[str, Any]]:
    """Return an entry per zone with forecasts of the mix and of demand by the same publisher."""
    window, entries = _window(now), []
    for source in sources.values():
        feeds = [feed for feed in source.feeds if feed.id not in kept_out]
        for zone in ZONES:
            own = {
                m: [f.id for f in feeds if f.carries(m) and zone in f.zones] for m in (Forecast.MIX, Forecast.DEMAND)
            }
            try:
                errors = _errors_of_share(storage, zone, own, window) if all(own.values()) else None
            except StorageError:
                continue  # `emds verify` names the file
            if errors is not None:
                span = {"start": window.start, "end": window.end}
                entries.append({"zone": zone, "source": source.code, "unit": "%", **span, "mae_by_hour": errors})
    return entries


def _errors_of_share(
    storage: Storage, zone: str, feeds: Mapping[Forecast, list[str]], window: Window
) -> list[float | None] | None:
    """Return the share's mean absolute error 1, 2, ... hours ahead, in percentage points.

    None without forecasts or actual values.
    """
    versions = [_versions(storage, own, zone, metric, window) for metric, own in feeds.items()]
    readings = [Reader(storage, 0).read(zone, actual_of(metric), "net", window) for metric in feeds]
    if not (all(map(len, versions)) and all(map(len, readings))):
        return None
    seconds = [*(of.seconds() for of in versions), *(rows.seconds() for rows in readings)]
    step = max(int(of.max(initial=0)) for of in seconds)
    came = shares(zone, readings[0], readings[1], step)

    def error(lead_s: int) -> float | None:
        picked = [Pick(lead_s=lead_s).choose(of, {label.feed: 1 for label in of.labels}) for of in versions]
        mix, demand = (sides_of(of)["net"] for of in picked)
        expected = shares(zone, mix, demand, step)
        _, here, there = np.intersect1d(expected.ts, came.ts, assume_unique=True, return_indices=True)
        away = np.abs(expected.value[here] - came.value[there])
        return round(float(away.mean()), 4) if len(away) >= LEAST else None

    return [error(hour * HOUR) for hour in range(1, HOURS + 1)]


def _window(now: int) -> Window:
    end = now - now % HOUR
    return Window(end - DAYS * DAY, end)


def _versions(storage: Storage, feeds: Collection[str], zone: str, metric: Forecast, window: Window) -> Versions:
    """Return the versions of a forecast by some feeds, for the months of a window. Raises StorageError."""
    every = concat([month_versions.read(storage, Month(metric, zone, month)) for month in months(window)])
    return every.take(every.where(lambda labels: labels.feed in feeds)).compact()


def _entries(storage: Storage, feed: Feed, zone: str, metric: Forecast, window: Window) -> Iterator[dict[str, Any]]:
    """Yield an entry for each fuel that the feed forecasts. Other metrics have one entry without a fuel."""
    try:
        versions = _versions(storage, [feed.id], zone, metric, window)
        actual = Reader(storage, 0).read(zone, actual_of(metric), "net", Window(window.start - _BEFORE, window.end))
        capacity = _capacity(storage, zone, window.end) if metric is Forecast.MIX else {}
    except StorageError:
        return  # `emds verify` names the file, which is not measured
    for fuel in sorted({label.fuel for label in versions.labels}, key=str):
        of_fuel = versions.take(versions.having("fuel", fuel))
        own = np.array([label.fuel == fuel for label in actual.labels], np.bool_)
        readings = actual.take(own[actual.label]) if len(actual) else actual
        entry = _score_feed(feed, zone, metric, window, of_fuel, readings)
        yield entry if fuel is None else _with_fuel(entry, fuel, capacity.get(fuel))


def _with_fuel(entry: dict[str, Any], fuel: str, capacity: float | None) -> dict[str, Any]:
    """Return an entry with its fuel, and errors in percent of the installed capacity if it is known."""
    leads = [
        {**lead, "mae_pct_of_capacity": capacity and lead["mae"] and round(100 * lead["mae"] / capacity, 4)}
        for lead in entry["leads"]
    ]
    return {"zone": entry["zone"], "metric": entry["metric"], "fuel": fuel, **entry, "leads": leads}


def _capacity(storage: Storage, zone: str, at: int) -> dict[str, float]:
    """Return a zone's installed MW by fuel in the newest year that has started at `at`; empty if none is published."""
    rows = Reader(storage, 0).read(zone, Metric.CAPACITY, "net", Window(max(0, at - 2 * 366 * DAY), at))
    by_fuel = {rows.labels[label].fuel: value for label, value in zip(rows.label, rows.value, strict=True)}
    return {fuel: float(value) for fuel, value in by_fuel.items() if fuel and value > 0}


def _score_feed(
    feed: Feed, zone: str, metric: Forecast, window: Window, versions: Versions, actual: RowColumns
) -> dict[str, Any]:
    newest = versions.labels[versions.label[versions.ts.argmax()]]
    tz, relative = ZONES[zone].tz, metric is Forecast.DEMAND
    hours = range(1, HOURS + 1) if METRICS[actual_of(metric)].in_windows else ()
    return {
        "zone": zone,
        "metric": actual_of(metric).value,
        "feed": feed.id,
        "source": feed.source,
        "unit": newest.unit,
        "resolution": newest.resolution,
        "basis": newest.basis,
        "start": window.start,
        "end": window.end,
        "leads": [score(versions, actual, lead_s, window, tz, relative) for lead_s in LEADS],
        "mae_by_hour": [mae(versions, actual, hour * HOUR, window) for hour in hours],
    }
