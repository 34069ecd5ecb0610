"""Run over a feed's market days: fetch, store, parse, validate, merge and report. Each stage is one call.

The command line, the tests and the assets share this module, so it does not use Dagster. `assets.ingest.reports`
defines the reports, and `assets.documents.publish` the documents.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import orjson

from assets.fetch.session import Fetched
from assets.ingest import feed_health, level_shifts, reports
from assets.ingest.context import PipelineContext
from assets.ingest.gather import Gathered, feed_code, gather
from assets.ingest.reports import Failures, RunReport
from warehouse.bookkeeping import logged
from warehouse.documents import attempts
from warehouse.errors import (
    CredentialsMissing,
    FeedError,
    NotPublished,
    OutOfReach,
    StorageError,
    as_storage_error,
    name_unknown,
)
from warehouse.judge import coverage, quality
from warehouse.market import clock
from warehouse.market.clock import MarketDay, Window
from warehouse.market.feeds import Feed
from warehouse.rows.schema import Member, Rows
from warehouse.series import folding, raw
from warehouse.store import layout

_LOG = logging.getLogger("emds")


def ingest_days(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """Bring these market days of a feed into the warehouse. Failures are reported, not raised: those of the publisher
    by request, and those of the warehouse's files by the zone and metric that they affect.
    """
    today = clock.local_date(clock.now(), feed.tz)
    beyond = (
        {} if pipeline.mode == "recorded" else {d: error for d in days if (error := feed.out_of_reach(d.day, today))}
    )
    within = [d for d in days if d not in beyond]
    gathered = Gathered(feed)
    try:
        with feed_code(feed.id, "requests"):
            requests = feed.requests(within, clock.now()) if within else []
    except FeedError as error:
        gathered.failed(error, within)
    else:
        gather(pipeline, gathered, requests)
    return _judge_and_store(pipeline, gathered, days, beyond)


def reparse_days(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay]) -> RunReport:
    """Bring market days into the warehouse from the raw archive, without the network.

    Rows of other days in these responses are left out, since a later response may have corrected them.
    """
    gathered = Gathered(feed)
    for others in kept_bodies(pipeline, feed, days):
        gathered.read(Fetched(others.request, others.body, others.fetched_at))
        gathered.bytes += len(others.body)
    return _judge_and_store(pipeline, gathered, days, {}, from_raw=True)


def kept_bodies(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay]) -> Iterator[raw.RawBody]:
    """Yield the raw responses that may contain rows of market days, in order of arrival.

    Responses of the neighbouring days are included, since charts and daily files cross midnight.
    """
    first, last = min(d.day for d in days) - timedelta(days=1), max(d.day for d in days) + timedelta(days=1)
    return raw.find(pipeline.storage, feed.id, first, last)


def judge_kept(pipeline: PipelineContext, gathered: Gathered, days: Sequence[MarketDay]) -> quality.Judgement:
    """Return the verdict on the raw responses of market days. Nothing is stored."""
    return _judged(pipeline, gathered, days, days, True, clock.now())


def _judge_and_store(
    pipeline: PipelineContext,
    gathered: Gathered,
    days: Sequence[MarketDay],
    beyond: Mapping[MarketDay, OutOfReach],
    from_raw: bool = False,
) -> RunReport:
    """Validate and merge the gathered rows, and record the feed's health. `from_raw`: the raw archive has the rows."""
    now, feed = clock.now(), gathered.feed
    within = [d for d in days if d not in beyond]
    judgement = _judged(pipeline, gathered, days, within, from_raw, now)
    for notice in sorted(judgement.accepted.notices):
        _LOG.warning("%s: %s", feed.id, notice)
    aside = sum(_set_aside(pipeline, feed, within, verdict) for verdict in (*gathered.rejected, judgement))
    _keep_unknown(pipeline, feed, judgement.accepted)
    rows, folded = _fold(pipeline, gathered, judgement, within)
    day_reports = reports.of_days(feed, days, beyond, rows, judgement.incomplete, gathered.failures, now)
    with logged(f"health of {feed.id}"):
        feed_health.note(pipeline, gathered, day_reports, rows, aside, from_raw)
    if not from_raw:
        with logged(f"attempts of {feed.id}"):
            _count_attempts(pipeline, gathered, within, now)
    return RunReport(
        feed.id,
        day_reports,
        gathered.requests,
        gathered.bytes,
        len(gathered.new_bodies),
        aside,
        (*gathered.rejections(), *judgement.findings),
        tuple(folded),
        tuple(error for _, error in gathered.failures),
    )


