"""The line from a feed's market days to the warehouse: ask, keep, parse, judge, fold, note. Each arrow is one call with a plain argument.

No Dagster here, so that the command line, tests and assets share it; publishing documents is `assets.publish`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assets.plots import excerpt
from assets.sources._http import Answer
from warehouse import clock, coverage, health, layout, quality, raw, series
from warehouse.clock import MarketDay
from warehouse.errors import CredentialsMissing, FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.health import Health
from warehouse.market import Feed, Request, Source
from warehouse.schema import Rows, Strip
from warehouse.series import Folded
from warehouse.storage import Folder

MOST_REQUESTS = 20_000
"""Of one run, follow-up requests included: a listing that leads to more is not a listing that we know."""

Status = Literal["done", "short", "waiting", "missing", "out of reach", "failed"]


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


@dataclass(frozen=True, slots=True)
class DayReport:
    """What became of one market day of a feed. `first` and `last` are interval starts, None without rows."""

    day: str
    status: Status
    rows: int = 0
    first: int | None = None
    last: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run over market days of one feed did."""

    feed: str
    days: tuple[DayReport, ...]
    requests: int = 0
    bytes: int = 0
    kept: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0
    findings: tuple[quality.Finding, ...] = ()
    folded: tuple[Folded, ...] = ()
    failures: tuple[FeedError, ...] = ()
    sample: Rows = field(default_factory=Rows)
    """Some of the judged rows, for tables and plots."""

    @property
    def failed(self) -> list[DayReport]:
        return [day for day in self.days if day.status == "failed"]

    @property
    def zones(self) -> set[str]:
        """The zones whose series may have changed."""
        return {f.zone for f in self.folded if f.wrote}


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
    within = [d for d in days if house.mode == "recorded" or feed.reaches(d.day, today)]
    try:
        requests = house.plan(feed, within) if within else []
    except FeedError as error:
        requests, gathered = [], _Gathered(failures=[(Request(feed.id, "", days=tuple(d.day for d in within)), error)])
    else:
        gathered = _gather(house, feed, requests)
    return _digest(house, feed, days, within, gathered)


