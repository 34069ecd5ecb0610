"""Create Dagster's events and check results for the partitions of a run over a feed's market days.

A requested day with rows is a materialisation, whether the rows changed or not, and its data version changes with the
rows. A day without rows is an observation with the reason. No `from __future__ import annotations`.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import dagster as dg

from assets import checks
from assets.ingest import first_days, plots, stored_days
from assets.ingest.context import PipelineContext
from assets.ingest.reports import DayReport, RunReport, window_of
from assets.ingest.stored_days import StoredRows
from assets.partitions import asset_key, key_of, last_day, raw_key
from warehouse.bookkeeping import logged
from warehouse.market import clock
from warehouse.market.clock import MarketDay, months
from warehouse.market.feeds import Feed, Source

CODE_VERSION, DATA_VERSION = "dagster/code_version", "dagster/data_version"
"""Tags of an event. With them, the UI shows a partition as stale after the parser or the rows have changed."""
INPUT_VERSION = "dagster/input_data_version/"
RAW_VERSION = "kept"
"""The constant data version of raw responses. A new response makes a partition stale only if it changes the rows."""


@dataclass(frozen=True, slots=True)
class DayEvents:
    """The event of a market day and the results of its checks."""

    day: MarketDay
    event: dg.AssetMaterialization | dg.AssetObservation
    evaluations: tuple[dg.AssetCheckEvaluation, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        yield self.event
        yield from self.evaluations


def of_run(pipeline: PipelineContext, feed: Feed, report: RunReport) -> list[DayEvents]:
    """Return the events of a run, day by day.

    If the events cannot be created, the failure is logged and the list is empty. The rows are stored in any case.
    """
    with logged(f"events of {feed.id}"):
        return _of_days(pipeline, feed, report)
    return []


def _of_days(pipeline: PipelineContext, feed: Feed, report: RunReport) -> list[DayEvents]:
    last = last_day(feed, clock.local_date(max(int(time.time()), clock.now()), feed.tz))
    asked = {MarketDay(date.fromisoformat(day.day), feed.tz): day for day in report.days}
    days = sorted(day for day, of_day in asked.items() if day.day <= last and of_day.status != "not_configured")
    rows = stored_days.read(pipeline.storage, feed, {month for day in days for month in months(window_of(feed, day))})
    judged = defaultdict[str | None, list[dg.AssetCheckEvaluation]](list)
    for evaluation in checks.evaluate(pipeline.storage, feed, days, clock.now(), rows):
        judged[evaluation.partition].append(evaluation)
    with logged(f"first day of {feed.id}"):
        first_days.note(pipeline.storage, feed, (day.day for day in days))
    changed = any(folded.wrote for folded in report.folded)
    return [
        DayEvents(day, _event(feed, day, rows, asked[day], changed), tuple(judged[key_of(feed, str(day))]))
        for day in days
    ]


def _event(
    feed: Feed, day: MarketDay, rows: StoredRows, report: DayReport, changed: bool
) -> dg.AssetMaterialization | dg.AssetObservation:
    """Return the event of a partition, with the reason if the day has no rows, and a plot if the run `changed` rows."""
    of_day = stored_days.of_day(rows, feed, day)
    described: dict[str, Any] = {"dagster/partition_row_count": of_day.rows, "state": report.status}
    if of_day.first is not None and of_day.last is not None:
        described["first"] = dg.MetadataValue.timestamp(float(of_day.first))
        described["last"] = dg.MetadataValue.timestamp(float(of_day.last))
    if report.reason:
        described["reason"] = report.reason
    if not (of_day.rows and report.finished):
        text = f"{report.status}: {report.reason or 'no row came'}"
        return dg.AssetObservation(asset_key(feed), text, described, partition=key_of(feed, str(day)))
    if changed:
        newest = rows.rows(window_of(feed, day))
        described["plot"] = dg.MetadataValue.md(plots.sparkline(newest))
        described["newest"] = dg.MetadataValue.md(plots.table(newest))
    return dg.AssetMaterialization(
        asset_key(feed),
        metadata=described,
        partition=key_of(feed, str(day)),
        tags={
            CODE_VERSION: feed.version,
            DATA_VERSION: of_day.version,
            f"{INPUT_VERSION}{raw_key(feed.source).to_user_string()}": RAW_VERSION,
        },
    )


def raw_events(source: Source, report: RunReport) -> list[dg.AssetMaterialization]:
    """Return the event of a run that stored raw responses; empty if each response equalled the previous one."""
    figures: dict[str, Any] = {"answers_kept": report.new_bodies, "bytes_received": report.bytes, "feed": report.feed}
    tags = {DATA_VERSION: RAW_VERSION}
    return [dg.AssetMaterialization(raw_key(source.code), metadata=figures, tags=tags)] if report.new_bodies else []
