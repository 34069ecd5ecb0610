"""`emds verify`: reads every file of a warehouse and tells what is broken. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson

from assets.sources import feeds
from warehouse import layout, monthfile, raw
from warehouse.clock import RESOLUTIONS, month_window
from warehouse.errors import StorageError
from warehouse.market import Metric
from warehouse.storage import Folder
from warehouse.versions import Versions


def broken(storage: Folder) -> list[str]:
    """One line a fault: files that do not decode, rows out of order, out of their month, or overlapping in what is served."""
    return [*_series(storage), *_raw(storage), *_published(storage)]


def _series(storage: Folder) -> Iterator[str]:
    for key in storage.keys(layout.series_prefix()):
        if not key.endswith(".parquet"):
            yield f"{key}: no month file"
            continue
        metric, _, month, is_history = layout.of_series(key)
        try:
            versions = monthfile.versions(storage, key)
        except StorageError as error:
            yield str(error)
            continue
        window = month_window(month)
        if len(versions) and not (window.start <= versions.ts.min() and versions.ts.max() < window.end):
            yield f"{key}: rows outside its month"
        if not np.array_equal(versions.order(), np.arange(len(versions))):
            yield f"{key}: rows out of order"
        if not is_history and metric != Metric.CAPACITY and (count := _overlaps(versions)):
            yield f"{key}: {count} rows overlap the one before"


def _overlaps(versions: Versions) -> int:
    """Served rows of one fuel, border and link that begin before the last one ended."""
    lanes: dict[tuple[str | None, ...], int] = {}
    lane = np.array([lanes.setdefault(s[:3], len(lanes)) for s in versions.labels] or [0])[versions.label]
    step = np.array([RESOLUTIONS[s.resolution] for s in versions.labels] or [0])[versions.label]
    order = np.lexsort((versions.ts, lane))
    ts, ends, lane = versions.ts[order], (versions.ts + step)[order], lane[order]
    return int(((ts[1:] < ends[:-1]) & (lane[1:] == lane[:-1])).sum())


def _raw(storage: Folder) -> Iterator[str]:
    for feed in feeds():
        for key in storage.keys(layout.raw_prefix(feed)):
            try:
                raw.opened(storage, key)
            except StorageError as error:
                yield str(error)


def _published(storage: Folder) -> Iterator[str]:
    for key in storage.keys(layout.published("")):
        if not key.endswith(("json", "geojson")):
            continue
        try:
            orjson.loads(storage.get(key) or b"null")  # an empty one was withdrawn
        except orjson.JSONDecodeError as error:
            yield f"{key}: {error}"