def _judged(
    pipeline: PipelineContext,
    gathered: Gathered,
    days: Sequence[MarketDay],
    within: Sequence[MarketDay],
    from_raw: bool,
    now: int,
) -> quality.Judgement:
    """Return the verdict on all gathered rows; without rows if the feed's own code fails, which is recorded."""
    feed = gathered.feed
    try:
        with feed_code(feed.id, "combine"):
            merged = gathered.merged_rows()
        if from_raw:
            merged = _rows_of_days(pipeline, feed, days, merged)
        with feed_code(feed.id, "judge"):
            # A yearly feed has one row per fuel and year, so nothing is due per interval.
            return _with_level_checks(pipeline, feed, merged, [] if feed.yearly else [d.window for d in within], now)
    except (FeedError, StorageError) as error:
        gathered.failed(error, within)
        return quality.judge(Rows(), feed, (), now)


def _with_level_checks(
    pipeline: PipelineContext, feed: Feed, merged: Rows, days: Sequence[Window], now: int
) -> quality.Judgement:
    """Return the verdict with level shifts as findings. Rows that another feed disagrees with too are quarantined."""
    judgement = quality.judge(merged, feed, days, now)
    shifts: list[level_shifts.LevelShift] = []
    with logged(f"levels of {feed.id}"):
        shifts = level_shifts.find(pipeline.storage, feed.id, judgement.accepted, days)
    found = [shift.finding for shift in shifts]
    for finding in found:
        if finding.severity != "note":
            _LOG.warning("%s: %s %s: %s", feed.id, finding.zone, finding.metric, finding.detail)
    wrong = [shift for shift in shifts if shift.finding.severity == "error"]
    if wrong:
        others, aside = level_shifts.split_shifted(merged, wrong)
        judgement = quality.judge(others, feed, days, now)
        judgement.quarantined.merge(aside)
    return replace(judgement, findings=(*judgement.findings, *found))


def _fold(
    pipeline: PipelineContext, gathered: Gathered, judgement: quality.Judgement, days: Sequence[MarketDay]
) -> tuple[Rows, list[folding.Folded]]:
    """Merge rows by zone and metric, so that a file that cannot be read or written affects only its own rows.

    Returns the stored rows and the results of the merges.
    """
    whole = _replaceable_spans(judgement, days, gathered.failures, gathered.rows)
    stored, folded = Rows(), list[folding.Folded]()
    stored.merge_notes(judgement.accepted)
    by_pair = _by_pair(judgement.accepted)
    for pair in sorted({*by_pair, *whole}):
        rows = by_pair.get(pair, Rows())
        spans = {pair: whole[pair]} if pair in whole else {}
        try:
            folded += folding.fold(
                pipeline.storage, gathered.feed.id, rows, spans, pipeline.ranks, None, pipeline.mode, pipeline.terms
            )
        except (StorageError, OSError) as error:
            gathered.failed(as_storage_error(error), zone=pair[0])
        else:
            stored.readings |= rows.readings
    return stored, folded


def _by_pair(rows: Rows) -> dict[coverage.Pair, Rows]:
    """Group rows by zone and metric."""
    parts: dict[coverage.Pair, Rows] = defaultdict(Rows)
    for key, readings in rows.readings.items():
        parts[key.zone, key.metric].readings[key] = readings
    return parts


