"""The line from a feed's market days to the warehouse: ask, keep, parse, judge, fold, note. Each arrow is one call with a plain argument.

No Dagster here, so that the command line, tests and assets share it. What a run tells is `assets.reports`' business,
publishing documents `assets.publish`'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from typing import Protocol

import numpy as np

from assets import reports
from assets.plots import excerpt
from assets.reports import DayReport, Failures, RunReport
from assets.sources._http import Answer
from warehouse import clock, coverage, health, layout, quality, raw, series
from warehouse.clock import MarketDay, Window
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, NotPublished, OutOfReach
from warehouse.market import Feed, Request, Source
from warehouse.schema import Rows, Strip
from warehouse.storage import Folder

MOST_REQUESTS = 20_000
"""Of one run, follow-up requests included: a listing that leads to more is not a listing that we know."""


class Asks(Protocol):
    """The polite session, or anything that answers requests as it does."""

    def ask(self, request: Request) -> Answer: ...


@dataclass(frozen=True, slots=True)
class House:
    """Everything a run needs from outside, bound once by `orchestration.resources`."""

    storage: Folder
    mode: str
    sources: Mapping[str, Source]
    rights: Collection[str]
    ranks: Mapping[str, int]
    configured: Collection[str]
    session: Asks
    plan: Callable[[Feed, Sequence[MarketDay]], list[Request]]
    """Which questions to ask for these days: the feed's own, or the recorded ones."""


@dataclass(slots=True)
class _Gathered:
    """Answers in the order in which they came, and what was not had."""

    answers: list[Answer] = field(default_factory=list)
    failures: list[tuple[Request, FeedError]] = field(default_factory=list)
    bytes: int = 0
    kept: int = 0


