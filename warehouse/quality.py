"""What is believed before anything is written: `judge(rows) -> kept rows, rows set aside, findings`. Bounds are `warehouse.ranges`'.

Set aside are values that cannot be and values that contradict each other. Holes, short days, frozen series and leaps
are only told: they may be true, and a missing row is never made up. Which spans are whole is `warehouse.coverage`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import orjson

from warehouse import coverage
from warehouse.clock import HOUR, RESOLUTIONS, Window, iso
from warehouse.coverage import Pair
from warehouse.market import Feed
from warehouse.monthfile import Flags, Floats, Ints
from warehouse.ranges import FROZEN_HOURS, FROZEN_READINGS, jump, physical
from warehouse.schema import Readings, Rows, SeriesKey


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in one zone's metric. `count` is of rows; of intervals for `hole` and `short`."""

    check: Literal["range", "conflict", "grid", "duplicate", "dropped", "hole", "short", "frozen", "leap"]
    severity: Literal["error", "warning", "note"]
    """error: rows were set aside; warning: a person may want to look; note: only counted."""
    zone: str
    metric: str
    count: int
    detail: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict over the rows of one run of a feed."""

    kept: Rows
    quarantined: Rows
    findings: tuple[Finding, ...]
    whole: Mapping[Pair, tuple[Window, ...]]
    """Per zone and metric the parts of the asked spans in which nothing is missing: only there may a fold evict."""
    short: Mapping[Pair, tuple[Window, ...]]
    """And those parts in which a reading is missing that should be there by now."""

    def count(self, severity: str) -> int:
        """How many rows the findings of a severity concern."""
        return sum(f.count for f in self.findings if f.severity == severity)


def judge(rows: Rows, feed: Feed, spans: Sequence[Window], now: int) -> Judgement:
    """Judges the rows of a feed's answers for some market days (or years) at an instant; `rows` stays as it is."""
    kept, aside = Rows(), Rows()
    findings: list[Finding] = []
    for key, strip in rows.strips.items():
        _sift(key, strip, kept, aside, findings)
    for key, strip in kept.strips.items():
        findings += _oddities(key, strip)
    seen = coverage.cover(kept, feed, spans, now)
    for (zone, metric), gaps in sorted(seen.gaps.items()):
        findings += [
            Finding(g.kind, "warning", zone, metric, g.intervals, f"from {iso(g.start)} to {iso(g.end)}") for g in gaps
        ]
    findings += [Finding("dropped", "note", "", "", count, reason) for reason, count in sorted(rows.dropped.items())]
    kept.dropped.update(rows.dropped)
    return Judgement(kept, aside, tuple(findings), seen.whole, seen.short)


def _sift(key: SeriesKey, strip: Readings, kept: Rows, aside: Rows, findings: list[Finding]) -> None:
    """Parts one strip into what is kept and what is set aside; of equal readings one stays."""
    ts, values = np.asarray(strip.ts, np.int64), np.asarray(strip.values, np.float64)
    again, conflict = _repeats(ts, values)
    low, high = physical(key.metric, key.zone, key.unit, key.fuel)
    outside = (values < low) | (values > high)
    step = RESOLUTIONS[key.resolution]
    off_grid = (ts % step != 0) if step <= HOUR else np.zeros(len(ts), np.bool_)
    faults: list[tuple[Literal["range", "conflict", "grid"], Flags, str]] = [
        ("range", outside, f"outside {low:g}..{high:g} {key.unit}"),
        ("conflict", conflict & ~outside, "two values for one interval"),
        ("grid", off_grid & ~outside & ~conflict, f"not on the {key.resolution} grid"),
    ]
    for check, rows, reason in faults:
        if rows.any():
            findings.append(
                Finding(check, "error", key.zone, key.metric, int(rows.sum()), _told(key, ts, values, rows, reason))
            )
    if again.any():
        findings.append(
            Finding("duplicate", "note", key.zone, key.metric, int(again.sum()), "equal readings of one interval")
        )
    bad = outside | conflict | off_grid
    _put(kept, key, strip, ts, values, ~(bad | again))
    _put(aside, key, strip, ts, values, bad & ~again)


def _repeats(ts: Ints, values: Floats) -> tuple[Flags, Flags]:
    """Which readings repeat an earlier equal one, and which contradict another of their instant."""
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


def _told(key: SeriesKey, ts: Ints, values: Floats, rows: Flags, reason: str) -> str:
    """The first offender in words."""
    first = int(np.flatnonzero(rows)[0])
    label = " ".join(part for part in (key.fuel, key.counterparty, key.link) if part)
    return f"{reason}: {label + ' ' if label else ''}{values[first]:g} {key.unit} at {iso(int(ts[first]))}"


def _put(heap: Rows, key: SeriesKey, strip: Readings, ts: Ints, values: Floats, chosen: Flags) -> None:
    if chosen.all():
        heap.strips[key] = Readings(list(strip.ts), list(strip.values))
    elif chosen.any():
        heap.strips[key] = Readings(ts[chosen].tolist(), values[chosen].tolist())


def _oddities(key: SeriesKey, strip: Readings) -> list[Finding]:
    """Frozen stretches and leaps of a zone's own series; a border or a plant may well stand still."""
    if key.counterparty is not None or key.link is not None or len(strip.ts) < 2:
        return []
    ts, values = np.asarray(strip.ts, np.int64), np.asarray(strip.values, np.float64)
    order = np.argsort(ts, kind="stable")
    return [*_frozen(key, ts[order], values[order]), *_leaps(key, ts[order], values[order])]


def _frozen(key: SeriesKey, ts: Ints, values: Floats) -> list[Finding]:
    """The longest stretch of one repeated value other than 0, where it is longer than its metric ever stands still."""
    hours = FROZEN_HOURS.get(key.metric)
    if hours is None:
        return []
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    lengths = np.diff(np.append(starts, len(values)))
    lasting = lengths * RESOLUTIONS[key.resolution] >= hours * HOUR
    frozen = lasting & (lengths >= FROZEN_READINGS) & (values[starts] != 0)
    if not frozen.any():
        return []
    at = int(np.argmax(np.where(frozen, lengths, 0)))
    detail = f"{values[starts[at]]:g} {key.unit} {lengths[at]} times from {iso(int(ts[starts[at]]))}"
    return [Finding("frozen", "warning", key.zone, key.metric, int(lengths[frozen].sum()), detail)]


def _leaps(key: SeriesKey, ts: Ints, values: Floats) -> list[Finding]:
    """Steps between neighbours that a person should look at."""
    bound = jump(key.metric, key.zone)
    if bound is None:
        return []
    steps = np.diff(values)
    leaps = np.flatnonzero((np.abs(steps) > bound) & (np.diff(ts) <= HOUR))
    if not len(leaps):
        return []
    at = int(leaps[0])
    detail = f"from {values[at]:g} to {values[at + 1]:g} {key.unit} at {iso(int(ts[at + 1]))}"
    return [Finding("leap", "warning", key.zone, key.metric, len(leaps), detail)]


def to_json(judgement: Judgement) -> bytes:
    """What was set aside and why, for a person: the rows come back when `emds rebuild` judges the kept bodies again."""
    strips = [
        {**key._asdict(), "ts": strip.ts, "values": strip.values} for key, strip in judgement.quarantined.strips.items()
    ]
    reasons = [asdict(f) for f in judgement.findings if f.severity == "error"]
    return orjson.dumps({"findings": reasons, "strips": strips})
