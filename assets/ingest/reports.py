"""What a run over market days did, told: day by day for people and Dagster, zone by zone to the sources' health.

How rows come in is `assets.ingest.runs`'s business.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warehouse import clock, coverage, quality
from warehouse.clock import MarketDay, Window
from warehouse.errors import CredentialsMissing, FeedError, FeedUnavailable, NotPublished, OutOfReach
from warehouse.health import Health
from warehouse.market import Feed, Request
from warehouse.schema import Rows
from warehouse.series import Folded

Status = Literal["done", "short", "waiting", "missing", "out of reach", "not configured", "failed"]
Failures = Sequence[tuple[Request, FeedError]]


@dataclass(frozen=True, slots=True)
class DayReport:
    """What became of one market day of a feed. `first` and `last` are interval starts, None without rows."""

    day: str
    status: Status
    rows: int = 0
    first: int | None = None
    last: int | None = None
    reason: str = ""

    @property
    def finished(self) -> bool:
        """Whether it is a materialisation: rows came, and nothing of the day went wrong."""
        return bool(self.rows) and self.status not in ("failed", "not configured")


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


def window_of(feed: Feed, day: MarketDay) -> Window:
    """What a partition holds: the market day; of a yearly feed the calendar year, which may begin at a midnight west or east of ours."""
    if not feed.yearly:
        return day.window
    first = MarketDay(day.day.replace(month=1, day=1), day.tz)
    return Window(
        first.start - clock.DAY, MarketDay(first.day.replace(year=first.day.year + 1) - timedelta(days=2), day.tz).end
    )


def of_days(
    feed: Feed,
    days: Sequence[MarketDay],
    beyond: Mapping[MarketDay, OutOfReach],
    rows: Rows,
    short: Mapping[coverage.Pair, Sequence[Window]],
    failures: Failures,
    now: int,
) -> tuple[DayReport, ...]:
    """What became of each day at an instant: `rows` were believed, `short` spans lack a reading, `beyond` was not asked for."""
    stamps = np.sort(
        np.concatenate([np.empty(0, np.int64), *(np.asarray(s.ts, np.int64) for s in rows.strips.values())])
    )
    return tuple(
        DayReport(str(day), "out of reach", reason=str(beyond[day]))
        if day in beyond
        else _of_day(feed, day, stamps, short, failures, now)
        for day in days
    )


def _of_day(
    feed: Feed,
    day: MarketDay,
    stamps: NDArray[np.int64],
    short: Mapping[coverage.Pair, Sequence[Window]],
    failures: Failures,
    now: int,
) -> DayReport:
    window = window_of(feed, day)
    inside = stamps[np.searchsorted(stamps, window.start) : np.searchsorted(stamps, window.end)]
    extent: dict[str, Any] = (
        {"rows": len(inside), "first": int(inside[0]), "last": int(inside[-1])} if len(inside) else {}
    )
    wrong = [error for request, error in failures if not request.days or day.day in request.days]
    hard = [e for e in wrong if not isinstance(e, NotPublished)]
    if hard:
        # A key that the owner has not got is no failure: the feed's zones say so, and everything else works.
        unset = all(isinstance(e, CredentialsMissing) and not e.refused for e in hard)
        reason = str(hard[0]) if unset else "; ".join(dict.fromkeys(f"{type(e).__name__}: {e}" for e in hard))
        return DayReport(str(day), "not configured" if unset else "failed", **extent, reason=reason[:500])
    if len(inside):
        lacking = sorted(
            " ".join(pair) for pair, parts in short.items() if any(part.start == window.start for part in parts)
        )
        reason = "fewer rows than must be there by now: " + ", ".join(lacking) if lacking else ""
        return DayReport(str(day), "short" if lacking else "done", **extent, reason=reason[:300])
    reason = str(wrong[0]) if wrong else "no row of that day in the answers"
    if coverage.due(feed, window, now) <= window.start:
        return DayReport(str(day), "waiting", reason=reason)
    recent = day.end > now - (feed.revised_days + 1) * clock.DAY
    return DayReport(
        str(day), "failed" if recent and not feed.yearly else "missing", reason=f"nothing published: {reason}"
    )


def of_zones(
    feed: Feed,
    known: Mapping[str, Health],
    days: Sequence[DayReport],
    rows: Rows,
    failures: Failures,
    quarantined: int,
    answered_at: int,
    judging: bool,
) -> list[Health]:
    """What a run adds to the feed's health, `known` by zone.

    `answered_at`: when the publisher was heard. `judging`: whether failures count; those of days that no schedule asks for
    any more, and of kept bodies, are not the feed's health: what went wrong last stays as it is known.
    """
    until: dict[str, int] = defaultdict(int)
    reached: dict[coverage.Pair, int] = defaultdict(int)
    for key, strip in rows.strips.items():
        if strip.ts:
            end = clock.interval_end(max(strip.ts), key.resolution)
            until[key.zone] = max(until[key.zone], end)
            if key.counterparty is None and key.link is None:  # a border that goes on makes no total
                reached[key.zone, key.metric] = max(reached[key.zone, key.metric], end)
    waiting = any(d.status == "waiting" for d in days)
    changes = []
    for zone in feed.zones:
        reason = _reason(zone, days, failures) if judging else known[zone].last_error if zone in known else ""
        good = zone in until or (judging and waiting and not reason)
        bad = judging and bool(reason)
        if good or bad:
            ok_at, error_at = answered_at if good else 0, answered_at if bad else 0
            by_metric = {metric.value: reached.get((zone, metric), 0) for metric in feed.metrics}
            changes.append(Health(feed.id, zone, ok_at, reason, error_at, until.get(zone, 0), quarantined, by_metric))
    return changes


def _reason(zone: str, days: Collection[DayReport], failures: Failures) -> str:
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


def together(runs: Sequence[RunReport]) -> RunReport:
    """Several runs of one feed told as one. There is at least one."""
    dropped: Counter[str] = Counter()
    for run in runs:
        dropped.update(run.dropped)
    return RunReport(
        runs[0].feed,
        tuple(day for run in runs for day in run.days),
        sum(run.requests for run in runs),
        sum(run.bytes for run in runs),
        sum(run.kept for run in runs),
        dropped,
        sum(run.quarantined for run in runs),
        tuple(f for run in runs for f in run.findings),
        tuple(f for run in runs for f in run.folded),
        tuple(f for run in runs for f in run.failures),
        runs[-1].sample,
    )


def totals(reports: Iterable[RunReport]) -> Counter[str]:
    """Days by status over several runs."""
    return Counter(day.status for report in reports for day in report.days)
