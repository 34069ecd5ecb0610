"""Scores of the publishers' forecasts over the last 30 days, feed by feed and zone by zone: docs/publishers.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from warehouse.errors import StorageError
from warehouse.figures.forecast_scores import LEADS, mae, score
from warehouse.market.clock import DAY, HOUR, Window, months
from warehouse.market.feeds import Feed, Source
from warehouse.market.metrics import METRICS
from warehouse.market.vocabulary import Forecast, actual_of
from warehouse.market.zones import ZONES
from warehouse.rows.versions import concat
from warehouse.series import month_versions
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.store.storage import Storage

DAYS = 30
HOURS = 48
"""So many hours ahead the error of what windows are searched by is stated, hour by hour."""
_BEFORE = 10 * DAY
"""The day before the publication of the longest forecast lies no further back."""


def measure(
    storage: Storage, sources: Mapping[str, Source], kept_out: Collection[str], now: int
) -> list[dict[str, Any]]:
    """An entry a zone, metric and feed that forecasts it and may be passed on."""
    end = now - now % HOUR
    window = Window(end - DAYS * DAY, end)
    feeds = [feed for source in sources.values() for feed in source.feeds if feed.id not in kept_out]
    scored = (
        _entry(storage, feed, zone, metric, window)
        for feed in feeds
        for metric in Forecast
        if feed.carries(metric)
        for zone in feed.zones
    )
    return [entry for entry in scored if entry is not None]


def _entry(storage: Storage, feed: Feed, zone: str, metric: Forecast, window: Window) -> dict[str, Any] | None:
    try:
        every = concat([month_versions.read(storage, Month(metric, zone, month)) for month in months(window)])
        versions = every.take(every.where(lambda labels: labels.feed == feed.id)).compact()
        actual = Reader(storage, 0).read(zone, actual_of(metric), "net", Window(window.start - _BEFORE, window.end))
    except StorageError:
        return None  # `emds verify` names the file; nothing is measured there
    if not len(versions):
        return None
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
