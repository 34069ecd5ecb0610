"""What a run over a feed's market days tells Dagster: events and check evaluations of its partitions.

A day that was asked for and came is a materialisation, changed or not, under a data version that changes with its rows;
one that did not come is an observation that says why. Days that an answer brought besides are materialised too, so that
partitions equal the warehouse. No `from __future__ import annotations`.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from assets import checks, first_days, stored_days
from assets.ingest import plots
from assets.ingest.context import PipelineContext
from assets.ingest.reports import DayReport, RunReport, window_of
from assets.partitions import asset_key, key_of, last_day, raw_key
from assets.stored_days import StoredDay, StoredRows
from warehouse.bookkeeping import logged
from warehouse.market import clock
from warehouse.market.clock import MarketDay, months
from warehouse.market.market import Feed, Source

CODE_VERSION, DATA_VERSION = "dagster/code_version", "dagster/data_version"
"""Tags of an event, by which the UI shows a partition as stale once the parser or the rows have changed."""
INPUT_VERSION = "dagster/input_data_version/"
RAW_VERSION = "kept"
"""The data version of kept answers, always the same: a new answer makes no partition stale that it did not change."""
BESIDE = "brought by an answer to another day"


@dataclass(frozen=True, slots=True)
class DayEvents:
    """One market day: its event, and the evaluations of its checks."""

    day: MarketDay
    event: dg.AssetMaterialization | dg.AssetObservation
    evaluations: tuple[dg.AssetCheckEvaluation, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        yield self.event
        yield from self.evaluations


def of_run(pipeline: PipelineContext, feed: Feed, report: RunReport, begun: int) -> list[DayEvents]:
    """The events of one run, day by day. `begun`: an instant before it wrote (Unix seconds).

    Where the events cannot be made, that is logged, and there are none: the rows are stored all the same.
    """
    with logged(f"events of {feed.id}"):
        return _of_days(pipeline, feed, report, begun)
    return []


def _of_days(pipeline: PipelineContext, feed: Feed, report: RunReport, begun: int) -> list[DayEvents]:
    last = last_day(feed, clock.local_date(max(int(time.time()), clock.now()), feed.tz))
    reports = {day.day: day for day in report.days if day.status != "not configured"}
    asked = [MarketDay(date.fromisoformat(day), feed.tz) for day in reports]
    rows, changed = _read(pipeline, feed, asked, report, begun)
    changed = _without_fringe(pipeline, feed, rows, asked, changed)
    days = sorted(day for day in {*asked, *changed} if day.day <= last)
    judged = defaultdict[str | None, list[dg.AssetCheckEvaluation]](list)
    for evaluation in checks.evaluate(pipeline.storage, feed, days, clock.now(), own=rows):
        judged[evaluation.partition].append(evaluation)
    with logged(f"first day of {feed.id}"):
        first_days.note(pipeline.storage, feed, (day.day for day in days))
    return [
        DayEvents(
            day,
            _event(feed, day, rows, reports.get(str(day)), day in changed),
            tuple(judged[key_of(feed, str(day))]),
        )
        for day in days
    ]


def _event(
    feed: Feed, day: MarketDay, rows: StoredRows, report: DayReport | None, changed: bool
) -> dg.AssetMaterialization | dg.AssetObservation:
    of_day = stored_days.of_day(rows, feed, day)
    if of_day.rows and (report is None or report.finished):
        return _materialisation(feed, of_day, report, rows if changed else None)
    return _observation(feed, of_day, report)


def _read(
    pipeline: PipelineContext, feed: Feed, asked: Sequence[MarketDay], report: RunReport, begun: int
) -> tuple[StoredRows, set[MarketDay]]:
    """The feed's rows of the days asked for and of those whose rows the run changed, and the latter days."""
    wanted = {month for day in asked for month in months(window_of(feed, day))}
    written = {folded.month for folded in report.folded if folded.wrote}
    wanted |= written
    rows = stored_days.read(pipeline.storage, feed, wanted, since=begun if written else None)
    changed = stored_days.touched_days(rows, feed)
    needed = {month for day in {*asked, *changed} for month in months(window_of(feed, day))}
    if needed - wanted:
        rows = stored_days.read(pipeline.storage, feed, needed)
    return rows, changed


def _without_fringe(
    pipeline: PipelineContext, feed: Feed, rows: StoredRows, asked: Sequence[MarketDay], changed: set[MarketDay]
) -> set[MarketDay]:
    """The days less those before the feed's first partition of which an answer brought no more than an edge."""
    first = min([first_days.load(pipeline.storage).get(feed.id, date.max), *(day.day for day in asked)])
    early = [day for day in changed if day.day < first]
    judged = checks.evaluate(pipeline.storage, feed, early, clock.now(), (checks.COMPLETE,), rows)
    whole = {evaluation.partition for evaluation in judged if evaluation.passed}
    return {day for day in changed if day.day >= first or key_of(feed, str(day)) in whole}


def _materialisation(
    feed: Feed, day: StoredDay, report: DayReport | None, rows: StoredRows | None
) -> dg.AssetMaterialization:
    """The event of a partition that holds rows; with `rows` also a plot and a table of them."""
    described = _figures(day, report, BESIDE)
    if rows is not None:
        newest = rows.rows(window_of(feed, day.day))
        described["plot"] = dg.MetadataValue.md(plots.sparkline(newest))
        described["newest"] = dg.MetadataValue.md(plots.table(newest))
    return dg.AssetMaterialization(
        asset_key(feed),
        metadata=described,
        partition=key_of(feed, str(day.day)),
        tags={
            CODE_VERSION: feed.version,
            DATA_VERSION: day.version,
            f"{INPUT_VERSION}{raw_key(feed.source).to_user_string()}": RAW_VERSION,
        },
    )


def _observation(feed: Feed, day: StoredDay, report: DayReport | None) -> dg.AssetObservation:
    """The event of a partition of which nothing came, with the reason."""
    text = "no row of it is held any more" if report is None else f"{report.status}: {report.reason or 'no row came'}"
    return dg.AssetObservation(
        asset_key(feed),
        description=text,
        metadata=_figures(day, report, "emptied"),
        partition=key_of(feed, str(day.day)),
    )


def _figures(day: StoredDay, report: DayReport | None, state: str) -> dict[str, Any]:
    described: dict[str, Any] = {"dagster/partition_row_count": day.rows, "state": report.status if report else state}
    if day.first is not None and day.last is not None:
        described["first"] = dg.MetadataValue.timestamp(float(day.first))
        described["last"] = dg.MetadataValue.timestamp(float(day.last))
    return described | ({"reason": report.reason} if report and report.reason else {})


def raw_events(source: Source, report: RunReport) -> list[dg.AssetMaterialization]:
    """The event of a run that kept answers; none where each equalled the last one."""
    figures: dict[str, Any] = {"answers_kept": report.new_bodies, "bytes_received": report.bytes, "feed": report.feed}
    tags = {DATA_VERSION: RAW_VERSION}
    return [dg.AssetMaterialization(raw_key(source.code), metadata=figures, tags=tags)] if report.new_bodies else []
