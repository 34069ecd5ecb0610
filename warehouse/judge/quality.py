"""Validate rows before they are written: `judge(rows)` returns the accepted rows, the quarantined rows and findings.

Impossible values and times and contradictory values are quarantined. Gaps, partial days and frozen series are only
reported, because they may be true, and missing rows are never made up. For complete ranges, see
`warehouse.judge.coverage`; for jumps and level shifts, see `warehouse.judge.levels`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple

import numpy as np
import orjson

from warehouse.judge import coverage
from warehouse.judge.coverage import Pair
from warehouse.market.clock import DAY, HOUR, LAST_INSTANT, RESOLUTIONS, MarketDay, Window, iso
from warehouse.market.feeds import Feed
from warehouse.market.metrics import define
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import LONGEST_AHEAD_DAYS
from warehouse.rows.schema import Readings, Rows, SeriesKey
from warehouse.rows.versions import Flags, Floats, Ints

ANY_TIME = Window(0, LAST_INSTANT)
AHEAD_OF_THE_CLOCK = 15 * 60
"""The seconds after a response in which a measured interval may begin: dispatch targets and some clocks run ahead."""
FROZEN_READINGS = 8
"""The fewest equal readings that count as frozen. Three equal hourly readings do not prove anything."""
STRAY_DAYS = 35
"""A response may contain the whole month of a requested day, and the days around that month."""

Check = Literal[
    "time",
    "range",
    "conflict",
    "grid",
    "unknown",
    "notice",
    "duplicate",
    "dropped",
    "gap",
    "partial",
    "frozen",
    "level",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation about a zone's metric. `count` is the number of rows, or of intervals for `gap` and `partial`."""

    check: Check
    severity: Literal["error", "warning", "note"]
    """`error`: rows were quarantined or left out. `warning`: the operator may want to check. `note`: only counted."""
    zone: str
    metric: str
    count: int
    detail: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of `judge` for the rows of a run of a feed."""

    accepted: Rows
    quarantined: Rows
    findings: tuple[Finding, ...]
    complete: Mapping[Pair, tuple[Window, ...]]
    """The ranges without a missing reading, per zone and metric. Only in these may a merge evict rows."""
    incomplete: Mapping[Pair, tuple[Window, ...]]
    """The ranges that lack a reading that is due, per zone and metric."""


def possible_time(feed: Feed, days: Sequence[date], answered_at: int, metric: str) -> Window:
    """Return the window in which rows of a metric may begin in a response.

    It begins at the feed's first day, ends with the data published by then, and stays near the requested market days.
    It excludes altered years and measured values of the future.
    """
    stray = (STRAY_DAYS if not feed.yearly else 400) * DAY
    first, last = (min(days), max(days)) if days else (feed.since, date.max - timedelta(days=1))
    start = max(MarketDay(max(first, feed.since), feed.tz).start - stray, 0)
    end = min(answered_at + _ahead(feed, metric), MarketDay(last, feed.tz).end + stray if days else LAST_INSTANT)
    return Window(start, max(start, end))


def _ahead(feed: Feed, metric: str) -> int:
    """Return the seconds after a response before which its rows begin."""
    if feed.yearly:
        return 366 * DAY
    if define(metric).due == "vintages":
        return LONGEST_AHEAD_DAYS * DAY
    if feed.ahead_days or define(metric).ahead:
        return (feed.ahead_days + 1) * DAY
    return AHEAD_OF_THE_CLOCK + 1


def judge(rows: Rows, feed: Feed, spans: Sequence[Window], now: int, days: Sequence[date] | None = None) -> Judgement:
    """Validate a feed's responses for the market days `spans` at `now` (Unix seconds). `rows` is not changed.

    `days` are the days requested by a single response of `now`: rows that cannot start in it are quarantined.
    """
    accepted, aside = Rows(), Rows()
    findings: list[Finding] = []
    for key, readings in rows.readings.items():
        possible = ANY_TIME if days is None else possible_time(feed, days, now, key.metric)
        findings += _split_readings(key, readings, possible, accepted, aside)
    _set_estimates_aside(accepted, aside)
    for key, readings in accepted.readings.items():
        findings += _frozen(key, readings)
    cover = coverage.check(accepted, feed, spans, now)
    for (zone, metric), gaps in sorted(cover.gaps.items()):
        findings += [
            Finding(g.kind, "warning", zone, metric, g.intervals, f"from {iso(g.start)} to {iso(g.end)}") for g in gaps
        ]
    findings += [
        Finding("unknown", "error", member.zone, member.metric, len(at), f"{member.name} from {iso(min(at))}")
        for member, at in sorted(rows.unknown.items())
        if at
    ]
    findings += [Finding("notice", "warning", "", "", 1, notice) for notice in sorted(rows.notices)]
    findings += [Finding("dropped", "note", "", "", count, reason) for reason, count in sorted(rows.dropped.items())]
    accepted.merge_notes(rows)
    return Judgement(accepted, aside, tuple(findings), cover.complete, cover.incomplete)


def _set_estimates_aside(accepted: Rows, aside: Rows) -> None:
    """Quarantine a zone's estimates at the times of quarantined mix rows, whose findings give the reason."""
    doubted: dict[str, set[int]] = defaultdict(set)
    for key, readings in aside.readings.items():
        if key.metric == Metric.MIX:
            doubted[key.zone].update(readings.ts)
    for key in [key for key in accepted.readings if key.metric == Metric.CARBON_ESTIMATE and key.zone in doubted]:
        estimates = accepted.readings.pop(key)
        wrong = np.isin(estimates.ts, list(doubted[key.zone]))
        for rows, chosen in ((accepted, ~wrong), (aside, wrong)):
            if chosen.any():
                rows.readings[key] = estimates.take(chosen)


