"""The checks of a market day over held rows: `believed`, `complete`, `steady`, `agrees`. No Dagster here.

They judge what stands in the warehouse, whoever brought it and whenever: rows set aside and never replaced, missing
intervals, series that stand still, and days on which two feeds of one series differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import orjson

from assets import stored_days
from assets.ingest import level_shifts
from assets.ingest.reports import window_of
from assets.stored_days import StoredRows
from warehouse.errors import UNKNOWN_MEMBER
from warehouse.judge import coverage, quality
from warehouse.market import clock
from warehouse.market.clock import HOUR, RESOLUTIONS, MarketDay, Window, iso, months
from warehouse.market.market import Feed, Source
from warehouse.market.metrics import Agreement, define
from warehouse.rows.schema import SeriesKey
from warehouse.rows.versions import Floats, Ints
from warehouse.store import layout
from warehouse.store.storage import Storage

BELIEVED, COMPLETE, STEADY, AGREES = "believed", "complete", "steady", "agrees"
NOTHING_READ = "no row of this day is held, though some are due"
NOTHING_DUE = "nothing of this day is due yet"

AUCTION, ONE_AUCTION = "day-ahead auction", Agreement(0.0, 0.005)
"""How the hub of a feed of Europe's auction is called; two such feeds state one price each, equal to the cent."""
GRAVE = 4.0
"""So many tolerances apart the two cannot both be right: an error, not a warning."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check of one market day. `grave`: a failure is an error, not a warning."""

    check: str
    day: MarketDay
    passed: bool
    grave: bool = False
    count: int = 0
    """Rows or intervals concerned."""
    findings: tuple[str, ...] = ()
    compared: int | None = None
    """Of `agrees`: the hours that both feeds hold; it passes with 0, and says so."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The feed that a feed is compared with, and the series (zone, metric) that both carry."""

    feed: Feed
    series: tuple[tuple[str, str], ...]


def pairing(sources: Mapping[str, Source], feed: Feed) -> Pairing | None:
    """The best other feed that carries some of a feed's series; None where it stands alone."""
    others = [
        (other.rank, other.id, other, shared)
        for source in sources.values()
        for other in source.feeds
        if other.id != feed.id and (shared := _shared(feed, other))
    ]
    if not others:
        return None
    _, _, other, shared = min(others, key=lambda item: (-len(item[3]), item[0], item[1]))
    return Pairing(other, shared)


