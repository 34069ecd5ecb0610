"""A run's rows against what is stored of their series: reads the last weeks once, and other feeds where in doubt.

What makes a shift: see `warehouse.judge.levels`.
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
    """A day of one zone's metric at another level.

    The finding is an error where another feed disagrees with the rows too, a note where another feed agrees.
    """

    day: Window
    finding: Finding


def find(storage: Storage, feed: str, rows: Rows, days: Sequence[Window]) -> list[LevelShift]:
    """The shifts among a feed's rows of some market days. A series that cannot be read is logged and not compared."""
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
    """The rows without, and only, those of the zones, metrics and days of these shifts; border rows among them."""
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
    """The net series of each zone and metric; of a mix in MW the sum over its fuels, of shares nothing."""
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
    """Return what is served of a series from two weeks before some days on: each file is one request of a bucket."""
    (zone, metric), window = pair, levels.reference_window(days)
    files = [monthfile.month(storage, layout.series(metric, zone, month))[0] for month in months(window)]
    served = concat(files)
    inside = (served.ts >= window.start) & (served.ts < window.end)
    net = served.take(inside & served.where(lambda label: not label.border))
    return _hourly(metric, net.ts, net.value)


def _compare(
    storage: Storage, feed: str, pair: Pair, day: Window, new: Hourly
) -> tuple[Literal["error", "warning", "note"], str]:
    """With what other feeds state for that day, served or not: how grave a shift is, and who agrees or disagrees."""
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
