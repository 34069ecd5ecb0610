"""The line from a feed's market days to the warehouse: ask, keep, parse, judge, fold, note. Each arrow is one call with a plain argument.

No Dagster here, so that the command line, tests and assets share it. What a run tells is `assets.ingest.reports`' business,
publishing documents `assets.documents.publish`'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial

from assets.fetch.session import Fetched
from assets.ingest import reports
from assets.ingest.context import PipelineContext
from assets.ingest.plots import excerpt
from assets.ingest.reports import DayReport, Failures, RunReport
from warehouse import clock, coverage, health, layout, quality, raw, series
from warehouse.clock import MarketDay, Window
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, NotPublished, OutOfReach
from warehouse.market import Feed, Request
from warehouse.schema import Readings, Rows

MOST_REQUESTS = 20_000
"""Of one run, follow-up requests included: a listing that leads to more is not a listing that we know."""


@dataclass(slots=True)
class _Gathered:
    """What the answers of a run state, read one by one as they come: a month of some feeds is a gigabyte of bodies."""

    feed: Feed
    rows: Rows = field(default_factory=Rows)
    sifted: list[quality.Judgement] = field(default_factory=list)
    """The verdicts over bodies at odds with themselves."""
    failures: list[tuple[Request, FeedError]] = field(default_factory=list)
    asked: int = 0
    bytes: int = 0
    kept: int = 0
    heard: int = 0
    """When the newest answer came."""

    def read(self, answer: Fetched) -> None:
        """Takes an answer's rows in. What it contradicts itself in is set aside at once: another answer may well say otherwise."""
        self.heard = max(self.heard, answer.fetched_at)
        try:
            rows = self.feed.parse(answer.body, answer.request)
        except FeedError as error:
            self.failures.append((answer.request, error))
            return
        if any(_repeats(strip) for strip in rows.strips.values()):
            self.sifted.append(quality.judge(rows, self.feed, (), answer.fetched_at))
            rows = self.sifted[-1].kept
        self.rows.merge(rows)

    def stated(self) -> Rows:
        """What all answers state together; of two answers the later stays."""
        for key, strip in self.rows.strips.items():
            if _repeats(strip):
                newest = dict(zip(strip.ts, strip.values, strict=True))
                self.rows.strips[key] = Readings(list(newest), list(newest.values()))
        return self.rows if self.feed.combine is None else self.feed.combine(self.rows)


def _repeats(strip: Readings) -> bool:
    return len(set(strip.ts)) < len(strip.ts)


