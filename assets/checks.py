"""Dagster's checks beside each series: the findings of `warehouse.quality`, which judged the rows before the write.

Checks warn; they do not block: what is not believed is set aside already. No `from __future__ import annotations`.
"""

import dagster as dg

from assets.ingest.reports import RunReport

CHECKS: dict[str, tuple[tuple[str, ...], str]] = {
    "believed": (
        ("time", "range", "conflict", "grid"),
        "Every value is possible for its zone and at its time, stated once, on its grid; others are set aside.",
    ),
    "whole": (("hole", "short"), "Market days of 23, 24 or 25 hours have every interval that must be there by now."),
    "steady": (("frozen", "jump"), "No series repeats one value longer than its metric ever does, none jumps further."),
}
"""Check name -> its rules of `quality`, and what passing means. Few: each evaluation stays in Dagster's storage."""


def specs(key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """The checks beside one series."""
    return [dg.AssetCheckSpec(name, asset=key, description=text) for name, (_, text) in CHECKS.items()]


def results(key: dg.AssetKey, report: RunReport) -> list[dg.AssetCheckResult]:
    """Each check's outcome for one run; warnings but where rows were set aside."""
    missing = [f"{d.day} {d.status}" for d in report.days if d.status in ("short", "missing", "failed")]
    found = []
    for name, (rules, _) in CHECKS.items():
        mine = [f for f in report.findings if f.check in rules]
        told = [f"{f.check}: {f.zone} {f.metric}: {f.detail}" for f in mine[:20]]
        days = missing[:31] if name == "whole" else []
        grave = any(f.severity == "error" for f in mine)
        found.append(
            dg.AssetCheckResult(
                asset_key=key,
                check_name=name,
                passed=not mine and not days,
                severity=dg.AssetCheckSeverity.ERROR if grave else dg.AssetCheckSeverity.WARN,
                metadata={"findings": told, "count": sum(f.count for f in mine), "days": days},
            )
        )
    return found
