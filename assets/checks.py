"""Dagster's checks beside each series: four by market day, over the rows that are held, and one on freshness.

Checks tell; they do not block: rows that are not believed were set aside before. What blocks is what publishes (the geo
layers). See `assets.verdicts` for the rules. No `from __future__ import annotations`: Dagster reads the annotations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets import runless_events, verdicts
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, days_of, key_of
from assets.verdicts import AGREES, BELIEVED, COMPLETE, STEADY, Verdict
from warehouse import clock, health
from warehouse.clock import MarketDay, iso
from warehouse.market import Feed, Source

FRESH = "fresh"
BY_DAY: Mapping[str, str] = {
    BELIEVED: "Every value stated for the day is possible, stated once and on its grid; others are set aside. Error.",
    COMPLETE: "The day (23, 24 or 25 hours) has every interval that is due. Warning while the publisher may still bring"
    " it, error afterwards.",
    STEADY: "No series repeats one value longer than its metric ever does, none jumps or leaves its level. Warning.",
    AGREES: "Hourly means agree with the second feed of the same series. Warning; error at four times the tolerance.",
}
"""The checks by partition, and what passing means."""


def check_names(sources: Mapping[str, Source], feed: Feed) -> list[str]:
    """The feed's checks by partition: `agrees` only where a second feed carries one of its series."""
    alone = verdicts.pairing(sources, feed) is None
    return [name for name in BY_DAY if not (alone and name == AGREES)]


def feed_checks(sources: Mapping[str, Source], feed: Feed, partitions: dg.PartitionsDefinition) -> list[Any]:
    """The checks of one feed, each of which can be executed alone, for one partition or many."""
    return [_by_day(sources, feed, partitions), _freshness(feed)]


def _by_day(sources: Mapping[str, Source], feed: Feed, partitions: dg.PartitionsDefinition) -> dg.AssetChecksDefinition:
    key = asset_key(feed)
    specs = [
        dg.AssetCheckSpec(name, asset=key, description=BY_DAY[name], partitions_def=partitions)
        for name in check_names(sources, feed)
    ]

    @dg.multi_asset_check(name=f"check_{feed.id.replace('.', '_')}", specs=specs, can_subset=True)
    def check_days(
        context: dg.AssetCheckExecutionContext, pipeline: dg.ResourceParam[PipelineContext]
    ) -> Iterator[dg.AssetCheckResult]:
        keys = context.op_execution_context.partition_keys
        chosen = {check.name for check in context.selected_asset_check_keys}
        of_range: list[dg.AssetCheckEvaluation] = []
        for verdict in examine(pipeline, feed, days_of(feed, keys), chosen):
            judged = evaluation(feed, verdict)
            if len(keys) == 1:
                yield dg.AssetCheckResult(
                    asset_key=key,
                    check_name=judged.check_name,
                    passed=judged.passed,
                    severity=judged.severity,
                    metadata=judged.metadata,
                )
            else:
                # The result of a run over a range would carry no partition.
                of_range.append(judged)
        runless_events.report(context.instance, of_range)

    return check_days


def examine(
    pipeline: PipelineContext, feed: Feed, days: Sequence[MarketDay], chosen: Iterable[str]
) -> Iterator[Verdict]:
    """The chosen checks of these days over the rows that are held."""
    counterpart = verdicts.pairing(pipeline.sources, feed)
    yield from verdicts.examine(pipeline.storage, feed, counterpart, days, clock.now(), set(chosen))


def evaluation(feed: Feed, verdict: Verdict) -> dg.AssetCheckEvaluation:
    """A verdict as an event of its partition."""
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(feed),
        check_name=verdict.check,
        passed=verdict.passed,
        severity=dg.AssetCheckSeverity.ERROR if verdict.grave else dg.AssetCheckSeverity.WARN,
        metadata={"findings": dg.MetadataValue.json(list(verdict.findings)), "count": verdict.count},
        partition=key_of(feed, str(verdict.day)),
    )


def last_outcomes(
    instance: dg.DagsterInstance, feed: Feed, days: Sequence[MarketDay], paired: bool
) -> dict[tuple[str, str], bool]:
    """Whether each check last passed, by check and partition; absent where it never ran."""
    checks = [dg.AssetCheckKey(asset_key(feed), name) for name in BY_DAY if paired or name != AGREES]
    keys = [key_of(feed, str(day)) for day in days]
    outcomes = {}
    for known in instance.event_log_storage.get_asset_check_partition_info(checks, partition_keys=keys):
        status = known.latest_execution_status.value
        if status in ("SUCCEEDED", "FAILED") and known.partition_key is not None:
            outcomes[known.check_key.name, known.partition_key] = status == "SUCCEEDED"
    return outcomes


def _freshness(feed: Feed) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        name=FRESH,
        asset=asset_key(feed),
        description="The newest row is not older than the publisher's schedule allows, in every zone: judged by data,"
        " not by runs. Warning when late, error after four graces.",
    )
    def fresh(pipeline: dg.ResourceParam[PipelineContext]) -> dg.AssetCheckResult:
        judged = freshness(pipeline, feed)
        return dg.AssetCheckResult(passed=judged.passed, severity=judged.severity, metadata=judged.metadata)

    return fresh


def freshness(pipeline: PipelineContext, feed: Feed) -> dg.AssetCheckEvaluation:
    """The state of a feed by `data_until`: the end of its newest interval in the zone that is furthest behind."""
    known = {h.zone: h for h in health.load(pipeline.storage, feed.source) if h.feed == feed.id}
    now = clock.now()
    states = {
        zone: health.state(known.get(zone), feed.publication, feed.tz, feed.resolution, now) for zone in feed.zones
    }
    worst = health.worst(states.values())
    behind = [zone for zone, state in states.items() if state == worst] if worst != "ok" else []
    until = min((known[zone].whole_until for zone in feed.zones if zone in known), default=0)
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(feed),
        check_name=FRESH,
        passed=worst == "ok",
        severity=dg.AssetCheckSeverity.ERROR if worst == "down" else dg.AssetCheckSeverity.WARN,
        metadata={"state": worst, "zones": ", ".join(behind), "data_until": iso(until) if until else "never"},
    )


def report_freshness(instance: dg.DagsterInstance, pipeline: PipelineContext, feeds: Iterable[Feed]) -> int:
    """Records the feeds whose freshness is another than the one last recorded; returns how many.

    Feeds that nobody has asked yet, and those without credentials, are not judged.
    """
    evaluations = [freshness(pipeline, feed) for feed in feeds if feed.source in pipeline.configured]
    evaluations = [evaluation for evaluation in evaluations if evaluation.metadata["state"].value != "unknown"]
    keys = [evaluation.asset_check_key for evaluation in evaluations]
    last = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    changed = [e for e in evaluations if _outcome(last.get(e.asset_check_key)) != (e.passed, e.severity)]
    runless_events.report(instance, changed)
    return len(changed)


def _outcome(record: Any) -> tuple[bool, dg.AssetCheckSeverity] | None:
    """What an execution record of a check says; None where it says nothing yet."""
    event = record.event.dagster_event if record is not None and record.event is not None else None
    if event is None or event.event_type is not dg.DagsterEventType.ASSET_CHECK_EVALUATION:
        return None
    data = event.asset_check_evaluation_data
    return data.passed, data.severity
