"""Generate years of all zones for the benchmarks: price, demand, interchange with borders, and generation by fuel.

The rows are written as monthly files and kept between runs.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from assets.documents import geo_layers
from assets.documents.publish import publish
from tests.bench.servers import NOW, ROOT
from tests.stand_ins import declared
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, Window, month_window, months
from warehouse.market.feeds import Source
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.versions import LIVE, NEVER, RowLabels, Versions
from warehouse.series import monthfile, net_rows
from warehouse.series.monthfile import Past
from warehouse.store import layout
from warehouse.store.storage import Folder

METRICS = (Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE)
"""The metrics with one value per interval."""
FUELS = ("biomass", "coal", "gas", "geothermal", "hydro", "nuclear", "oil", "other", "solar", "wind")
BORDERS = ("north", "east", "south", "west")


def source() -> Source:
    """Return a publisher that carries all metrics."""
    zones = {metric: [zone.id for zone in ZONES.values() if metric in zone.metrics] for metric in Metric}
    return declared.source("bench", [declared.feed(f"bench.{m.value}", zones[m], (m,), "5m") for m in Metric])


def resolution(zone: str, metric: Metric) -> str:
    """Return the resolution: 5 minutes in the US and Australia, 30 in Great Britain, else 15, or an hour for flows."""
    if zone.startswith(("US-", "AU-")):
        return "5m"
    if zone == "GB":
        return "30m"
    return "1h" if metric is Metric.INTERCHANGE else "15m"


def warehouse(years: int) -> Path:
    """Return a warehouse that ends an hour after NOW; the first call fills it (a minute of two cores for ten years)."""
    decisive = (__file__, monthfile.__file__, net_rows.__file__)
    version = hashlib.sha256(b"".join(Path(file).read_bytes() for file in decisive)).hexdigest()[:12]
    home = ROOT / ".bench" / f"{years}-years-{version}"
    if not (home / "done").exists():
        fill = partial(_fill, home, NOW + HOUR - years * 365 * DAY)
        with ProcessPoolExecutor(os.cpu_count()) as processes:
            list(processes.map(fill, ZONES))
        storage = Folder(home)
        storage.put(layout.MODE, b"live")
        sources = {"bench": source()}
        catalogue.publish(storage, sources, "live", (), ("bench",), NOW)
        publish(storage, NOW)
        geo_layers.publish(storage)
        (home / "done").touch()
    return home


def _fill(home: Path, start: int, zone: str) -> None:
    """Fill all months of a zone with values that vary by hour and season and have two decimals."""
    storage, terms = Folder(home), catalogue.terms({"bench": source()}, "live")
    for metric in (*METRICS, *({Metric.GENERATION} & ZONES[zone].metrics)):
        span = resolution(zone, metric)
        unit = f"{ZONES[zone].currency}/MWh" if metric is Metric.PRICE else "MW"
        series = [(None, None, span)]
        if metric is Metric.GENERATION:
            series = [(fuel, None, span) for fuel in FUELS]
        elif metric is Metric.INTERCHANGE:
            series += [(None, border, "1h") for border in BORDERS]
        feed = f"bench.{metric.value}"
        labels = tuple(RowLabels(fuel, border, None, unit, step, "bench", feed) for fuel, border, step in series)
        for month in months(Window(start, NOW + HOUR)):
            window = month_window(month)
            first, last = max(window.start, start), min(window.end, NOW + HOUR)
            parts = [np.arange(first, last, RESOLUTIONS[step], dtype=np.int64) for _, _, step in series]
            label, ts = np.repeat(np.arange(len(series)), [*map(len, parts)]), np.concatenate(parts)
            phase = int.from_bytes(hashlib.sha256(f"{zone} {metric}".encode()).digest()[:2]) + 5000 * label
            swing = 30 * np.sin((ts + phase) / 13751) + 9 * np.sin(ts / 997) + 20 * np.sin((ts - phase) / (58 * DAY))
            values, zeros = np.round(70 + swing, 2), np.zeros(len(ts), np.int64)
            rows = Versions(labels, label, ts, values, zeros + 1, zeros + LIVE, zeros + NEVER)
            key = layout.series(metric, zone, month)
            storage.put(key, monthfile.encode(rows, key, "live", Past(None, 1), terms))
