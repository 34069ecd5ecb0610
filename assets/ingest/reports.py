"""Report a run over market days, day by day, for people and for Dagster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warehouse.documents import health
from warehouse.errors import CredentialsMissing, FeedUnavailable, MarketError, NotPublished, OutOfReach, cause_of
from warehouse.judge import coverage, quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Feed, Request
from warehouse.market.metrics import define
from warehouse.rows import forecasts
from warehouse.rows.schema import Rows
from warehouse.series.folding import Folded

Status = Literal["complete", "partial", "pending", "missing", "out_of_range", "not_configured", "failed"]
Failures = Sequence[tuple[Request, MarketError]]
"""The failures of a run: FeedErrors by request and StorageErrors by zone (None: all zones)."""
Short = Mapping[coverage.Pair, Sequence[Window]]
"""The periods, by zone and metric, that lack an overdue value."""


@dataclass(frozen=True, slots=True)
class DayReport:
    """The result of one market day of a feed. `first` and `last` are interval starts, None without rows."""

    day: str
    status: Status
    rows: int = 0
    first: int | None = None
    last: int | None = None
    reason: str = ""
    nothing_published: bool = False
    """Whether the publisher had no rows although rows were due."""

    @property
    def finished(self) -> bool:
        """Check whether the day counts as materialised: it has rows, and its requests did not fail."""
        return bool(self.rows) and self.status not in ("failed", "not_configured")


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of a run over market days of a feed."""

    feed: str
    days: tuple[DayReport, ...]
    requests: int = 0
    bytes: int = 0
    new_bodies: int = 0
    quarantined: int = 0
    findings: tuple[quality.Finding, ...] = ()
    folded: tuple[Folded, ...] = ()
    failures: tuple[MarketError, ...] = ()

    @property
    def failed(self) -> list[DayReport]:
        return [day for day in self.days if day.status == "failed"]

    @property
    def zones(self) -> set[str]:
        """Return the zones whose series may have changed."""
        return {f.zone for f in self.folded if f.wrote}


def window_of(feed: Feed, day: MarketDay) -> Window:
    """Return the window of a partition: the market day, or the calendar year of a yearly feed. The year is
    shifted a day earlier, for zones east of the feed's zone.
    """
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
    short: Short,
    failures: Failures,
    now: int,
) -> tuple[DayReport, ...]:
    """Report each day. `rows` are plausible, `short` periods lack a value, and `beyond` days were not requested."""
    starts = [
        np.asarray(forecasts.instants(key, readings), np.int64)
        for key, readings in rows.readings.items()
        if key.metric in feed.metrics or define(key.metric).due != "vintages"
    ]
    stamps = np.sort(np.concatenate([np.empty(0, np.int64), *starts]))
    return tuple(
        DayReport(str(day), "out_of_range", reason=str(beyond[day]))
        if day in beyond
        else _of_day(feed, day, stamps, short, failures, now)
        for day in days
    )


def _of_day(
    feed: Feed, day: MarketDay, stamps: NDArray[np.int64], short: Short, failures: Failures, now: int
) -> DayReport:
    window = window_of(feed, day)
    inside = stamps[np.searchsorted(stamps, window.start) : np.searchsorted(stamps, window.end)]
    errors = [error for request, error in failures if not request.days or day.day in request.days]
    hard = [error for error in errors if not isinstance(error, NotPublished)]
    if hard:
        status, reason = _refused(hard)
    elif len(inside):
        status, reason = _answered(window, short)
    else:
        status, reason = _silent(feed, day, window, errors, now)
    if not len(inside):
        return DayReport(str(day), status, reason=reason, nothing_published=not hard and status != "pending")
    return DayReport(str(day), status, len(inside), int(inside[0]), int(inside[-1]), reason)


def _refused(errors: Sequence[MarketError]) -> tuple[Status, str]:
    """Return the status and reason. Missing credentials are not a failure: the feed's zones report them."""
    if all(isinstance(error, CredentialsMissing) and not error.refused for error in errors):
        return "not_configured", str(errors[0])[:500]
    return "failed", "; ".join(dict.fromkeys(f"{type(e).__name__}: {cause_of(e)}" for e in errors))[:500]


def _answered(window: Window, short: Short) -> tuple[Status, str]:
    lacking = sorted(" ".join(pair) for pair, spans in short.items() if any(s.start == window.start for s in spans))
    if not lacking:
        return "complete", ""
    return "partial", f"fewer rows than expected by now: {', '.join(lacking)}"[:300]


def _silent(feed: Feed, day: MarketDay, window: Window, errors: Sequence[MarketError], now: int) -> tuple[Status, str]:
    reason = str(errors[0]) if errors else "the responses contain no rows for that day"
    if coverage.due_until(feed, window, now) <= window.start:
        return "pending", f"{_expected(feed, window, now)} ({reason})"
    recent = day.end > now - (feed.revised_days + 1) * clock.DAY
    return "failed" if recent and not feed.yearly else "missing", f"nothing published: {reason}"


def _expected(feed: Feed, window: Window, now: int) -> str:
    """Return when the first rows of a day are expected, if nothing of the day is due yet."""
    publication = feed.publication
    out = health.expected_by(publication, feed.tz, feed.resolution, window.start) - 60 * publication.grace_minutes
    when = "the day lies in the future" if window.start > now else "nothing of the day is due yet"
    return f"{when}: rows are expected from {clock.iso(out)}"


def retry_after(failures: Iterable[MarketError]) -> float | None:
    """Return the seconds until a retry is useful; None if it is not (changed formats, missing credentials)."""
    later = [f.retry_after or 0.0 for f in failures if isinstance(f, FeedUnavailable)]
    hard = [f for f in failures if not isinstance(f, FeedUnavailable | NotPublished)]
    return max(later) if later and not hard else None


def together(runs: Sequence[RunReport]) -> RunReport:
    """Merge the reports of several runs of a feed, at least one."""
    names = [field.name for field in fields(RunReport) if field.name != "feed"]
    return RunReport(runs[0].feed, *(reduce(add, (getattr(run, name) for run in runs)) for name in names))


def totals(reports: Iterable[RunReport]) -> Counter[str]:
    """Count the days by status over several runs."""
    return Counter(day.status for report in reports for day in report.days)
