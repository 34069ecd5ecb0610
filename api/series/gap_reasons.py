"""Find the reason why intervals lack an estimate of carbon intensity, from the stored mix, when a gap is listed.

`warehouse.figures.refusals` gives the reason from the mix rows of a market day. If it gives none, only the raw response
had the cause, and the gap has no reason. An interval without mix rows has none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from api.series import stored_rows
from api.series.query import ZonePlan
from warehouse.figures.refusals import estimate_stored
from warehouse.market.carbon import Estimates, Reason
from warehouse.market.clock import DAY, MarketDay, Window
from warehouse.market.vocabulary import Metric
from warehouse.series.reader import Reader
from warehouse.series.row_columns import joined
from warehouse.store.stored_bytes import Identity

LONGEST = 366 * DAY
"""The longest range to examine, in seconds. A year costs 0.4 s of CPU."""


class Gap(NamedTuple):
    """A gap in the rows of a zone, and the reason why it has no estimate."""

    zone: str
    start: int
    end: int
    reason: Reason | None = None
    coverage: float | None = None
    """The coverage of an interval of means that is omitted although it has rows."""


def mix_files(reader: Reader, plans: Iterable[ZonePlan]) -> list[Identity]:
    """Return the files of the mix that determine the reasons of a request's gaps."""
    estimated = [plan for plan in plans if plan.stored == Metric.CARBON_ESTIMATE]
    days = [Window(max(0, plan.request.start - DAY), plan.request.end + DAY) for plan in estimated]
    pairs = zip(estimated, days, strict=True)
    return [file.identity for plan, window in pairs for file in reader.files(plan.zone, Metric.MIX, window)]


def explain(reader: Reader, plan: ZonePlan, holes: Iterable[Window]) -> Iterator[Gap]:
    """Yield the gaps of a series of estimates, split where the reason changes. Raises StorageError, FileReplaced.

    A gap of means is not split; it has a reason if all of its refused intervals share it. Only the first `LONGEST`
    seconds of a gap are examined.
    """
    for hole in holes:
        found = _refused(reader, plan, Window(hole.start, min(hole.end, hole.start + LONGEST)))
        if plan.request.interval is None:
            yield from _cut(plan.zone, hole, found)
        else:
            reasons = {reason for _, reason in found} if hole.seconds <= LONGEST else set()
            yield Gap(plan.zone, hole.start, hole.end, reasons.pop() if len(reasons) == 1 else None)


def _cut(zone: str, hole: Window, refused: Iterable[tuple[Window, Reason]]) -> Iterator[Gap]:
    """Yield the parts of a gap with a single reason, and the parts without a reason between them."""
    last = Gap(zone, hole.start, hole.start)
    for span, reason in refused:
        start, end = max(span.start, last.end), min(span.end, hole.end)
        if start >= end:
            continue
        if start > last.end or reason != last.reason:
            yield from (each for each in (last, Gap(zone, last.end, start)) if each.start < each.end)
            last = Gap(zone, start, start, reason)
        last = last._replace(end=end)
    yield from (each for each in (last, Gap(zone, last.end, hole.end)) if each.start < each.end)


def _refused(reader: Reader, plan: ZonePlan, hole: Window) -> Iterator[tuple[Window, Reason]]:
    """Yield the refused intervals that overlap a gap, in order, by market day."""
    day = MarketDay.at(hole.start, _market_tz(plan))
    while day.start < hole.end:
        found = _estimates(reader, plan, day.window)
        for ts, seconds, reason in zip(found.ts.tolist(), found.seconds.tolist(), found.reasons, strict=True):
            if reason is not None and ts < hole.end and ts + seconds > hole.start:
                yield Window(ts, ts + seconds), reason
        day = day.next()


def _market_tz(plan: ZonePlan) -> str:
    """Return the time zone of the market days of the mix's feed, which has a response per market day."""
    return next((feed.tz for feed in plan.catalogue.served_feeds(plan.zone, plan.stored)), "UTC")


def _estimates(reader: Reader, plan: ZonePlan, day: Window) -> Estimates:
    """Return the estimates from the stored mix rows of a market day."""
    mix = replace(plan, stored=Metric.MIX.value, files=tuple(reader.files(plan.zone, Metric.MIX, day)))
    rows = joined(piece.rows for piece in stored_rows.stored(reader, mix, "asc", day))
    rows = rows.take(slice(*rows.between(day)))
    return estimate_stored(plan.zone, rows)