def _shared(feed: Feed, other: Feed) -> tuple[tuple[str, str], ...]:
    return tuple(
        (zone, metric.value)
        for metric in feed.metrics
        if define(metric).agreement is not None and metric in other.metrics
        for zone in feed.zones
        if zone in other.zones
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules judge a feed's days by, read once for all days."""

    feed: Feed
    now: int
    own: StoredRows
    aside: Sequence[tuple[SeriesKey, Ints, Floats]]
    """Rows set aside in quarantine."""
    shifts: Sequence[level_shifts.JudgedShift]
    other_feed: Feed | None
    others: StoredRows


@dataclass(frozen=True, slots=True)
class Rule:
    """One check by market day: what passing means, and how a day is judged."""

    description: str
    judge: Callable[[Facts, MarketDay], Verdict]


def examine(
    storage: Storage,
    feed: Feed,
    counterpart: Pairing | None,
    days: Sequence[MarketDay],
    now: int,
    checks: Collection[str] = (BELIEVED, COMPLETE, STEADY, AGREES),
    own: StoredRows | None = None,
) -> Iterator[Verdict]:
    """The chosen checks of every day; `agrees` only where the feed has a counterpart.

    `own`: the feed's rows of these days, where they are read already.
    """
    if not days:
        return
    span = {month for day in days for month in months(window_of(feed, day))}
    own = stored_days.read(storage, feed, span) if own is None else own
    other = counterpart if AGREES in checks else None
    facts = Facts(
        feed,
        now,
        own,
        _set_aside(storage, feed, days) if BELIEVED in checks else [],
        _shifts(storage, feed, days, own) if STEADY in checks else [],
        other.feed if other else None,
        stored_days.read(storage, other.feed, span, other.series) if other else StoredRows(),
    )
    chosen = [rule for name, rule in RULES.items() if name in checks and (name != AGREES or other)]
    yield from (rule.judge(facts, day) for day in days for rule in chosen)


def _without_rows(check: str, feed: Feed, day: MarketDay, own: StoredRows, now: int) -> Verdict | None:
    """The verdict of a day of which no row is held: it passes while nothing is due. None where rows are held."""
    window = window_of(feed, day)
    if next(own.within(window), None) is not None:
        return None
    if coverage.due_until(feed, window, now) <= window.start:
        return Verdict(check, day, True, findings=(NOTHING_DUE,))
    return Verdict(check, day, False, True, 0, (NOTHING_READ,))


def believed(
    feed: Feed, day: MarketDay, own: StoredRows, now: int, aside: Sequence[tuple[SeriesKey, Ints, Floats]]
) -> Verdict:
    """Values that were set aside fail, until a row of their series covers that instant."""
    window, findings, count = window_of(feed, day), [], 0
    covered = {key: ts for key, ts, _ in own.within(window)}
    for key, ts, values in aside:
        step = RESOLUTIONS[key.resolution]
        have = covered.get(key, np.empty(0, np.int64))
        at = np.searchsorted(have, ts, side="right") - 1
        replaced = (at >= 0) & (ts < have[np.maximum(at, 0)] + step) if len(have) else np.zeros(len(ts), np.bool_)
        wrong = (ts >= window.start) & (ts < window.end) & ~replaced
        count += int(wrong.sum())
        findings += [
            _set_aside_because(key, value, int(stamp)) for stamp, value in zip(ts[wrong], values[wrong], strict=True)
        ]
    if not findings and (verdict := _without_rows(BELIEVED, feed, day, own, now)):
        return verdict
    return Verdict(BELIEVED, day, not findings, True, count, tuple(findings[:20]))


def complete(feed: Feed, day: MarketDay, own: StoredRows, now: int) -> Verdict:
    """Missing intervals warn while the publisher may still bring them, and are errors afterwards."""
    window = window_of(feed, day)
    settled = day.end <= now - feed.revised_days * clock.DAY
    if verdict := _without_rows(COMPLETE, feed, day, own, now):
        return verdict
    rows = own.rows(window)
    if feed.yearly:
        missing = sorted(set(feed.zones) - {key.zone for key in rows.readings})
        return Verdict(COMPLETE, day, not missing, settled, len(missing), tuple(f"{zone}: no row" for zone in missing))
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
    return Verdict(COMPLETE, day, not findings, settled, count, tuple(findings[:20]))


def _shifts(storage: Storage, feed: Feed, days: Sequence[MarketDay], own: StoredRows) -> list[level_shifts.JudgedShift]:
    """Days of a series at another level than in the two weeks before, unless another feed states the same."""
    if feed.yearly:
        return []
    windows = [day.window for day in days]
    rows = own.rows(Window(min(w.start for w in windows), max(w.end for w in windows)))
    return [shift for shift in level_shifts.find(storage, feed.id, rows, windows) if shift.severity != "note"]


def steady(
    feed: Feed, day: MarketDay, own: StoredRows, now: int, shifts: Sequence[level_shifts.JudgedShift] = ()
) -> Verdict:
    """Series that repeat one value for too long, days that begin with a jump or lie at another level: warnings, since
    all may be true."""
    if verdict := _without_rows(STEADY, feed, day, own, now):
        return verdict
    judged = quality.judge(own.rows(window_of(feed, day)), feed, (), now)
    odd = [f for f in judged.findings if f.check == "frozen"] + [shift.finding for shift in shifts]
    findings = tuple(f"{f.check}: {f.zone} {f.metric}: {f.detail}" for f in odd)
    return Verdict(STEADY, day, not odd, False, sum(f.count for f in odd), findings[:20])


def agrees(feed: Feed, day: MarketDay, own: StoredRows, others: StoredRows, other_feed: Feed) -> Verdict:
    """Hourly means of both feeds, over the hours that both cover whole."""
    window, findings, hours, grave = window_of(feed, day), [], 0, False
    ours = _hourly(own, window)
    for series, theirs in _hourly(others, window).items():
        common = sorted(theirs.keys() & ours.get(series, {}).keys())
        one_auction = feed.hub.startswith(AUCTION) and other_feed.hub.startswith(AUCTION)
        tolerance = ONE_AUCTION if one_auction else define(series[1]).agreement
        if not common or tolerance is None:
            continue
        mine = np.array([ours[series][hour] for hour in common])
        other = np.array([theirs[hour] for hour in common])
        apart = float(np.abs(mine - other).mean())
        allowed = max(tolerance.share * float(np.abs(other).mean()), tolerance.amount)
        hours += len(common)
        if apart > allowed:
            grave |= apart > GRAVE * allowed
            findings.append(
                f"{series[0]} {series[1]}: {apart:.4g} {series[2]} apart from {other_feed.id} on average"
                f" over {len(common)} hours, {allowed:.4g} allowed"
            )
    if not hours:
        nothing = f"nothing to compare: {other_feed.id} holds no hour of this day that {feed.id} holds"
        return Verdict(AGREES, day, True, findings=(nothing,), compared=0)
    return Verdict(AGREES, day, not findings, grave, len(findings), tuple(findings[:20]), hours)


def _set_aside_because(key: SeriesKey, value: float, stamp: int) -> str:
    """What stands of a value that was set aside; one of an unknown member is no number."""
    if np.isnan(value):
        return f"{_name(key)}: {UNKNOWN_MEMBER}its rows, and the totals that need them, are left out"
    return f"{_name(key)}: {value:g} {key.unit} at {iso(stamp)} was set aside"


def _agrees(facts: Facts, day: MarketDay) -> Verdict:
    assert facts.other_feed is not None  # `examine` leaves the rule out without one
    return agrees(facts.feed, day, facts.own, facts.others, facts.other_feed)


RULES: Mapping[str, Rule] = {
    BELIEVED: Rule(
        "Every value of the day is possible, comes once and lies on its grid; others are set aside. Error.",
        lambda facts, day: believed(facts.feed, day, facts.own, facts.now, facts.aside),
    ),
    COMPLETE: Rule(
        "The day (23, 24 or 25 hours) has every interval that is due. Warning while the publisher may still bring it,"
        " error afterwards.",
        lambda facts, day: complete(facts.feed, day, facts.own, facts.now),
    ),
    STEADY: Rule(
        "No series repeats one value longer than its metric ever does, none jumps or leaves its level. Warning.",
        lambda facts, day: steady(
            facts.feed, day, facts.own, facts.now, [s for s in facts.shifts if s.shift.day == day.window]
        ),
    ),
    AGREES: Rule(
        "Hourly means agree with a second feed of the same series; passes where the two share no hour. Warning; error"
        " at four times the tolerance.",
        _agrees,
    ),
}
"""The checks by market day, in their order. To add one, add a rule."""


def _name(key: SeriesKey) -> str:
    return " ".join(filter(None, (key.zone, key.metric, key.fuel, key.counterparty, key.link)))


def _hourly(rows: StoredRows, window: Window) -> dict[tuple[str, str, str], dict[int, float]]:
    """Means by (zone, metric, unit) and hour, of net series, for hours that the readings cover whole."""
    hourly: dict[tuple[str, str, str], dict[int, float]] = {}
    for key, ts, values in rows.within(window):
        step = RESOLUTIONS[key.resolution]
        if define(key.metric).agreement is None or key.counterparty or key.link or step > HOUR:
            continue
        hours, position, counts = np.unique(ts // HOUR, return_inverse=True, return_counts=True)
        means = np.bincount(position, weights=values) / counts
        whole = counts * step == HOUR
        means_by_hour = dict(zip(hours[whole].tolist(), means[whole].tolist(), strict=True))
        hourly.setdefault((key.zone, key.metric, key.unit), {}).update(means_by_hour)
    return hourly


def _set_aside(storage: Storage, feed: Feed, days: Sequence[MarketDay]) -> list[tuple[SeriesKey, Ints, Floats]]:
    """The rows in quarantine of runs that may have asked for these days: a run asks for a month at most."""
    first, last = str(min(day.day for day in days).replace(day=1)), str(max(day.day for day in days))
    aside = []
    for key in storage.keys(layout.quarantine_prefix(feed.id)):
        name = key.rpartition("/")[2][:10]
        body = storage.get(key) if _is_day(name) and _month_before(first) <= name <= last else None
        document = orjson.loads(body) if body else {"strips": ()}
        for member in document["strips"]:
            ts, values = member.pop("ts"), member.pop("values")
            aside.append((SeriesKey(**member), np.array(ts, np.int64), np.array(values, np.float64)))
        if document.get("version") == feed.version:  # a newer parser may know the members
            start = np.array([MarketDay(date.fromisoformat(name), feed.tz).start], np.int64)
            for member in document["unknown"]:
                series = SeriesKey(member["zone"], member["metric"], "", feed.resolution, link=member["name"])
                aside.append((series, start, np.array([np.nan])))
    return aside


def _is_day(name: str) -> bool:
    try:
        return bool(date.fromisoformat(name))
    except ValueError:
        return False


def _month_before(first: str) -> str:
    day = date.fromisoformat(first)
    return str(day.replace(year=day.year - (day.month == 1), month=(day.month - 2) % 12 + 1))