def run(house: House, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """Brings these market days of a feed into the warehouse; failures are reported, never raised, but for our own files."""
    today = clock.local_date(clock.now(), feed.tz)
    beyond = {} if house.mode == "recorded" else {d: error for d in days if (error := feed.out_of_reach(d.day, today))}
    within = [d for d in days if d not in beyond]
    try:
        requests = house.plan(feed, within) if within else []
    except FeedError as error:
        gathered = _Gathered(failures=[(Request(feed.id, "", days=tuple(d.day for d in within)), error)])
    else:
        gathered = _gather(house, feed, requests)
    return _digest(house, feed, days, beyond, gathered)


def rerun(house: House, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """The same from the kept bytes, without asking anybody. Only rows of these days are folded.

    What a kept body says of other days may have been corrected by a later one, which is not read here. Bodies of the
    neighbouring days are, since charts and daily files reach over midnight.
    """
    gathered = _Gathered()
    first, last = min(d.day for d in days) - timedelta(days=1), max(d.day for d in days) + timedelta(days=1)
    for kept in raw.find(house.storage, feed.id, first, last):
        if kept.request.kind == "rows":
            gathered.answers.append(Answer(kept.request, kept.body, kept.fetched_at))
            gathered.bytes += len(kept.body)
    return _digest(house, feed, days, {}, gathered, again=True)


def _gather(house: House, feed: Feed, requests: Sequence[Request]) -> _Gathered:
    """Asks, keeps, and follows listings and pages until nothing is left to ask."""
    got = _Gathered()
    queue = list(reversed(requests))
    seen: set[Request] = set()
    shelf = cache(partial(_kept_for_good, house, feed, requests))
    while queue:
        request = queue.pop()
        if request in seen:
            continue
        seen.add(request)
        try:
            if len(seen) > MOST_REQUESTS:
                raise FeedChanged(f"more than {MOST_REQUESTS} requests")
            if request.once and (kept := shelf().get(request.url)):
                got.answers.append(Answer(request, kept.body, kept.fetched_at))
                continue
            answer = house.session.ask(request)
            got.bytes += len(answer.body)
            if request.kind == "rows":
                got.answers.append(answer)
                got.kept += raw.keep(house.storage, request, answer.body, answer.fetched_at) is not None
            if feed.follow is not None and house.mode != "recorded":
                queue.extend(reversed(feed.follow(answer.body, request)))
        except FeedError as error:
            got.failures.append((request, error))
            if isinstance(error, CredentialsMissing):
                break
    return got


def _kept_for_good(house: House, feed: Feed, requests: Sequence[Request]) -> dict[str, raw.Kept]:
    """The kept bodies of files that never change, by address, of the days that are asked for."""
    days = [day for request in requests for day in request.days]
    bodies = raw.find(house.storage, feed.id, min(days, default=None), max(days, default=None))
    return {kept.request.url: kept for kept in bodies if kept.request.once}


def _digest(
    house: House, feed: Feed, days: Sequence[MarketDay], beyond: Mapping[MarketDay, OutOfReach], got: _Gathered, again: bool = False,
) -> RunReport:
    """Parse, judge, fold and note what was gathered; `again`: from kept bytes."""
    now = clock.now()
    within = [d for d in days if d not in beyond]
    stated, sifted = _stated(feed, got, now)
    if again:
        stated = _within(stated, [reports.window_of(feed, d) for d in days])
    # Of a yearly feed nothing is owed interval by interval: a year is one row a fuel.
    judgement = quality.judge(stated, feed, [] if feed.yearly else [d.window for d in within], now)
    aside = sum(_set_aside(house, feed, within, verdict) for verdict in (*sifted, judgement))
    rows, whole = judgement.kept, _evicting(judgement, within, got.failures)
    folded = series.fold(house.storage, feed.id, rows, whole, house.ranks, now)
    told = reports.of_days(feed, days, beyond, rows, judgement.short, got.failures, now)
    _note(house, feed, told, rows, got, aside, again)
    found = [*(f for verdict in sifted for f in verdict.findings if f.severity == "error"), *judgement.findings]
    return RunReport(
        feed.id, told, len(got.answers) + len(got.failures), got.bytes, got.kept, dict(rows.dropped), aside,
        tuple(found), tuple(folded), tuple(error for _, error in got.failures), excerpt(rows),
    )


def _within(rows: Rows, windows: Sequence[Window]) -> Rows:
    """The rows that begin in one of some windows, which do not overlap."""
    kept = Rows()
    kept.dropped.update(rows.dropped)
    starts, ends = (np.array(sorted(bounds), np.int64) for bounds in zip(*((w.start, w.end) for w in windows), strict=True))
    for key, strip in rows.strips.items():
        ts, values = np.asarray(strip.ts, np.int64), np.asarray(strip.values, np.float64)
        place = np.searchsorted(starts, ts, side="right") - 1
        inside = (place >= 0) & (ts < ends[place])
        if inside.any():
            kept.extend(key, ts[inside].tolist(), values[inside].tolist())
    return kept


def _stated(feed: Feed, got: _Gathered, now: int) -> tuple[Rows, list[quality.Judgement]]:
    """What all answers state together, and the verdicts over bodies at odds with themselves. Of two answers the later stays."""
    parts, sifted = Rows(), []
    for answer in got.answers:
        try:
            rows = feed.parse(answer.body, answer.request)
        except FeedError as error:
            got.failures.append((answer.request, error))
            continue
        if any(_repeats(strip) for strip in rows.strips.values()):
            sifted.append(quality.judge(rows, feed, (), now))
            rows = sifted[-1].kept
        parts.merge(rows)
    for key, strip in parts.strips.items():
        if _repeats(strip):
            newest = dict(zip(strip.ts, strip.values, strict=True))
            parts.strips[key] = Strip(list(newest), list(newest.values()))
    return (parts if feed.combine is None else feed.combine(parts)), sifted


def _repeats(strip: Strip) -> bool:
    return len(set(strip.ts)) < len(strip.ts)


def _set_aside(house: House, feed: Feed, days: Sequence[MarketDay], judgement: quality.Judgement) -> int:
    """Keeps rows that are not believed beside the warehouse; the same rows again change nothing."""
    count = len(judgement.quarantined)
    if count:
        kept = quality.to_json(judgement)
        key = layout.quarantine(feed.id, str(days[0]) if days else "undated", hashlib.sha256(kept).hexdigest()[:8])
        house.storage.put(key, kept)
    return count


def _evicting(judgement: quality.Judgement, days: Sequence[MarketDay], failures: Failures) -> Mapping[coverage.Pair, Sequence[Window]]:
    """The whole spans, less the days of which a request failed: what is missing there may only not have been had."""
    hurt = {d for request, error in failures if not isinstance(error, NotPublished) for d in request.days or [m.day for m in days]}
    starts = {m.start for m in days if m.day in hurt}
    return {pair: [span for span in spans if span.start not in starts] for pair, spans in judgement.whole.items()}


def _note(house: House, feed: Feed, told: Sequence[DayReport], rows: Rows, got: _Gathered, quarantined: int, again: bool) -> None:
    """Tells the source's health, zone by zone."""
    now = clock.now()
    oldest = clock.local_date(now - (feed.revised_days + 2) * clock.DAY, feed.tz)
    judging = not again and (house.mode == "recorded" or any(day.day >= str(oldest) for day in told))
    heard = max((answer.fetched_at for answer in got.answers), default=0) if again else now
    known = {h.zone: h for h in health.load(house.storage, feed.source) if h.feed == feed.id}
    changes = reports.of_zones(feed, known, told, rows, got.failures, quarantined, heard, judging)
    if changes:
        health.note(house.storage, feed.source, changes)
