"""Evaluate the checks of a feed's asset in the asset's own step: three per market day, and one for freshness.

They examine the stored rows, whichever run stored them: quarantined rows without a replacement, missing intervals,
frozen series and late rows. They report and do not block, since implausible rows were quarantined before. Checks that
need a second feed are rules of `assets.sql.rules`. No `from __future__ import annotations`: Dagster reads annotations.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import dagster as dg
import numpy as np
import orjson

from assets.ingest import level_shifts
from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from assets.ingest.stored_days import StoredRows
from assets.partitions import asset_key, key_of
from warehouse.documents import health
from warehouse.errors import name_unknown
from warehouse.judge import coverage, quality
from warehouse.market import clock
from warehouse.market.clock import RESOLUTIONS, MarketDay, Window, iso
from warehouse.market.feeds import Feed
from warehouse.rows.schema import SeriesKey
from warehouse.rows.versions import Floats, Ints
from warehouse.store import layout
from warehouse.store.storage import Storage

PLAUSIBLE, COMPLETE, NO_ANOMALIES, FRESH = "plausible", "complete", "no_anomalies", "fresh"
NOTHING_READ = "no row of this day is stored, but some are due"
NOTHING_DUE = "no rows are due yet for this day"
SHOWN = 20
"""Maximum number of findings per day that Dagster shows."""
_FRESH_MEANS = (
    "In every zone, the newest row is as recent as the publisher's schedule requires. Based on the data, not on runs."
    " Severity: warning when late, error after four grace periods."
)
Aside = tuple[SeriesKey, Ints, Floats]
"""Rows of a series that were quarantined."""


def check_specs(feed: Feed, partitions: dg.PartitionsDefinition) -> list[dg.AssetCheckSpec]:
    """Return the checks of one feed."""
    key = asset_key(feed)
    by_day = [
        dg.AssetCheckSpec(name, asset=key, description=inspect.getdoc(rule), partitions_def=partitions)
        for name, rule in RULES.items()
    ]
    return [*by_day, dg.AssetCheckSpec(FRESH, asset=key, description=_FRESH_MEANS)]


def _evaluation(
    feed: Feed, check: str, day: MarketDay, findings: Sequence[str], grave: bool, count: int, passed: bool = False
) -> dg.AssetCheckEvaluation:
    """Return a check's result for one market day, which passes if there are no `findings`.

    `count` is the number of affected rows or intervals. If `grave`, a failure is an error, else a warning.
    """
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(feed),
        check_name=check,
        passed=passed or not findings,
        severity=dg.AssetCheckSeverity.ERROR if grave else dg.AssetCheckSeverity.WARN,
        metadata={"findings": dg.MetadataValue.json([*findings[:SHOWN]]), "count": count},
        partition=key_of(feed, str(day)),
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of the rules, read once for all days of a feed."""

    feed: Feed
    now: int
    own: StoredRows
    aside: Sequence[Aside]
    shifts: Sequence[level_shifts.LevelShift]

    def without_rows(self, check: str, day: MarketDay) -> dg.AssetCheckEvaluation | None:
        """Return the result for a day without rows, which passes if no row is due yet. None if the day has rows."""
        window = window_of(self.feed, day)
        if next(self.own.within(window), None) is not None:
            return None
        if coverage.due_until(self.feed, window, self.now) <= window.start:
            return _evaluation(self.feed, check, day, [NOTHING_DUE], False, 0, passed=True)
        return _evaluation(self.feed, check, day, [NOTHING_READ], True, 0)


