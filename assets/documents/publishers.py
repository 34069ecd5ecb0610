"""Measure the publishers: the delays, revisions and gaps of each feed's rows, by UTC month (docs/publishers.md).

The inputs are when each value was first known and when it was replaced (monthly files and their history), and the
requests of the feed (`warehouse.documents.attempts`).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from assets.documents import scores
from warehouse.documents import attempts, catalogue
from warehouse.documents.attempts import NO_ATTEMPTS, Attempts, Span
from warehouse.errors import DamagedFile, StorageError
from warehouse.figures import feed_stats
from warehouse.figures.feed_stats import FeedStats
from warehouse.market import clock
from warehouse.market.feeds import Source
from warehouse.market.metrics import define
from warehouse.rows.versions import Floats, Ints
from warehouse.series import month_versions
from warehouse.series.month_versions import Month
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage
from warehouse.version import __version__

METHOD = "publishers/1"
MONTHS = 13
"""The number of UTC months that are measured, ending with the newest."""
Entry = dict[str, Any]


def publish(storage: Storage, sources: Mapping[str, Source], rights: Collection[str], mode: str, now: int) -> Entry:
    """Measure the newest months, publish the document and return it. Raises StorageError.

    A document of the same UTC day does not change if its input files have not changed.
    """
    version, inputs = artefact.new_version(), _inputs(storage, sources, rights, mode, now)
    with suppress(DamagedFile):
        before: Entry | None = artefact.load(storage, layout.PUBLISHERS)
        if before is not None and before.get("inputs") == inputs:
            return before
    document = measure(storage, sources, rights, mode, now) | {"inputs": inputs}
    artefact.put(storage, layout.PUBLISHERS, artefact.encode(document), version)
    return document


def _inputs(storage: Storage, sources: Mapping[str, Source], rights: Collection[str], mode: str, now: int) -> str:
    """Return a hash of the document's inputs: files by stamp, feeds, permissions, this release, the UTC day."""
    prefixes = layout.series_prefix(), layout.history_prefix(), layout.ATTEMPTS
    files = [stamps for prefix in prefixes for stamps in storage.listing(prefix).items()]
    feeds = [(feed.id, feed.version) for source in sources.values() for feed in source.feeds]
    kept_out = sorted(catalogue.withheld(sources, rights, mode))
    text = repr((METHOD, __version__, clock.utc(now).date(), feeds, kept_out, files))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def measure(storage: Storage, sources: Mapping[str, Source], rights: Collection[str], mode: str, now: int) -> Entry:
    """Return the document with one entry per feed and month, months ascending."""
    keys, kept_out = _keys(storage), catalogue.withheld(sources, rights, mode)
    months = sorted(keys)[-MONTHS:]
    attempts_of = cache(lambda month: _attempts(storage, month))
    entries: list[Entry] = []
    for month in months:
        first_months = {pair: min(m for m in keys if pair in keys[m]) for pair in keys[month]}
        entries += _month(storage, sources, kept_out, month, first_months, attempts_of, now)
    return {
        "as_of": now,
        "method": METHOD,
        "docs": "/docs/publishers",
        "months": months,
        "publishers": entries,
        "scores": scores.measure(storage, sources, kept_out, now),
        "shares": scores.measure_shares(storage, sources, kept_out, now),
    }


Pair = tuple[str, str]
"""Metric and zone."""


def _keys(storage: Storage) -> dict[str, set[Pair]]:
    """Return the metrics and zones with actual values by UTC month: a forecast's new vintage is not a revision."""
    keys: dict[str, set[Pair]] = defaultdict(set)
    for key in storage.keys(layout.series_prefix()) + storage.keys(layout.history_prefix()):
        if layout.is_month_file(key):
            metric, zone, month, _ = layout.of_series(key)
            if define(metric).merge == "corrections":
                keys[month].add((metric, zone))
    return keys


