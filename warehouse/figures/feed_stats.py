"""Measure a feed's delays, revisions and completeness in a UTC month from the versions in its monthly files.

See docs/publishers.md for the definitions and `assets.documents.publishers` for the document.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from warehouse.judge import coverage
from warehouse.market import clock
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed
from warehouse.rows.versions import LIVE, Floats, Ints, Versions


@dataclass(slots=True)
class FeedStats:
    """Counts for one feed in one UTC month, as the monthly files show it at `now` (Unix seconds).

    The arrays have one entry per zone and metric.
    """

    feed: Feed
    month: str
    watched: tuple[Ints, Ints]
    """Starts and ends of the periods in which the feed was fetched repeatedly, ascending."""
    now: int
    rows: int = 0
    delays: list[Ints] = field(default_factory=list)
    unmeasured: int = 0
    revised: int = 0
    withdrawn: int = 0
    revision_delays: list[Ints] = field(default_factory=list)
    by: dict[tuple[str, str], list[Floats]] = field(default_factory=lambda: defaultdict(list))
    """Metric and unit -> absolute changes."""
    due: int = 0
    missing: int = 0
    gap_count: int = 0
    longest_gap_s: int = 0


def add(stats: FeedStats, metric: str, versions: Versions, is_first: bool) -> None:
    """Add the feed's versions (at least one) of a zone's metric. If `is_first`, earlier months have no data.

    Borders and interconnectors count as rows; times and gaps are those of the net.
    """
    ordered = versions.take(np.lexsort((versions.known_at, versions.ts, versions.label)))
    same = (np.diff(ordered.label) == 0) & (np.diff(ordered.ts) == 0)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    live = np.maximum.reduceat(ordered.superseded_at == LIVE, starts)
    stats.rows += len(starts)
    stats.withdrawn += int((~live).sum())
    _add_revisions(stats, metric, ordered, starts)
    net = ordered.where(lambda labels: not labels.border)[starts]
    if metric not in stats.feed.metrics or not net.any():
        return
    begins, lengths = ordered.ts[starts], ordered.seconds()[starts]
    _add_delays(stats, begins[net], (begins + lengths)[net], ordered.known_at[starts][net])
    if not stats.feed.yearly:
        _add_gaps(stats, begins[net & live], lengths[net & live], is_first)


def _add_revisions(stats: FeedStats, metric: str, ordered: Versions, starts: Ints) -> None:
    """Add revisions. `ordered` is by series, interval and known_at; `starts` has each interval's first index."""
    ends = np.append(starts[1:], len(ordered)) - 1
    changed = np.minimum.reduceat(ordered.value, starts) != np.maximum.reduceat(ordered.value, starts)
    stats.revised += int(changed.sum())
    first, last = starts[changed], ends[changed]
    stats.revision_delays.append(ordered.known_at[last] - ordered.known_at[first])
    amounts = np.abs(ordered.value[last] - ordered.value[first])
    for unit in sorted({labels.unit for labels in ordered.labels}):
        chosen = ordered.having("unit", unit)[first]
        if chosen.any():
            stats.by[metric, unit].append(amounts[chosen])


def _add_delays(stats: FeedStats, starts: Ints, ends: Ints, known: Ints) -> None:
    """Add the delays of rows for which the feed was fetched before they were due and until they arrived.

    For other rows, the delay is that of this service.
    """
    due = due_at(stats.feed, starts, ends)
    firsts, lasts = stats.watched
    span = np.searchsorted(firsts, np.minimum(due, known - 1), side="right") - 1
    polled = span >= 0
    polled[polled] = known[polled] <= lasts[span[polled]]
    stats.unmeasured += int((~polled).sum())
    stats.delays.append((known - due)[polled])


def due_at(feed: Feed, starts: Ints, ends: Ints) -> Ints:
    """Return when each row is usually published by the feed's publication times, without grace. Unix seconds."""
    if feed.publication.daily_at is None:
        return ends + feed.publication.lag_minutes * 60
    if not len(starts):
        return ends
    day, last = MarketDay.at(int(starts.min()), feed.tz), int(starts.max())
    days = [day]
    while days[-1].end <= last:
        days.append(days[-1].next())
    begins = np.array([one.start for one in days], np.int64)
    outs = np.array([feed.publication.out_at(one) for one in days], np.int64)
    due: Ints = outs[np.searchsorted(begins, starts, side="right") - 1]
    return due


def _add_gaps(stats: FeedStats, starts: Ints, lengths: Ints, is_first: bool) -> None:
    """Add due and missing intervals since the month's start, or since the first row in a series' first month."""
    if not len(starts):
        return
    window, feed = clock.month_window(stats.month), stats.feed
    since = int(starts.min()) if is_first else window.start
    until = min(window.end, coverage.published_until(feed.publication, feed.tz, feed.resolution, stats.now))
    if until <= since:
        return
    order = np.argsort(starts, kind="stable")
    order = order[starts[order] < until]
    begins, ends, _ = coverage.uncovered(starts[order], (starts + lengths)[order], clock.Window(since, until))
    gaps, step = ends - begins, int(lengths.min())
    stats.due += (until - since) // step
    stats.missing += int((-(-gaps // step)).sum())
    stats.gap_count += len(gaps)
    stats.longest_gap_s = max(stats.longest_gap_s, int(gaps.max(initial=0)))
