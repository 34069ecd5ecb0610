"""Compare a run's rows with the stored rows of their series: the last weeks once, and other feeds in case of doubt.

`warehouse.judge.levels` defines a shift.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from warehouse.bookkeeping import logged
from warehouse.judge import levels
from warehouse.judge.coverage import Pair
from warehouse.judge.levels import Hourly
from warehouse.judge.quality import Finding
from warehouse.market.clock import Window, months
from warehouse.market.metrics import BY_FUEL
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import LIVE, Flags, Floats, Ints, concat
from warehouse.series import month_versions, monthfile
from warehouse.store import layout
from warehouse.store.storage import Storage


class LevelShift(NamedTuple):
    """A day on which a zone's metric is at another level.

    The finding is an error if another feed disagrees with the rows too, and a note if another feed agrees.
    """

    day: Window
    finding: Finding


def find(storage: Storage, feed: str, rows: Rows, days: Sequence[Window]) -> list[LevelShift]:
    """Return the shifts in a feed's rows of some market days. A series that cannot be read is logged, not compared."""
    found: list[LevelShift] = []
    for (zone, metric), new in _by_pair(rows).items() if days else ():
        if levels.tolerance(metric, zone) is None:
            continue
        with logged(f"levels of {zone} {metric}"):
            for shift in levels.shifts(metric, zone, days, new, _stored(storage, (zone, metric), days)):
                severity, others = _compare(storage, feed, (zone, metric), shift.day, new)
                finding = Finding("level", severity, zone, metric, shift.hours, f"{shift}{others}")
                found.append(LevelShift(shift.day, finding))
    return found


def split_shifted(rows: Rows, shifts: Iterable[LevelShift]) -> tuple[Rows, Rows]:
    """Split rows into those without and those with a shift in their zone, metric and day, including border rows."""
    days: dict[Pair, list[Window]] = defaultdict(list)
    for day, finding in shifts:
        days[finding.zone, finding.metric].append(day)

    def is_shifted(key: SeriesKey, ts: Ints) -> Flags:
        shifted = np.zeros(len(ts), np.bool_)
        for day in days.get((key.zone, key.metric), ()):
            shifted |= (ts >= day.start) & (ts < day.end)
        return shifted

    return rows.split(is_shifted)


def _by_pair(rows: Rows) -> dict[Pair, Hourly]:
    """Return the net series by zone and metric. A mix in MW is summed over its fuels; shares are left out."""
    parts: dict[Pair, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for key, readings in rows.readings.items():
        if key.counterparty is None and key.link is None and key.unit != "%" and readings.ts:
            ts, values = parts[key.zone, key.metric]
            ts += readings.ts
            values += readings.values
    return {
        pair: _hourly(pair[1], np.array(ts, np.int64), np.array(values, np.float64))
        for pair, (ts, values) in parts.items()
    }


def _hourly(metric: str, ts: Ints, value: Floats) -> Hourly:
    if metric not in BY_FUEL:
        return levels.hourly(ts, value)
    instants, code = np.unique(ts, return_inverse=True)
    return levels.hourly(instants, np.bincount(code, value).astype(np.float64))


def _stored(storage: Storage, pair: Pair, days: Sequence[Window]) -> Hourly:
    """Return the served rows of a series since two weeks before some days. In a bucket, each file costs a request."""
    (zone, metric), window = pair, levels.reference_window(days)
    files = [monthfile.month(storage, layout.series(metric, zone, month))[0] for month in months(window)]
    served = concat(files)
    inside = (served.ts >= window.start) & (served.ts < window.end)
    net = served.take(inside & served.where(lambda label: not label.border))
    return _hourly(metric, net.ts, net.value)


def _compare(
    storage: Storage, feed: str, pair: Pair, day: Window, new: Hourly
) -> tuple[Literal["error", "warning", "note"], str]:
    """Compare a shift with the other feeds' rows of that day, served or not. Returns the severity, and which feeds
    agree or disagree.
    """
    zone, metric = pair
    versions = concat(
        [month_versions.read(storage, month_versions.Month(metric, zone, month)) for month in months(day)]
    )
    others = versions.where(lambda label: label.feed != feed and not label.border and label.unit != "%")
    inside = (versions.ts >= day.start) & (versions.ts < day.end) & (versions.superseded_at == LIVE)
    live = versions.take(others & inside)
    agreeing: dict[bool | None, list[str]] = defaultdict(list)
    for other in sorted({live.labels[code].feed for code in np.unique(live.label)}):
        own = live.take(live.having("feed", other))
        agreeing[levels.agree(metric, zone, day, new, _hourly(metric, own.ts, own.value))].append(other)
    if agreeing[True]:
        return "note", f"; {', '.join(agreeing[True])} agrees"
    return ("error", f"; {', '.join(agreeing[False])} disagrees too") if agreeing[False] else ("warning", "")
