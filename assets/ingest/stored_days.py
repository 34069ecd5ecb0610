"""Read the stored rows of a feed by market day, for partition events, checks and gaps.

A feed's row is live until the feed itself corrects or withdraws it, whether this row or a better feed's row is served.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from assets.ingest.reports import window_of
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Feed
from warehouse.market.metrics import define
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import LIVE, Floats, Ints
from warehouse.series import month_versions
from warehouse.store.storage import Storage


@dataclass(frozen=True, slots=True)
class StoredDay:
    """The rows of a partition. `first` and `last` are interval starts in Unix seconds, None without rows."""

    rows: int
    first: int | None
    last: int | None
    version: str
    """A digest of the rows. It is equal if labels, timestamps and values are equal."""


@dataclass(slots=True)
class StoredRows:
    """The live rows of a feed in a period: the ascending timestamps and the values of each series."""

    series: dict[SeriesKey, tuple[Ints, Floats]] = field(default_factory=dict)

    def within(self, window: Window) -> Iterator[tuple[SeriesKey, Ints, Floats]]:
        """Yield the series with rows in a window, cut to the window and in a fixed order."""
        for key in sorted(self.series, key=lambda k: tuple(part or "" for part in k)):
            ts, values = self.series[key]
            begin, end = np.searchsorted(ts, window.start), np.searchsorted(ts, window.end)
            if begin < end:
                yield key, ts[begin:end], values[begin:end]

    def rows(self, window: Window) -> Rows:
        """Return the rows of a window."""
        rows = Rows()
        for key, ts, values in self.within(window):
            rows.extend(key, ts.tolist(), values.tolist())
        return rows


def read(
    storage: Storage,
    feed: Feed,
    months: Iterable[str],
    series: Iterable[tuple[str, str]] | None = None,
) -> StoredRows:
    """Return the feed's live rows in these UTC months, for some (zone, metric) pairs or for all that it carries.

    Forecasts include every version at its publication time, which determines the market day.
    """
    rows = StoredRows()
    pairs = ((zone, metric.value) for zone in feed.zones for metric in feed.metrics) if series is None else series
    places = sorted(set(months))
    beyond = {clock.month_of(clock.month_window(month).end) for month in places}
    for zone, metric in pairs:
        for month in sorted(beyond.union(places)) if define(metric).merge == "vintages" else places:
            _read_month(storage, feed, month_versions.Month(metric, zone, month), rows)
    for key, (ts, values) in rows.series.items():
        order = np.argsort(ts, kind="stable")
        rows.series[key] = ts[order], values[order]
    return rows


def _read_month(storage: Storage, feed: Feed, place: month_versions.Month, rows: StoredRows) -> None:
    versions = month_versions.read(storage, place)
    own = np.array([label.feed == feed.id for label in versions.labels] or [False])[versions.label]
    mine = versions.take(own)
    if define(place.metric).merge == "vintages":
        live = replace(mine, ts=mine.published_at)
    else:
        live = mine.take(mine.superseded_at == LIVE)
    for number in np.unique(live.label):
        label, chosen = live.labels[number], live.label == number
        key = SeriesKey(
            place.zone, place.metric, label.unit, label.resolution, label.fuel, label.counterparty, label.link
        )
        ts, values = rows.series.get(key, (np.empty(0, np.int64), np.empty(0, np.float64)))
        rows.series[key] = np.concatenate([ts, live.ts[chosen]]), np.concatenate([values, live.value[chosen]])


def of_day(feed_rows: StoredRows, feed: Feed, day: MarketDay) -> StoredDay:
    """Summarise the rows of one partition."""
    digest, rows, first, last = hashlib.sha256(), 0, [], []
    for key, ts, values in feed_rows.within(window_of(feed, day)):
        digest.update(repr(tuple(key)).encode())
        digest.update(ts.tobytes())
        digest.update(values.tobytes())
        rows += len(ts)
        first.append(int(ts[0]))
        last.append(int(ts[-1]))
    version = digest.hexdigest()[:16] if rows else ""
    return StoredDay(rows, min(first, default=None), max(last, default=None), version)