def _month(
    storage: Storage,
    sources: Mapping[str, Source],
    kept_out: Collection[str],
    month: str,
    first_months: Mapping[Pair, str],
    requests_of: Callable[[str], Mapping[str, Attempts]],
    now: int,
) -> list[Entry]:
    feeds = {feed.id: feed for source in sources.values() for feed in source.feeds}
    window = clock.month_window(month)
    # The months before and after count too, since rows of a month arrive after its end.
    around = clock.month_of(window.start - 1), month, clock.month_of(window.end)
    attempts_of = {one: requests_of(one) for one in around}
    watched = {feed: _joined([a[feed].watched for a in attempts_of.values() if feed in a]) for feed in feeds}
    measured = {i: FeedStats(feed, month, watched[i], now) for i, feed in feeds.items()}
    for (metric, zone), first in sorted(first_months.items()):
        try:
            versions = month_versions.read(storage, Month(metric, zone, month))
        except StorageError:
            continue  # `emds verify` names the file, which is not measured
        feed_of = np.array([labels.feed for labels in versions.labels], dtype=object)
        for feed_id in sorted({label.feed for label in versions.labels} & feeds.keys()):
            own = versions.take(feed_of[versions.label] == feed_id)
            if len(own):
                feed_stats.add(measured[feed_id], metric, own, month == first)
    asked = attempts_of[month]
    ids = [i for i, stats in sorted(measured.items()) if stats.rows or i in asked]
    return [_describe_month(measured[i], asked.get(i, NO_ATTEMPTS), i in kept_out) for i in ids]


def _attempts(storage: Storage, month: str) -> dict[str, Attempts]:
    by_feed: dict[str, Attempts] = {}
    for code in attempts.sources_of(storage, month):
        try:
            by_feed |= attempts.load(storage, code, month)
        except DamagedFile:
            continue  # unknown requests count as not monitored
    return by_feed


def _joined(months: Iterable[Sequence[Span]]) -> tuple[Ints, Ints]:
    """Return starts and ends of several months' periods. A period that continues into the next month is one period."""
    spans: list[list[int]] = []
    for first, last in sorted(span for month in months for span in month):
        if spans and first <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], last)
        else:
            spans.append([first, last])
    pairs = np.array(spans or np.empty((0, 2)), np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _describe_month(measured: FeedStats, attempted: Attempts, is_withheld: bool) -> Entry:
    feed, month = measured.feed, measured.month
    by = [
        {"metric": metric, "unit": unit, **_spread(np.concatenate(parts), 4)}
        for (metric, unit), parts in sorted(measured.by.items())
    ]
    watched = sum(map(len, measured.delays))
    return {
        "source": feed.source,
        "feed": feed.id,
        "month": month,
        "complete": clock.month_window(month).end <= measured.now,
        "requests": {
            "poll_interval_s": feed.every_minutes * 60,
            "runs": attempted.runs,
            "count": attempted.requests,
        },
        "failures": {"total": sum(attempted.failures.values()), "by_kind": dict(sorted(attempted.failures.items()))},
        "rows": measured.rows,
        "intervals": None
        if feed.yearly
        else {
            "due": measured.due,
            "missing": measured.missing,
            "gap_count": measured.gap_count,
            "longest_gap_s": measured.longest_gap_s,
        },
        "delay_s": {"rows": watched, "unmeasured": measured.unmeasured, **_times(measured.delays)},
        "revised": {
            "rows": measured.revised,
            "share": round(measured.revised / measured.rows, 4) if watched else None,
            "withdrawn": measured.withdrawn,
            "revision_delay_s": _times(measured.revision_delays),
            "by": None if is_withheld else by,
        },
    }


def _times(parts: Sequence[Ints]) -> Entry:
    return _spread(np.concatenate(parts).astype(np.float64) if parts else np.empty(0), 0)


def _spread(values: Floats, digits: int) -> Entry:
    """Return median, 95th percentile and maximum by nearest rank, which are values that occurred; null
    without values.
    """
    if not len(values):
        return {"median": None, "p95": None, "max": None}
    ordered = np.sort(values)
    picked = {
        "median": ordered[-(-len(ordered) // 2) - 1],
        "p95": ordered[-(-len(ordered) * 95 // 100) - 1],
        "max": ordered[-1],
    }
    return {name: int(value) if digits == 0 else round(float(value), digits) for name, value in picked.items()}
