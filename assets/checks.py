"""Dagster's checks beside each series: the findings of `warehouse.quality`, which judged the rows before they were written.

A check here is a bell, not a gate: what is not believed has been set aside already. No `from __future__ import annotations`.
"""

import dagster as dg

from assets import line

WHOLE = "whole_days"
RULES = {
    "range": "No value lies outside what is physically possible for its zone; such rows are set aside.",
    "conflict": "No body states two values for one interval; such rows are set aside.",
    "grid": "Every interval starts on its resolution's grid; others are set aside.",
    "hole": "No interval is missing between others.",
    "short": "Days of 23, 24 or 25 hours have all their intervals at both ends.",
    "frozen": "No series stands still for longer than its metric ever does.",
    "leap": "No step between neighbours is larger than a person should look at.",
}
"""The rules of `quality` that a check is shown for."""


def specs(key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """One check per rule, and one for days that are short."""
    told = {WHOLE: "Every market day asked for has all the rows that it must have by now.", **RULES}
    return [dg.AssetCheckSpec(name, asset=key, description=text) for name, text in told.items()]


def results(key: dg.AssetKey, report: line.RunReport) -> list[dg.AssetCheckResult]:
    """Each check's outcome for one run; warnings but where rows were set aside."""
    short = [d for d in report.days if d.status in ("short", "missing", "failed")]
    found = [_result(key, WHOLE, not short, False, {"days": [f"{d.day} {d.status}" for d in short[:31]]})]
    for name in RULES:
        mine = [f for f in report.findings if f.check == name]
        grave = any(f.severity == "error" for f in mine)
        told = [f"{f.zone} {f.metric}: {f.detail}" for f in mine[:20]]
        found.append(_result(key, name, not mine, grave, {"findings": told, "count": sum(f.count for f in mine)}))
    return found


def _result(key: dg.AssetKey, name: str, passed: bool, grave: bool, metadata: dict[str, object]) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.ERROR if grave else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(asset_key=key, check_name=name, passed=passed, severity=severity, metadata=metadata)
