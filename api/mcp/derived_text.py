"""The texts of windows and statistics: figures with ISO 8601 times, in UTC and in the zone's civil time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from api.mcp.tables import number
from api.mcp.text import terms_of
from warehouse.clock import iso
from warehouse.zones import ZONES

_REASONS = {
    "nothing_ahead": "nothing is known ahead there: no day-ahead auction of it is held here, and nothing is forecast",
    "not_known_yet": "no prices ahead are published yet",
    "horizon_too_short": "the prices that are known reach less far than one such block",
}


def window(stated: Mapping[str, Any], zone: str) -> str:
    """The best block, the next best, whether it is now, and how far prices are known."""
    kind = "cheapest" if stated["kind"] == "lowest" else "dearest"
    what = f"{stated['zone']} {stated['metric']}, {kind} {number(stated['hours'])} h"
    span = stated.get("horizon", {})
    auction = span.get("next_auction_by")
    lines = []
    if not stated["available"]:
        lines.append(f"{what}: not available, {_REASONS[stated['reason']]}.")
    else:
        unit = stated["unit"]
        lines.append(
            f"{what} among day-ahead prices: {_span(stated, zone)}, {_figures(stated, unit)}, "
            f"rank 1 of {stated['blocks']} blocks."
        )
        lines += [
            f"Next best: {_span(block, zone)}, {_figures(block, unit)}, rank {block['rank']}."
            for block in stated.get("alternatives", ())
        ]
        if "now" in stated:
            place = "inside" if stated["now"]["in_best"] else "outside"
            lines.append(f"Now is {place} the best block; a block that starts now ranks {stated['now']['rank']}.")
        lines.append(
            f"Prices are known from {iso(span['from'])} to {iso(span['until'])}, mean {number(span['mean'])} {unit}. "
            f"This answer holds until {iso(stated['valid_until'])}."
        )
    if auction is not None:
        lines.append(f"Further prices are due by {iso(auction)}.")
    return "\n".join([*lines, terms_of([stated])])


def statistics(stated: Mapping[str, Any]) -> str:
    """A window's statistics in words, fuel by fuel where they are by fuel."""
    what = f"{stated['zone']} {stated['metric']}" + (", day-ahead auction" if "market" in stated else "")
    within = f"in [{iso(stated['start'])}, {iso(stated['end'])})"
    parts = stated.get("fuels", {"": stated.get("statistics")})
    known = {name: part for name, part in parts.items() if part is not None}
    if not known:
        return f"{what}: no rows {within}.\n{terms_of([stated])}"
    lines = [f"{what} {within}, {stated['unit']}, weighted by time:"]
    lines += [_statistics(f"{name}: " if name else "", part) for name, part in known.items()]
    return "\n".join([*lines, terms_of([stated])])


def _statistics(name: str, part: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{word} {number(part[word])}" for word in ("mean", "std", "p10", "p50", "p90"))
    line = (
        f"{name}{figures}, min {number(part['min'])} at {iso(part['min_ts'])}, max {number(part['max'])} at "
        f"{iso(part['max_ts'])}; {part['count']} rows, coverage {number(part['coverage'])}."
    )
    for word in ("above", "below"):
        if word in part:
            line += f" {_beyond(word, part[word])}"
    return line


def _beyond(word: str, beyond: Mapping[str, Any]) -> str:
    total = (
        f"{word.capitalize()} {number(beyond['threshold'])}: {number(beyond['hours'])} h in {beyond['intervals']} "
        f"intervals and {beyond['spans']} spans"
    )
    spans = ", ".join(f"{iso(span['start'])} to {iso(span['end'])}" for span in beyond["first"])
    first = "the first ones " if beyond["spans"] > len(beyond["first"]) else ""
    return f"{total}: {first}{spans}." if spans else f"{total}."


def _span(block: Mapping[str, Any], zone: str) -> str:
    """A block's instants in UTC and in civil time."""
    tz = ZoneInfo(ZONES[zone].tz)
    begins, ends = (datetime.fromtimestamp(block[name], UTC).astimezone(tz) for name in ("start", "end"))
    civil = f"{begins:%a %H:%M} to {ends:%a %H:%M} {ZONES[zone].tz}"
    return f"{iso(block['start'])} to {iso(block['end'])} ({civil})"


def _figures(block: Mapping[str, Any], unit: str) -> str:
    part = block["vs_horizon_mean_pct"]
    against = "" if part is None else f" ({part:+g} % against the mean of all known)"
    return f"mean {number(block['mean'])} {unit}{against}, from {number(block['min'])} to {number(block['max'])}"
