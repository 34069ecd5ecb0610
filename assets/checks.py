"""The checks of a feed's asset, evaluated in the asset's own step: three by market day, and one on freshness.

Checks report; they do not block: rows that are not believed were set aside before. What blocks is what publishes (the
geo layers). See `assets.verdicts` for the rules. No `from __future__ import annotations`: Dagster reads annotations.
"""

import dagster as dg

from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, key_of
from assets.verdicts import RULES, Verdict
from warehouse.documents import health
from warehouse.market import clock
from warehouse.market.clock import iso
from warehouse.market.market import Feed

FRESH = "fresh"
_FRESH_MEANS = (
    "The newest row is not older than the publisher's timetable allows, in every zone: judged by data, not by runs."
    " Warning when late, error after four graces."
)


def check_specs(feed: Feed, partitions: dg.PartitionsDefinition) -> list[dg.AssetCheckSpec]:
    """The checks of one feed."""
    key = asset_key(feed)
    by_day = [
        dg.AssetCheckSpec(name, asset=key, description=rule.__doc__, partitions_def=partitions)
        for name, rule in RULES.items()
    ]
    return [*by_day, dg.AssetCheckSpec(FRESH, asset=key, description=_FRESH_MEANS)]


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


def freshness(pipeline: PipelineContext, feed: Feed) -> dg.AssetCheckEvaluation:
    """The state of a feed by `data_until`: the end of its newest interval in the zone that is furthest behind."""
    found = health.feed_state(feed, health.load(pipeline.storage, feed.source), clock.now())
    worst, behind = found.state, found.zones if found.state != "ok" else []
    until = min((one.whole_until for one in found.known), default=0)
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(feed),
        check_name=FRESH,
        passed=worst == "ok",
        severity=dg.AssetCheckSeverity.ERROR if worst == "down" else dg.AssetCheckSeverity.WARN,
        metadata={"state": worst, "zones": ", ".join(behind), "data_until": iso(until) if until else "never"},
    )