def rerun(house: House, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """The same from the kept bytes, without asking anybody."""
    gathered = _Gathered()
    for kept in raw.find(house.storage, feed.id, min(d.day for d in days), max(d.day for d in days)):
        if kept.request.kind == "rows":
            gathered.answers.append(Answer(kept.request, kept.body, kept.fetched_at, kept.request.url))
            gathered.bytes += len(kept.body)
    return _digest(house, feed, days, days, gathered)


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
                got.answers.append(Answer(request, kept.body, kept.fetched_at, request.url))
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


def _digest(house: House, feed: Feed, days: Sequence[MarketDay], within: Sequence[MarketDay], got: _Gathered) -> RunReport:
    """Parse, judge, fold and note what was gathered."""
    now = clock.now()
    spans = [year_window(d) if feed.yearly else d.window for d in within]
    stated, sifted = _stated(feed, got, now)
    judgement = quality.judge(stated, feed, spans, now)
    aside = sum(_set_aside(house, feed, within, verdict) for verdict in (*sifted, judgement))
    rows, whole = judgement.kept, _evicting(feed, judgement, within, got.failures)
    folded = series.fold(house.storage, feed.id, rows, whole, house.ranks, now)
    stamps = np.sort(np.concatenate([np.empty(0, np.int64), *(np.asarray(s.ts, np.int64) for s in rows.strips.values())]))
    asked = frozenset(within)
    reports = tuple(_day_report(feed, day, day in asked, stamps, judgement, got.failures, now) for day in days)
    _note(house, feed, reports, rows, got.failures, aside, now)
    found = [*(f for verdict in sifted for f in verdict.findings if f.severity == "error"), *judgement.findings]
    return RunReport(
        feed.id, reports, len(got.answers) + len(got.failures), got.bytes, got.kept, dict(rows.dropped), aside,
        tuple(found), tuple(folded), tuple(error for _, error in got.failures), excerpt(rows),
    )


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


def _evicting(
    feed: Feed, judgement: quality.Judgement, days: Sequence[MarketDay], failures: Sequence[tuple[Request, FeedError]],
) -> Mapping[tuple[str, str], Sequence[clock.Window]]:
    """The whole spans, less the days of which a request failed: what is missing there may only not have been had."""
    hurt = {d for request, error in failures if not isinstance(error, NotPublished) for d in request.days or [m.day for m in days]}
    starts = {m.start for m in days if m.day in hurt}
    if feed.yearly:
        return {}
    return {pair: [span for span in spans if span.start not in starts] for pair, spans in judgement.whole.items()}


def _day_report(
    feed: Feed, day: MarketDay, asked: bool, stamps: NDArray[np.int64], judgement: quality.Judgement,
    failures: Sequence[tuple[Request, FeedError]], now: int,
) -> DayReport:
    """`stamps`: the starts of all rows, sorted."""
    window = year_window(day) if feed.yearly else day.window
    inside = stamps[np.searchsorted(stamps, window.start) : np.searchsorted(stamps, window.end)]
    extent: dict[str, Any] = {"rows": len(inside)}
    if len(inside):
        extent |= {"first": int(inside[0]), "last": int(inside[-1])}
    wrong = [error for request, error in failures if not request.days or day.day in request.days or feed.yearly]
    hard = [e for e in wrong if not isinstance(e, NotPublished)]
    if not asked:
        return DayReport(str(day), "out of reach", reason=f"{feed.id} reaches back {feed.reach_days} days")
    if hard:
        return DayReport(str(day), "failed", **extent, reason="; ".join(dict.fromkeys(f"{type(e).__name__}: {e}" for e in hard))[:500])
    if len(inside):
        short = [pair for pair, parts in judgement.short.items() if window.start in {part.start for part in parts}]
        late = short and not feed.yearly and coverage.due(feed, window, now) > window.start
        told = "fewer rows than must be there by now: " + ", ".join(" ".join(pair) for pair in sorted(short))
        return DayReport(str(day), "short" if late else "done", **extent, reason=told[:300] if late else "")
    reason = str(wrong[0]) if wrong else "no row of that day in the answers"
    if coverage.due(feed, window, now) <= window.start:
        return DayReport(str(day), "waiting", reason=reason)
    recent = day.end > now - (feed.revised_days + 1) * clock.DAY
    return DayReport(str(day), "failed" if recent and not feed.yearly else "missing", reason=f"nothing published: {reason}")


def year_window(day: MarketDay) -> clock.Window:
    """The calendar year of a yearly partition, a day wide of it on both sides: years begin at a local midnight."""
    first = MarketDay(day.day.replace(month=1, day=1), day.tz)
    return clock.Window(first.start - clock.DAY, MarketDay(first.day.replace(year=first.day.year + 1) - timedelta(days=2), day.tz).end)


def _note(
    house: House, feed: Feed, days: Sequence[DayReport], rows: Rows, failures: Sequence[tuple[Request, FeedError]],
    quarantined: int, now: int,
) -> None:
    """Tells the source's health per zone. Errors of days that no schedule asks for any more are not the feed's health."""
    until: dict[str, int] = defaultdict(int)
    for key, strip in rows.strips.items():
        if strip.ts:
            until[key.zone] = max(until[key.zone], clock.interval_end(max(strip.ts), key.resolution))
    oldest = clock.local_date(now - (feed.revised_days + 2) * clock.DAY, feed.tz)
    recent = house.mode == "recorded" or any(d.day >= str(oldest) for d in days)
    changes = []
    for zone in feed.zones:
        reason = _reason(zone, days, failures) if recent else ""
        good = zone in until or (not reason and any(d.status == "waiting" for d in days))
        if good or reason:
            changes.append(Health(feed.id, zone, now if good else 0, reason, now if reason else 0, until.get(zone, 0), quarantined))
    if changes:
        health.note(house.storage, feed.source, changes)


def _reason(zone: str, days: Sequence[DayReport], failures: Sequence[tuple[Request, FeedError]]) -> str:
    own = [e for request, e in failures if request.zone in (None, zone) and not isinstance(e, NotPublished)]
    if own:
        return str(own[0])[:300]
    overdue = [d for d in days if d.status == "failed" and d.reason.startswith("nothing published")]
    return f"{overdue[0].day}: {overdue[0].reason}"[:300] if overdue else ""


def retry_after(failures: Iterable[FeedError]) -> float | None:
    """Seconds after which asking again makes sense; None where it does not (changed formats, missing credentials)."""
    later = [f.retry_after or 0.0 for f in failures if isinstance(f, FeedUnavailable)]
    hard = [f for f in failures if not isinstance(f, FeedUnavailable | NotPublished)]
    return max(later) if later and not hard else None


def totals(reports: Iterable[RunReport]) -> Counter[str]:
    """Days by status over several runs."""
    return Counter(day.status for report in reports for day in report.days)
