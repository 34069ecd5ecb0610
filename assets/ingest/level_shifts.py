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
from warehouse.judge.levels import Hourly, Shift
from warehouse.judge.quality import Finding
from warehouse.market.clock import Window, months
from warehouse.market.metrics import BY_FUEL
from warehouse.rows.schema import Readings, Rows
from warehouse.rows.versions import LIVE, Floats, Ints
from warehouse.series import vintages
from warehouse.series.reader import Reader
from warehouse.store.storage import Storage


class JudgedShift(NamedTuple):
    """A shift of one zone's metric. error: another feed disagrees with the rows too; note: another feed agrees."""

    pair: Pair
    shift: Shift
    severity: Literal["error", "warning", "note"]
    others: str = ""
    """The feeds that agree or disagree."""

    @property
    def finding(self) -> Finding:
        return Finding("level", self.severity, *self.pair, self.shift.hours, f"{self.shift}{self.others}")


def find(storage: Storage, feed: str, rows: Rows, days: Sequence[Window]) -> list[JudgedShift]:
    """The shifts among a feed's rows of some market days. A series that cannot be read is logged and not compared."""
    compared: list[JudgedShift] = []
    for (zone, metric), new in _by_pair(rows).items():
        if not days or levels.tolerance(metric, zone) is None:
            continue
        with logged(f"levels of {zone} {metric}"):
            stored = _stored(storage, metric, zone, levels.reference_window(days))
            shifts = levels.shifts(metric, zone, days, new, stored)
            compared += [_compared(storage, feed, (zone, metric), shift, new) for shift in shifts]
    return compared


def apart(rows: Rows, compared: Iterable[JudgedShift]) -> tuple[Rows, Rows]:
    """The rows without, and only, those of the zones, metrics and days of these shifts; border rows among them."""
    days: dict[Pair, list[Window]] = defaultdict(list)
    for shift in compared:
        days[shift.pair].append(shift.shift.day)
    believed, aside = Rows(), Rows()
    believed.merge_notes(rows)
    for key, readings in rows.readings.items():
        ts = np.asarray(readings.ts, np.int64)
        bad = np.zeros(len(ts), np.bool_)
        for day in days.get((key.zone, key.metric), ()):
            bad |= (ts >= day.start) & (ts < day.end)
        for part, chosen in ((believed, ~bad), (aside, bad)):
            if chosen.any():
                values = np.asarray(readings.values, np.float64)
                part.readings[key] = Readings(ts[chosen].tolist(), values[chosen].tolist())
    return believed, aside


def _by_pair(rows: Rows) -> dict[Pair, Hourly]:
    """The net series of each zone and metric; of a mix in MW the sum over its fuels, of shares nothing."""
    parts: dict[Pair, list[Readings]] = defaultdict(list)
    for key, readings in rows.readings.items():
        if key.counterparty is None and key.link is None and key.unit != "%" and readings.ts:
            parts[key.zone, key.metric].append(readings)
    return {
        pair: _hourly(
            pair[1],
            np.concatenate([np.asarray(r.ts, np.int64) for r in every]),
            np.concatenate([np.asarray(r.values, np.float64) for r in every]),
        )
        for pair, every in parts.items()
    }


def _hourly(metric: str, ts: Ints, value: Floats) -> Hourly:
    if metric not in BY_FUEL:
        return levels.hourly(ts, value)
    instants, code = np.unique(ts, return_inverse=True)
    return levels.hourly(instants, np.bincount(code, value).astype(np.float64))


def _stored(storage: Storage, metric: str, zone: str, window: Window) -> Hourly:
    """What is served of a series."""
    net = Reader(storage, 0).read(zone, metric, "net", window)
    return _hourly(metric, net.ts, net.value)


def _compared(storage: Storage, feed: str, pair: Pair, shift: Shift, new: Hourly) -> JudgedShift:
    """With what other feeds state for that day, served or not."""
    zone, metric = pair
    verdicts: dict[str, bool] = {}
    for other, hours in _others(storage, feed, metric, zone, shift.day).items():
        agrees = levels.agree(metric, zone, shift.day, new, hours)
        if agrees is not None:
            verdicts[other] = agrees
    if any(verdicts.values()):
        return JudgedShift(pair, shift, "note", f"; {', '.join(f for f, agrees in verdicts.items() if agrees)} agrees")
    if verdicts:
        return JudgedShift(pair, shift, "error", f"; {', '.join(verdicts)} disagrees too")
    return JudgedShift(pair, shift, "warning")


def _others(storage: Storage, feed: str, metric: str, zone: str, day: Window) -> dict[str, Hourly]:
    """The live rows of every other feed of a series, by feed."""
    series: dict[str, tuple[list[Ints], list[Floats]]] = defaultdict(lambda: ([], []))
    for month in months(day):
        versions = vintages.read(storage, vintages.Month(metric, zone, month))
        for number, label in enumerate(versions.labels):
            if label.feed != feed and label.counterparty is None and label.link is None and label.unit != "%":
                mine = (versions.label == number) & (versions.superseded_at == LIVE)
                mine &= (versions.ts >= day.start) & (versions.ts < day.end)
                series[label.feed][0].append(versions.ts[mine])
                series[label.feed][1].append(versions.value[mine])
    return {name: _hourly(metric, np.concatenate(ts), np.concatenate(value)) for name, (ts, value) in series.items()}