def ingest_days(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """Brings these market days of a feed into the warehouse; failures are reported, never raised, but for our own files."""
    today = clock.local_date(clock.now(), feed.tz)
    beyond = (
        {} if pipeline.mode == "recorded" else {d: error for d in days if (error := feed.out_of_reach(d.day, today))}
    )
    within = [d for d in days if d not in beyond]
    try:
        requests = pipeline.plan(feed, within) if within else []
    except FeedError as error:
        gathered = _Gathered(feed, failures=[(Request(feed.id, "", days=tuple(d.day for d in within)), error)])
    else:
        gathered = _gather(pipeline, feed, requests)
    return _digest(pipeline, gathered, days, beyond)


def reparse_days(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """The same from the kept bytes, without asking anybody.

    What a kept body says of other days is left to their own rerun, since a later body may have corrected it. Bodies of the
    neighbouring days are read too: charts and daily files reach over midnight.
    """
    gathered = _Gathered(feed)
    first, last = min(d.day for d in days) - timedelta(days=1), max(d.day for d in days) + timedelta(days=1)
    for kept in raw.find(pipeline.storage, feed.id, first, last):
        if kept.request.kind == "rows":
            gathered.read(Fetched(kept.request, kept.body, kept.fetched_at))
            gathered.bytes += len(kept.body)
    return _digest(pipeline, gathered, days, {}, again=True)


def _gather(pipeline: PipelineContext, feed: Feed, requests: Sequence[Request]) -> _Gathered:
    """Asks, keeps, reads, and follows listings and pages until nothing is left to ask."""
    got = _Gathered(feed)
    queue = list(reversed(requests))
    seen: set[Request] = set()
    shelf = cache(partial(_kept_for_good, pipeline, feed, requests))
    while queue:
        request = queue.pop()
        if request in seen:
            continue
        seen.add(request)
        try:
            if len(seen) > MOST_REQUESTS:
                raise FeedChanged(f"more than {MOST_REQUESTS} requests")
            if request.once and (kept := shelf().get(request.url)):
                got.read(Fetched(request, kept.body, kept.fetched_at))
                continue
            got.asked += 1
            answer = pipeline.session.ask(request)
            got.bytes += len(answer.body)
            if request.kind == "rows":
                got.kept += raw.keep(pipeline.storage, request, answer.body, answer.fetched_at) is not None
                got.read(answer)
            if feed.follow is not None and pipeline.mode != "recorded":
                queue.extend(reversed(feed.follow(answer.body, request)))
        except FeedError as error:
            got.failures.append((request, error))
            if isinstance(error, CredentialsMissing):
                # Whoever lacks a key lacks it for every question of its kind: they are not asked, but their days and zones failed.
                got.failures += [(other, error) for other in queue if other.secrets]
                queue = [other for other in queue if not other.secrets]
    return got


def _kept_for_good(pipeline: PipelineContext, feed: Feed, requests: Sequence[Request]) -> dict[str, raw.Kept]:
    """The kept bodies of files that never change, by address, of the days that are asked for."""
    days = [day for request in requests for day in request.days]
    bodies = raw.find(pipeline.storage, feed.id, min(days, default=None), max(days, default=None))
    return {kept.request.url: kept for kept in bodies if kept.request.once}


def _digest(
    pipeline: PipelineContext,
    got: _Gathered,
    days: Sequence[MarketDay],
    beyond: Mapping[MarketDay, OutOfReach],
    again: bool = False,
) -> RunReport:
    """Judge, fold and note what was gathered; `again`: from kept bytes."""
    now, feed = clock.now(), got.feed
    within = [d for d in days if d not in beyond]
    stated = got.stated()
    if again:
        stated = _own(pipeline, feed, days, stated)
    # Of a yearly feed nothing is owed interval by interval: a year is one row a fuel.
    judgement = quality.judge(stated, feed, [] if feed.yearly else [d.window for d in within], now)
    aside = sum(_set_aside(pipeline, feed, within, verdict) for verdict in (*got.sifted, judgement))
    rows, whole = judgement.kept, _evicting(judgement, within, got.failures)
    folded = series.fold(pipeline.storage, feed.id, rows, whole, pipeline.ranks, now)
    told = reports.of_days(feed, days, beyond, rows, judgement.short, got.failures, now)
    _note(pipeline, got, told, rows, aside, again)
    found = [*(f for verdict in got.sifted for f in verdict.findings if f.severity == "error"), *judgement.findings]
    return RunReport(
        feed.id,
        told,
        got.asked,
        got.bytes,
        got.kept,
        dict(rows.dropped),
        aside,
        tuple(found),
        tuple(folded),
        tuple(error for _, error in got.failures),
        excerpt(rows),
    )


def _own(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay], rows: Rows) -> Rows:
    """The rows of these days, and of days that no kept body was asked for."""
    asked = [reports.window_of(feed, day) for day in days]
    stamps = {ts for strip in rows.strips.values() for ts in strip.ts}
    day_of = {ts: clock.local_date(ts, feed.tz) for ts in stamps if not any(ts in window for window in asked)}
    if not day_of:
        return rows
    questions = raw.questions(pipeline.storage, feed.id, min(day_of.values()), max(day_of.values()))
    others = {day for question in questions for day in question.days}
    foreign = {ts for ts, day in day_of.items() if day in others}
    kept = Rows()
    kept.dropped.update(rows.dropped)
    for key, strip in rows.strips.items():
        pairs = [(ts, value) for ts, value in zip(strip.ts, strip.values, strict=True) if ts not in foreign]
        if pairs:
            kept.extend(key, [ts for ts, _ in pairs], [value for _, value in pairs])
    return kept


def _set_aside(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay], judgement: quality.Judgement) -> int:
    """Keeps rows that are not believed beside the warehouse; the same rows again change nothing."""
    count = len(judgement.quarantined)
    if count:
        kept = quality.to_json(judgement)
        key = layout.quarantine(feed.id, str(days[0]) if days else "undated", hashlib.sha256(kept).hexdigest()[:8])
        pipeline.storage.put(key, kept)
    return count


def _evicting(
    judgement: quality.Judgement, days: Sequence[MarketDay], failures: Failures
) -> Mapping[coverage.Pair, Sequence[Window]]:
    """The whole spans, less the days of which a request failed: what is missing there may only not have been had."""
    hurt = {
        d
        for request, error in failures
        if not isinstance(error, NotPublished)
        for d in request.days or [m.day for m in days]
    }
    starts = {m.start for m in days if m.day in hurt}
    return {pair: [span for span in spans if span.start not in starts] for pair, spans in judgement.whole.items()}


def _note(
    pipeline: PipelineContext, got: _Gathered, told: Sequence[DayReport], rows: Rows, quarantined: int, again: bool
) -> None:
    """Tells the source's health, zone by zone."""
    now, feed = clock.now(), got.feed
    oldest = clock.local_date(now - (feed.revised_days + 2) * clock.DAY, feed.tz)
    judging = not again and (pipeline.mode == "recorded" or any(day.day >= str(oldest) for day in told))
    heard = got.heard if again else now
    known = {h.zone: h for h in health.load(pipeline.storage, feed.source) if h.feed == feed.id}
    changes = reports.of_zones(feed, known, told, rows, got.failures, quarantined, heard, judging)
    if changes:
        health.note(pipeline.storage, feed.source, changes)
