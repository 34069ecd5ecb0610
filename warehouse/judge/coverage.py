"""Find the ranges with every reading that is due, and the gaps, also on days of 23 and 25 hours.

The ranges of a forecast are those of its publication: a vintage is due in each part of a day, whatever it covers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, MarketDay, Window
from warehouse.market.feeds import Feed, Publication
from warehouse.market.metrics import define
from warehouse.rows.forecasts import instants
from warehouse.rows.schema import Rows
from warehouse.rows.versions import Ints

Pair = tuple[str, str]
"""A zone and a metric."""
VINTAGE_SPAN = 6 * HOUR
"""A publisher that forecasts repeatedly is expected to publish in each period of this length of a day."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A range without readings: a `gap` between readings, or `partial` if the start, the end or all is missing."""

    kind: Literal["gap", "partial"]
    start: int
    end: int
    intervals: int


@dataclass(frozen=True, slots=True)
class Cover:
    """The coverage of the requested ranges by some rows."""

    complete: Mapping[Pair, tuple[Window, ...]]
    incomplete: Mapping[Pair, tuple[Window, ...]]
    """Only pairs that have any. A range with gaps only in a border is in neither; a forecast is never complete."""
    gaps: Mapping[Pair, tuple[Gap, ...]]
    """A gap that several fuels share is listed once."""


def check(rows: Rows, feed: Feed, spans: Sequence[Window], now: int) -> Cover:
    """Compare the net rows with what the feed is expected to have published of each range by `now` (Unix seconds).

    Checks the zones and metrics that the rows contain. If each response of the feed has all zones, checks all of them.
    """
    complete: dict[Pair, tuple[Window, ...]] = {}
    incomplete: dict[Pair, tuple[Window, ...]] = {}
    gaps: dict[Pair, tuple[Gap, ...]] = {}
    parts = [Window(span.start, until) for span in spans if (until := due_until(feed, span, now)) > span.start]
    for pair, (net, borders) in _series(rows, feed).items():
        missing_in = {part: [gap for one in net for gap in _gaps(one, part)] for part in parts}
        # A border may lack data for hours: that is not reported as a gap, but its earlier rows are not evicted either.
        complete[pair] = tuple(
            part for part, missing in missing_in.items() if not missing and not any(_gaps(one, part) for one in borders)
        )
        if any(missing_in.values()):
            incomplete[pair] = tuple(part for part, missing in missing_in.items() if missing)
            gaps[pair] = tuple(dict.fromkeys(gap for missing in missing_in.values() for gap in missing))
    for pair, published in _vintages(rows, feed).items():
        lacking = {part: _vintage_gaps(published, feed, part) for part in parts}
        if any(lacking.values()):
            incomplete[pair] = tuple(part for part, missing in lacking.items() if missing)
            gaps[pair] = tuple(gap for missing in lacking.values() for gap in missing)
    return Cover(complete, incomplete, gaps)


def _vintages(rows: Rows, feed: Feed) -> dict[Pair, set[int]]:
    """Return the publication times of the vintages of each zone's forecast."""
    owed = [metric for metric in feed.metrics if define(metric).due == "vintages"]
    found: dict[Pair, set[int]] = defaultdict(set)
    for key, readings in rows.readings.items():
        if key.metric in owed:
            found[key.zone, key.metric].update(instants(key, readings))
    if found and feed.zones_per_answer == "all":
        return {(zone, metric): found[zone, metric] for zone in feed.zones for metric in owed}
    return found


def _vintage_gaps(published: set[int], feed: Feed, part: Window) -> list[Gap]:
    """Return the periods of a part without a published vintage. For a daily forecast, the period is the whole part."""
    step = part.end - part.start if feed.publication.daily_at is not None else VINTAGE_SPAN
    spans = [Window(start, start + step) for start in range(part.start, part.end - step + 1, step)]
    return [Gap("partial", span.start, span.end, 1) for span in spans if not any(at in span for at in published)]


