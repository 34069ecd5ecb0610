"""Find the gaps of a page: the ranges of its window without a row that was due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from api.series import stored_rows
from api.series.abreast import read_abreast
from api.series.gap_reasons import Gap, explain
from api.series.query import DueSpan, ZonePlan, plan_request
from warehouse.figures.resample import CIVIL, LONGEST, Interval, interval_at
from warehouse.judge import coverage
from warehouse.market.clock import HOUR, RESOLUTIONS, Window
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.series.reader import Reader
from warehouse.series.row_columns import RowColumns


def gaps_of_page(
    reader: Reader,
    plans: Sequence[ZonePlan],
    parts: Sequence[RowColumns],
    window: Window,
    unknown: Mapping[str, Sequence[Window]],
) -> Iterator[Gap]:
    """Yield the gaps of each zone in a page's window outside its `unknown` months; forecasts have no gaps."""
    request = plans[0].request
    if request.pick is not None:
        return
    if request.order == "desc" and request.cursor is not None and request.cursor.zone:
        # The previous page lists the gaps at that time.
        window = Window(window.start, max(window.start, min(window.end, request.cursor.ts)))
    for plan, rows in zip(plans, parts, strict=True):
        begin = min(request.start, window.start)
        found = missing_spans(rows, window, plan.due, ZONES[plan.zone].tz, request.interval, begin)
        if found and not (len(rows) and rows.ts[0] <= found[0].start):
            # A row that starts before the window, or at its start on another page, may cover its start.
            head = found.pop(0)
            start = max(head.start, _covered_until(reader, plan, window.start + 1))
            found = [Window(start, head.end), *found] if start < head.end else found
        months = [_whole_intervals(month, request.interval, plan.zone) for month in unknown.get(plan.zone, ())]
        short = [
            (span, share)
            for span, share in stored_rows.short_intervals(reader, plan, window, rows.ts)
            if [*_outside(span, months)] == [span]
        ]
        known = sorted([*months, *(span for span, _ in short)])
        empty = [(part, None) for span in found for part in _outside(span, known)]
        for span, share in sorted([*short, *empty], key=lambda pair: pair[0]):
            is_estimate = plan.stored == Metric.CARBON_ESTIMATE
            gaps = explain(reader, plan, [span]) if is_estimate else [Gap(plan.zone, span.start, span.end)]
            yield from (gap._replace(coverage=share) for gap in gaps)


def _whole_intervals(month: Window, interval: Interval | None, zone: str) -> Window:
    """Return a month, extended to whole intervals of means."""
    if interval is None:
        return month
    first, last = (interval_at(ts, interval, ZONES[zone].tz) for ts in (month.start, month.end - 1))
    return Window(first.start, last.end)


def _outside(span: Window, months: Sequence[Window]) -> Iterator[Window]:
    """Yield the parts of a range outside `months`, which ascend."""
    start = span.start
    for month in months:
        if start < min(month.start, span.end):
            yield Window(start, min(month.start, span.end))
        start = max(start, month.end)
    if start < span.end:
        yield Window(start, span.end)


def _covered_until(reader: Reader, plan: ZonePlan, at: int) -> int:
    """Return the end of the last row that starts before a time; 0 without such a row."""
    request, zone = plan.request, plan.zone
    window = Window(max(0, at - LONGEST[request.interval or "1d"]), at)
    request = request._replace(zones=(zone,), stored=(plan.stored,), start=window.start, end=window.end)
    (before,) = plan_request(reader, plan.catalogue, request)
    (last,), _ = read_abreast(reader, (before,), [(window, None)], "desc", 1)
    return int(stored_rows.ends(last, request.interval, ZONES[zone].tz)[-1]) if len(last) else 0


def missing_spans(
    rows: RowColumns, window: Window, due: DueSpan, tz: str, interval: Interval | None = None, begin: int | None = None
) -> list[Window]:
    """Return the ranges of a window without a row that was due, in order. `rows` ascend and start inside the window.

    A range has no row of any fuel or border. `interval` is that of rows that are means. `begin` is the start of the
    request's window; a gap that started on the previous page continues.
    """
    since = min(max(window.start, due.since), window.end)
    begun = max(window.start if begin is None else begin, due.since)

    def around(span: Window, step: int, phase: int) -> list[Window]:
        """Return the part of a range whose intervals started at `begun` or later and are due as a whole.

        They start every `step` seconds from `phase`, or with the intervals of the civil calendar.
        """
        if span.start >= due.until:  # also at the end of the civil calendar
            return []
        running, last = (
            interval_at(at, interval, tz)
            if interval is not None and interval in CIVIL
            else Window(at - (at - phase) % step, at - (at - phase) % step + step)
            for at in (span.start, due.until)
        )
        start = span.start if running.start >= begun or running.start == span.start else running.end
        until = min(span.end, last.start)
        return [Window(start, until)] if start < until else []

    if not len(rows):
        return around(Window(since, window.end), HOUR if interval == "1h" else due.step, 0)
    first, last = int(rows.ts[0]), int(rows.ts[-1])
    if rows.run:  # consecutive rows leave no room for another row before or behind them, as in most windows
        step = RESOLUTIONS[rows.labels[rows.label[0]].resolution]
        if (first == since or first - begun < step) and last + step >= window.end:
            return []
    ends = stored_rows.ends(rows, interval, tz)
    until = int(ends.max())
    begins, finishes, _ = coverage.uncovered(rows.ts, ends, Window(first, until))
    return [
        *around(Window(min(since, first), first), int(ends[0]) - first, first),
        *(Window(begin, end) for begin, end in zip(begins.tolist(), finishes.tolist(), strict=True)),
        *around(Window(min(until, window.end), window.end), until - last, until),
    ]