class _Fault(NamedTuple):
    """The readings to quarantine, and the reason."""

    check: Check
    readings: Flags
    reason: str


def _split_readings(key: SeriesKey, readings: Readings, possible: Window, accepted: Rows, aside: Rows) -> list[Finding]:
    """Divide a series into accepted and quarantined readings; return the findings. Only one of equal readings stays."""
    ts, values = np.asarray(readings.ts, np.int64), np.asarray(readings.values, np.float64)
    again, conflict = _repeats(ts, values)
    faults = _faults(key, ts, values, conflict, possible)
    bad = np.any([fault.readings for fault in faults], axis=0)
    for rows, chosen in ((accepted, ~(bad | again)), (aside, bad & ~again)):
        if chosen.any():
            rows.readings[key] = readings.take(chosen)
    findings = [
        Finding(fault.check, "error", key.zone, key.metric, int(fault.readings.sum()), _first(key, ts, values, fault))
        for fault in faults
        if fault.readings.any()
    ]
    if again.any():
        findings.append(
            Finding("duplicate", "note", key.zone, key.metric, int(again.sum()), "equal readings of one interval")
        )
    return findings


def _faults(key: SeriesKey, ts: Ints, values: Floats, conflict: Flags, possible: Window) -> list[_Fault]:
    """Return the invalid readings, each under the first reason that applies."""
    low, high = define(key.metric).limits(ZONES[key.zone], key.unit, key.fuel)
    elsewhen = (ts < possible.start) | (ts >= possible.end)
    outside = ((values < low) | (values > high)) & ~elsewhen
    good = ~elsewhen & ~outside
    step = RESOLUTIONS[key.resolution]
    off_grid = (ts % step != 0) if step <= HOUR else np.zeros(len(ts), np.bool_)
    return [
        _Fault("time", elsewhen, "is outside the time range of its response"),
        _Fault("range", outside, f"is outside {low:g} to {high:g} {key.unit}"),
        _Fault("conflict", conflict & good, "two values for one interval"),
        _Fault("grid", off_grid & good & ~conflict, f"not on the {key.resolution} grid"),
    ]


def _repeats(ts: Ints, values: Floats) -> tuple[Flags, Flags]:
    """Return which readings repeat an earlier equal one, and which contradict another one of their time."""
    again, conflict = np.zeros(len(ts), np.bool_), np.zeros(len(ts), np.bool_)
    order = np.argsort(ts, kind="stable")
    first = np.concatenate([[True], np.diff(ts[order]) != 0])[: len(ts)]
    if first.all():
        return again, conflict
    ordered, starts = values[order], np.flatnonzero(first)
    differ = np.minimum.reduceat(ordered, starts) != np.maximum.reduceat(ordered, starts)
    conflict[order] = differ[np.cumsum(first) - 1]
    again[order] = ~first
    return again & ~conflict, conflict


def _first(key: SeriesKey, ts: Ints, values: Floats, fault: _Fault) -> str:
    """Return the reason of a fault and the first reading that it concerns."""
    first = int(np.flatnonzero(fault.readings)[0])
    label = " ".join(part for part in (key.fuel, key.counterparty, key.link) if part)
    return f"{fault.reason}: {label + ' ' if label else ''}{values[first]:g} {key.unit} at {iso(int(ts[first]))}"


def _frozen(key: SeriesKey, readings: Readings) -> list[Finding]:
    """Return a finding about the longest run of a repeated value other than 0, if it is too long for its metric.

    Only the zone's own series are checked, since the value of a border or a plant may stay constant.
    """
    hours = define(key.metric).frozen_hours
    if hours is None or key.counterparty is not None or key.link is not None or len(readings.ts) < 2:
        return []
    order = np.argsort(readings.ts, kind="stable")
    ts, values = np.asarray(readings.ts, np.int64)[order], np.asarray(readings.values, np.float64)[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    lengths = np.diff(np.append(starts, len(values)))
    lasting = lengths * RESOLUTIONS[key.resolution] >= hours * HOUR
    frozen = lasting & (lengths >= FROZEN_READINGS) & (values[starts] != 0)
    if not frozen.any():
        return []
    at = int(np.argmax(np.where(frozen, lengths, 0)))
    detail = f"{values[starts[at]]:g} {key.unit} {lengths[at]} times from {iso(int(ts[starts[at]]))}"
    return [Finding("frozen", "warning", key.zone, key.metric, int(lengths[frozen].sum()), detail)]


def to_json(judgement: Judgement) -> bytes:
    """Return the quarantined rows with reasons as JSON for the operator. `emds rebuild` validates them again."""
    series = [{**key._asdict(), **asdict(readings)} for key, readings in judgement.quarantined.readings.items()]
    reasons = [asdict(f) for f in judgement.findings if f.severity == "error"]
    return orjson.dumps({"findings": reasons, "strips": series})