def due_until(feed: Feed, span: Window, now: int) -> int:
    """Return the end of the readings of a range that are due, grace included, or the range's start if none are due."""
    until = published_until(feed.publication, feed.tz, feed.resolution, now)
    if feed.publication.daily_at is not None:  # a range is published with its first market day
        return span.end if MarketDay.at(span.start, feed.tz).end <= until else span.start
    return min(span.end, max(span.start, until))


def published_until(publication: Publication, tz: str, resolution: str, now: int) -> int:
    """Return the end of the last interval that a feed must have published by `now`, grace included. Unix seconds."""
    latest = now - publication.grace_minutes * 60
    if publication.daily_at is None:
        step = min(RESOLUTIONS[resolution], DAY)
        latest -= publication.lag_minutes * 60
        return latest - latest % step
    day = MarketDay.at(latest, tz).next(1 - publication.day_offset)
    while publication.out_at(day) > latest:
        day = day.next(-1)
    return day.end


def uncovered(starts: Ints, ends: Ints, window: Window) -> tuple[Ints, Ints, Ints]:
    """Return the parts of a window without an interval: starts, ends, and the numbers of intervals before them.

    `starts` ascend and are before the window's end.
    """
    begins = np.append(starts, np.int64(window.end))
    reached = np.maximum.accumulate(np.append(np.int64(window.start), ends))
    (before,) = (begins > reached).nonzero()
    return reached[before], begins[before], before


@dataclass(frozen=True, slots=True)
class _Series:
    """The intervals of a zone, metric and fuel, sorted by start."""

    starts: Ints
    ends: Ints
    step: int


Parts = list[tuple[str, list[int]]]
"""Resolutions and interval starts."""


def _series(rows: Rows, feed: Feed) -> dict[Pair, tuple[list[_Series], list[_Series]]]:
    """Return the net series by fuel, and the series of borders, by pair. A missing pair has an empty net."""
    net: dict[Pair, dict[str | None, Parts]] = defaultdict(lambda: defaultdict(list))
    borders: dict[Pair, dict[tuple[str | None, str | None], Parts]] = defaultdict(lambda: defaultdict(list))
    for key, readings in rows.readings.items():
        if key.metric not in feed.metrics or define(key.metric).due == "vintages":
            continue  # an extra metric that the feed does not declare, such as flows in a report of prices
        pair = key.zone, key.metric
        if key.counterparty is None and key.link is None:
            net[pair][key.fuel].append((key.resolution, readings.ts))
        else:
            borders[pair][key.counterparty, key.link].append((key.resolution, readings.ts))
    pairs = {*net, *borders}
    if feed.zones_per_answer == "all":
        pairs |= {(zone, metric) for _, metric in pairs for zone in feed.zones}
    return {
        pair: (
            [_joined(parts) for parts in (net[pair] or {None: [(feed.resolution, list[int]())]}).values()],
            [_joined(parts) for parts in borders[pair].values()],
        )
        for pair in pairs
    }


def _joined(parts: Sequence[tuple[str, list[int]]]) -> _Series:
    starts = np.concatenate([np.asarray(ts, np.int64) for _, ts in parts])
    steps = np.repeat([RESOLUTIONS[resolution] for resolution, _ in parts], [len(ts) for _, ts in parts])
    order = np.argsort(starts, kind="stable")
    return _Series(starts[order], (starts + steps)[order], min(RESOLUTIONS[resolution] for resolution, _ in parts))


def _gaps(series: _Series, part: Window) -> list[Gap]:
    """Return the parts of a range without an interval."""
    touching = (series.ends > part.start) & (series.starts < part.end)
    count = int(touching.sum())
    spans = uncovered(series.starts[touching], series.ends[touching], part)
    return [
        Gap("gap" if 0 < before < count else "partial", begin, end, -(-(end - begin) // series.step))
        for begin, end, before in zip(*(column.tolist() for column in spans), strict=True)
    ]