def evaluate(
    storage: Storage, feed: Feed, days: Sequence[MarketDay], now: int, own: StoredRows
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield the results of every check for every day. `own` contains the feed's rows of these days."""
    if days:
        facts = Facts(feed, now, own, _set_aside(storage, feed, days), _shifts(storage, feed, days, own))
        yield from (rule(facts, day) for day in days for rule in RULES.values())


def _plausible(facts: Facts, day: MarketDay) -> dg.AssetCheckEvaluation:
    """Every value of the day is plausible, unique and aligned to its interval.

    Other values are quarantined. Severity: error.
    """
    window, findings, count = window_of(facts.feed, day), [], 0
    covered = {key: ts for key, ts, _ in facts.own.within(window)}
    for key, ts, values in facts.aside:
        step = RESOLUTIONS[key.resolution]
        have = covered.get(key, np.empty(0, np.int64))  # a row of the series that covers its time replaces it
        at = np.searchsorted(have, ts, side="right") - 1
        replaced = (at >= 0) & (ts < have[np.maximum(at, 0)] + step) if len(have) else np.zeros(len(ts), np.bool_)
        wrong = (ts >= window.start) & (ts < window.end) & ~replaced
        count += int(wrong.sum())
        findings += [
            _set_aside_because(key, value, int(stamp)) for stamp, value in zip(ts[wrong], values[wrong], strict=True)
        ]
    if not findings and (empty := facts.without_rows(PLAUSIBLE, day)):
        return empty
    return _evaluation(facts.feed, PLAUSIBLE, day, findings, True, count)


def _complete(facts: Facts, day: MarketDay) -> dg.AssetCheckEvaluation:
    """Every interval due for the day (23, 24 or 25 hours) is present.

    Severity: warning while the publisher may still deliver it, then error. A day that is not due as a whole passes; its
    findings list what is missing so far.
    """
    feed, now, window = facts.feed, facts.now, window_of(facts.feed, day)
    settled = day.end <= now - feed.revised_days * clock.DAY
    if empty := facts.without_rows(COMPLETE, day):
        return empty
    rows = facts.own.rows(window)
    if feed.yearly:
        missing = sorted(set(feed.zones) - {key.zone for key in rows.readings})
        return _evaluation(feed, COMPLETE, day, [f"{zone}: no row" for zone in missing], settled, len(missing))
    for zone in feed.zones:
        for metric in feed.metrics:
            if not any((key.zone, key.metric) == (zone, metric) for key in rows.readings):
                rows.extend(SeriesKey(zone, metric, "", feed.resolution), [], [])
    gaps = sorted(coverage.check(rows, feed, [window], now).gaps.items())
    findings = [
        f"{zone} {metric}: {gap.intervals} intervals missing from {iso(gap.start)} to {iso(gap.end)}"
        for (zone, metric), parts in gaps
        for gap in parts
    ]
    count = sum(gap.intervals for _, parts in gaps for gap in parts)
    is_running = coverage.due_until(feed, window, now) < window.end
    return _evaluation(feed, COMPLETE, day, findings, settled, count, passed=is_running)


def _shifts(storage: Storage, feed: Feed, days: Sequence[MarketDay], own: StoredRows) -> list[level_shifts.LevelShift]:
    """Return the days on which a series shifts its level from the past two weeks, unless another feed agrees."""
    if feed.yearly:
        return []
    windows = [day.window for day in days]
    rows = own.rows(Window(min(w.start for w in windows), max(w.end for w in windows)))
    return [shift for shift in level_shifts.find(storage, feed.id, rows, windows) if shift.finding.severity != "note"]


def _no_anomalies(facts: Facts, day: MarketDay) -> dg.AssetCheckEvaluation:
    """No series is frozen, jumps or shifts its level. Severity: warning."""
    if empty := facts.without_rows(NO_ANOMALIES, day):
        return empty
    judged = quality.judge(facts.own.rows(window_of(facts.feed, day)), facts.feed, (), facts.now)
    shifts = [shift.finding for shift in facts.shifts if shift.day == day.window]
    odd = [*(f for f in judged.findings if f.check == "frozen"), *shifts]
    findings = [f"{f.check}: {f.zone} {f.metric}: {f.detail}" for f in odd]
    return _evaluation(facts.feed, NO_ANOMALIES, day, findings, False, sum(f.count for f in odd))


def _set_aside_because(key: SeriesKey, value: float, stamp: int) -> str:
    """Describe a quarantined value. The value of an unknown member is NaN."""
    if np.isnan(value):
        return f"{name_unknown([_name(key)])}; rows and totals that need the name are omitted"
    return f"{_name(key)}: {value:g} {key.unit} at {iso(stamp)} was quarantined"


RULES: Mapping[str, Callable[[Facts, MarketDay], dg.AssetCheckEvaluation]] = {
    PLAUSIBLE: _plausible,
    COMPLETE: _complete,
    NO_ANOMALIES: _no_anomalies,
}
"""The checks per market day, in order. To add a check, add a rule: its docstring is the description in Dagster."""


def _name(key: SeriesKey) -> str:
    return " ".join(filter(None, (key.zone, key.metric, key.fuel, key.counterparty, key.link)))


def _set_aside(storage: Storage, feed: Feed, days: Sequence[MarketDay]) -> list[Aside]:
    """Return the quarantined rows of runs that may have fetched these days. A run fetches at most a month."""
    month_before = (min(day.day for day in days).replace(day=1) - timedelta(days=1)).replace(day=1)
    first, last = str(month_before), str(max(day.day for day in days))
    aside = list[Aside]()
    for key in storage.keys(layout.quarantine_prefix(feed.id)):
        name = key.rpartition("/")[2][:10]
        body = storage.get(key) if first <= name <= last else None  # some bodies have no day
        document = orjson.loads(body) if body else {"strips": ()}
        for member in document["strips"]:
            ts, values, _ = member.pop("ts"), member.pop("values"), member.pop("bounds", None)
            aside.append((SeriesKey(**member), np.array(ts, np.int64), np.array(values, np.float64)))
        if document.get("version") == feed.version:  # a newer parser may know the members
            start = np.array([MarketDay(date.fromisoformat(name), feed.tz).start], np.int64)
            for member in document["unknown"]:
                series = SeriesKey(member["zone"], member["metric"], "", feed.resolution, link=member["name"])
                aside.append((series, start, np.array([np.nan])))
    return aside


def freshness(pipeline: PipelineContext, feed: Feed) -> dg.AssetCheckEvaluation:
    """Return the feed's freshness. `data_until` is the end of the newest interval of the zone furthest behind.

    A feed that has never returned rows passes until a request fails: nothing has been due yet.
    """
    found = health.feed_state(feed, health.load(pipeline.storage, feed.source), clock.now())
    worst, behind = found.state, found.zones if found.state != "ok" else []
    until = min((one.whole_until for one in found.known), default=0)
    is_rowless = worst == "unknown" and not any(one.data_until or one.last_error for one in found.known)
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(feed),
        check_name=FRESH,
        passed=worst == "ok" or is_rowless,
        severity=dg.AssetCheckSeverity.ERROR if worst == "down" else dg.AssetCheckSeverity.WARN,
        metadata={"state": worst, "zones": ", ".join(behind), "data_until": iso(until) if until else "never"},
    )