def _rows_of_days(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay], rows: Rows) -> Rows:
    """Return the rows of these days, of days without own stored responses, and all forecasts, which are not
    corrected.
    """
    windows = [reports.window_of(feed, day) for day in days]
    stamps = {ts for key, readings in rows.readings.items() if key.published_at is None for ts in readings.ts}
    day_of = {ts: clock.local_date(ts, feed.tz) for ts in stamps if not any(ts in window for window in windows)}
    if not day_of:
        return rows
    bodies = raw.find(pipeline.storage, feed.id, min(day_of.values()), max(day_of.values()))
    requested = {day for stored in bodies for day in stored.request.days}
    left_out = [ts for ts, day in day_of.items() if day in requested]
    return rows.split(lambda key, ts: np.isin(ts, left_out if key.published_at is None else []))[0]


def _set_aside(pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay], judgement: quality.Judgement) -> int:
    """Store quarantined rows outside the series and return their number."""
    if len(judgement.quarantined):
        with logged(f"quarantine of {feed.id}"):  # the raw archive contains these rows too
            _put_aside(pipeline, feed, str(days[0]) if days else "undated", quality.to_json(judgement))
    return len(judgement.quarantined)


def _keep_unknown(pipeline: PipelineContext, feed: Feed, rows: Rows) -> None:
    """Store the names of unknown members outside the series, by the market days on which they have values.

    The document contains the parser's version, since the next parser may know them.
    """
    by_day: dict[str, list[Member]] = defaultdict(list)
    for member, instants in sorted(rows.unknown.items()):
        _LOG.error("%s: %s", feed.id, name_unknown([member.name]))
        for day in {str(MarketDay.at(ts, feed.tz)) for ts in instants}:
            by_day[day].append(member)
    with logged(f"unknown members of {feed.id}"):
        for day, members in by_day.items():
            document = {"strips": [], "version": feed.version, "unknown": [member._asdict() for member in members]}
            _put_aside(pipeline, feed, day, orjson.dumps(document))


def _put_aside(pipeline: PipelineContext, feed: Feed, day: str, body: bytes) -> None:
    """Quarantine a document under a digest of its bytes, so that equal documents are stored once."""
    pipeline.storage.put(layout.quarantine(feed.id, day, hashlib.sha256(body).hexdigest()[:8]), body)


def _replaceable_spans(
    judgement: quality.Judgement, days: Sequence[MarketDay], failures: Failures, merged: Rows
) -> Mapping[coverage.Pair, Sequence[Window]]:
    """Return the complete periods, except days with a failed request, whose missing rows may be due to the failure. The
    times within these days at which the publisher's value is refused are added.
    """
    failed = {
        d
        for request, error in failures
        if not isinstance(error, NotPublished)
        for d in request.days or [m.day for m in days]
    }
    starts = {m.start for m in days if m.day in failed}
    spans = {pair: [span for span in whole if span.start not in starts] for pair, whole in judgement.complete.items()}
    for pair, stamps in merged.refused.items():
        own = (ts for ts in sorted(stamps) if any(ts in day.window for day in days))
        spans[pair] = [*spans.get(pair, ()), *(Window(ts, ts + 1) for ts in own)]
    return spans


def _count_attempts(pipeline: PipelineContext, gathered: Gathered, days: Sequence[MarketDay], now: int) -> None:
    """Count the run's requests and failures. A run that includes the current day keeps the feed monitored."""
    feed = gathered.feed
    errors = [error for _, error in gathered.failures if isinstance(error, FeedError)]
    unset = [error for error in errors if isinstance(error, CredentialsMissing) and not error.refused]
    if unset:
        return  # no request was sent
    failures = Counter(
        error.kind for error in errors if not isinstance(error, NotPublished | OutOfReach) and error.kind != "paused"
    )
    running = any(reports.window_of(feed, day).start <= now < reports.window_of(feed, day).end for day in days)
    pause = 2 * feed.every_minutes * 60 + attempts.SLACK_S
    if gathered.requests:
        attempts.note(pipeline.storage, feed.id, now, gathered.requests, failures, pause if running else None)
