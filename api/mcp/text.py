"""The text of tool results: figures with ISO 8601 times. Pure.

Hosts show a model the text, the structured content, or both: each says by itself all that a reader must know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from api.openapi.members import STATE
from warehouse.market.clock import iso
from warehouse.market.market import Metric
from warehouse.market.zones import ZONES

SIMULATED = "SIMULATED figures, not market data."
_MOST_NAMED = 12
INSTANTS = frozenset(
    {"start", "end", "from", "until", "valid_until", "next_auction_by", "published_at", "min_ts", "max_ts"}
)
"""Members of windows and statistics that are Unix seconds, besides `ts`."""
_ORDER = {metric.value: place for place, metric in enumerate(Metric)}


def number(value: float) -> str:
    """Format a figure in at most ten significant digits."""
    return f"{value:.10g}"


def with_times(body: Any, instants: frozenset[str] = frozenset()) -> Any:
    """Return a JSON value with ISO 8601 beside every instant, since models misread Unix seconds.

    `time` stands beside `ts`, `start_time` beside `start` where `instants` names it.
    """
    if isinstance(body, list):
        return [with_times(part, instants) for part in body]
    if not isinstance(body, dict):
        return body
    timed = {name: with_times(part, instants) for name, part in body.items()}
    for name in body:
        if name in instants and isinstance(body[name], int):
            timed[f"{name.removesuffix('_ts')}_time"] = iso(body[name])
    return timed | {"time": iso(body["ts"])} if isinstance(body.get("ts"), int) else timed


def sample_note(base_url: str, sample_holds: str) -> str:
    """Say that an answer is a sample, what a sample holds, and how to get more."""
    return (
        f"SAMPLE: no API key was sent; this sample holds {sample_holds}. For whole answers get a free key, POST "
        f"{base_url}/v1/keys/signup with "
        '{"email": "..."}, and send it as the header Authorization: Bearer <key>, or as the argument api_key.'
    )


def stale_note(since: int) -> str:
    """Say that newer figures were due."""
    return f"STALE: newer figures were due at {iso(since)}; get_status tells more."


def terms(members: Iterable[Mapping[str, Any]]) -> str:
    """Name the sources and licences of members, each once."""
    listed = list(members)
    sources = dict.fromkeys(
        word.removeprefix("Source: ") for member in listed for word in member["attribution"].split("; ") if word
    )
    licences = dict.fromkeys(word for member in listed for word in member["license"].split("; ") if word)
    return f"Source: {'; '.join(sources)}. Licence: {'; '.join(licences)}."


def zones(body: Mapping[str, Any]) -> str:
    """A line a zone, with its metrics."""
    lines = [f"{len(body['zones'])} zones; id: name (time zone, currency): metrics."]
    for zone in body["zones"]:
        metrics = ", ".join(metric.value for metric in Metric if metric in ZONES[zone["id"]].metrics)
        lines.append(f"{zone['id']}: {zone['name']} ({zone['tz']}, {zone['currency']}): {metrics}")
    return "\n".join(lines)


def status(body: Mapping[str, Any]) -> str:
    """How many pairs of source and zone are in each state, and which ones are late or down."""
    entries = body["sources"]
    counts = Counter(entry["state"] for entry in entries)
    states = ", ".join(f"{counts[state]} {state}" for state in STATE["enum"] if counts[state])
    parts = [f"Freshness at {iso(body['now'])}, {len(entries)} pairs of source and zone: {states}."]
    for state in ("late", "down"):
        named = [f"{entry['source']}/{entry['zone']}" for entry in entries if entry["state"] == state]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        parts += [f"{state.capitalize()}: {', '.join(named[:_MOST_NAMED])}{more}."] if named else []
    return " ".join(parts)


def latest(body: Mapping[str, Any]) -> str:
    """A zone's values, each with its time."""
    parts = [
        f"{name} {number(value['value'])} {value['unit']} at {iso(value['ts'])} ({value['resolution']})"
        for name, value in body["metrics"].items()
    ]
    if mix := body.get("generation_mix"):
        fuels = sorted(mix["fuels"].items(), key=lambda pair: -pair[1])
        shares = ", ".join(f"{fuel} {number(share)}" for fuel, share in fuels)
        parts.append(f"generation at {iso(mix['ts'])} in {mix['unit']}: {shares}")
    return f"Latest values of {body['zone']}: {'; '.join(parts) or 'none'}. {terms([body])}"


def brief(body: Mapping[str, Any]) -> str:
    """The brief's own summary, with its time."""
    return f"Brief of {body['zone']} as of {iso(body['as_of'])}: {body['summary']} {terms([body])}"


def ranked(zones: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rank the values of a snapshot's zones within each metric and unit: columns of one length, the highest first.

    `rank` 1 is the highest value; `percentile` is a zone's own among its last 30 days.
    """
    groups: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for zone, member in zones.items():
        for name, value in member["metrics"].items():
            groups.setdefault((name, value["unit"]), []).append((zone, value))
    return [
        {"metric": name, "unit": unit, **_ranked(sorted(values, key=lambda each: -each[1]["value"]))}
        for (name, unit), values in sorted(groups.items(), key=lambda item: _ORDER[item[0][0]])
    ]


def _ranked(values: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    figures = [value["value"] for _, value in values]
    usual = Counter(value["ts"] for _, value in values).most_common(1)[0][0]
    others = {zone: iso(value["ts"]) for zone, value in values if value["ts"] != usual}
    percentiles = [value["percentile"] for _, value in values]
    return {
        "time": iso(usual),
        **({"other_times": others} if others else {}),
        "zone": [zone for zone, _ in values],
        "value": [int(figure) if figure.is_integer() else figure for figure in map(float, figures)],
        "rank": [figures.index(figure) + 1 for figure in figures],
        **({"percentile": percentiles} if any(p is not None for p in percentiles) else {}),
    }


def snapshot(body: Mapping[str, Any]) -> str:
    """A line for each metric and unit with the values of zones, the highest first; `values` are ranked already."""
    if "values" in body:
        groups, silent, published = body["values"], body["silent"], [body]
    else:
        members = body["zones"]
        groups, silent = ranked(members), [zone for zone in members if not members[zone]["metrics"]]
        published = [member for member in members.values() if member["metrics"]]
    count = len({zone for group in groups for zone in group["zone"]})
    head = f"Latest values of {count} zones, published at {iso(body['generated'])}, highest first"
    lines = [f"{head}; p: percentile of its last 30 days:", *map(_ranks, groups)]
    lines += [f"No values: {', '.join(silent)}."] if silent else []
    return "\n".join([*lines, terms(published)])


def _ranks(group: Mapping[str, Any]) -> str:
    percentiles = group.get("percentile") or [None] * len(group["zone"])
    values = ", ".join(
        f"{zone} {number(value)}" + ("" if percentile is None else f" p{percentile}")
        for zone, value, percentile in zip(group["zone"], group["value"], percentiles, strict=True)
    )
    others = ", ".join(f"{zone} at {time}" for zone, time in group.get("other_times", {}).items())
    return f"{group['metric']} in {group['unit']} at {group['time']}: {values}" + (f"; but {others}" if others else "")


def window(body: Mapping[str, Any], zone: str) -> str:
    """The best block, the next best, whether it is now, and how far prices are known; in UTC and civil time."""
    kind = "cheapest" if body["kind"] == "lowest" else "dearest"
    length = "hours" if body["hours"] is None else f"{number(body['hours'])} h"
    what = f"{body['zone']} {body['metric']}, {kind} {length}"
    horizon = body.get("horizon", {})
    lines = _best(body, zone, what) if body["available"] else [f"{what}: not available. {body['detail']}"]
    if horizon.get("next_auction_by") is not None:
        lines.append(f"Further prices are due by {iso(horizon['next_auction_by'])}.")
    return "\n".join([*lines, terms([body])])


def _best(body: Mapping[str, Any], zone: str, what: str) -> list[str]:
    unit, horizon, values = body["unit"], body["horizon"], "Prices"
    if "published_at" not in body:
        what += " among day-ahead prices"
    else:
        values, ahead = "Forecasts", number(round(body["lead_s"] / 3600, 2))
        what += f" by the operator's forecast of {iso(body['published_at'])}, {ahead} h ahead"
        if body["error"] is not None:
            what += f" (mean absolute error so far ahead {number(body['error'])} {unit})"
    if "slots" in body:
        slots = (f"{_span(slot, zone)} {number(slot['value'])} {unit}" for slot in body["slots"])
        lines, unit_of_rank = [f"{what}: {'; '.join(slots)}. Of all: {_figures(body, unit)}."], "slot"
    else:
        lines = [f"{what}: {_span(body, zone)}, {_figures(body, unit)}, rank 1 of {body['blocks']} blocks."]
        unit_of_rank = "block"
    if "cost" in body:
        cost = body["cost"]
        lines.append(f"{number(cost['kwh'])} kWh cost {number(cost['value'])} {cost['unit']}. {cost['note']}")
    lines += [
        f"Next best: {_span(block, zone)}, {_figures(block, unit)}, rank {block['rank']}."
        for block in body.get("alternatives", ())
    ]
    if "now" in body:
        place, rank = "inside" if body["now"]["in_best"] else "outside", body["now"]["rank"]
        lines.append(
            f"Now is {place} the best {unit_of_rank}"
            + (f"; a {unit_of_rank} that starts now ranks {rank}." if rank else ".")
        )
    lines.append(
        f"{values} are known from {iso(horizon['from'])} to {iso(horizon['until'])}, mean "
        f"{number(horizon['mean'])} {unit}. This answer holds until {iso(body['valid_until'])}."
    )
    return lines


def _span(block: Mapping[str, Any], zone: str) -> str:
    tz = ZONES[zone].tz
    begins, ends = (datetime.fromtimestamp(block[name], UTC).astimezone(ZoneInfo(tz)) for name in ("start", "end"))
    return f"{iso(block['start'])} to {iso(block['end'])} ({begins:%a %H:%M} to {ends:%a %H:%M} {tz})"


def _figures(block: Mapping[str, Any], unit: str) -> str:
    part = block["vs_horizon_mean_pct"]
    against = "" if part is None else f" ({part:+g} % against the mean of all known)"
    return f"mean {number(block['mean'])} {unit}{against}, from {number(block['min'])} to {number(block['max'])}"


def statistics(body: Mapping[str, Any]) -> str:
    """A window's statistics, fuel by fuel where they are by fuel."""
    what = f"{body['zone']} {body['metric']}" + (", day-ahead auction" if "market" in body else "")
    within = f"in [{iso(body['start'])}, {iso(body['end'])})"
    parts = body.get("fuels", {"": body.get("statistics")})
    lines = [_statistics(f"{name}: " if name else "", part) for name, part in parts.items() if part is not None]
    head = f"{what} {within}, {body['unit']}, weighted by time:" if lines else f"{what}: no rows {within}."
    return "\n".join([head, *lines, terms([body])])


def _statistics(name: str, part: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{word} {number(part[word])}" for word in ("mean", "std", "p10", "p50", "p90"))
    line = (
        f"{name}{figures}, min {number(part['min'])} at {iso(part['min_ts'])}, max {number(part['max'])} at "
        f"{iso(part['max_ts'])}; {part['count']} rows, coverage {number(part['coverage'])}."
    )
    return " ".join([line, *(_beyond(word, part[word]) for word in ("above", "below") if word in part)])


def _beyond(word: str, beyond: Mapping[str, Any]) -> str:
    total = (
        f"{word.capitalize()} {number(beyond['threshold'])}: {number(beyond['hours'])} h in {beyond['intervals']} "
        f"intervals and {beyond['spans']} spans"
    )
    spans = ", ".join(f"{iso(span['start'])} to {iso(span['end'])}" for span in beyond["first"])
    first = "the first ones " if beyond["spans"] > len(beyond["first"]) else ""
    return f"{total}: {first}{spans}." if spans else f"{total}."


def changes(body: Mapping[str, Any]) -> str:
    """A line a corrected series, then the series that only grew."""
    lines = [f"{body['entries']} changes. Corrected series: {len(body['corrected'])}."]
    for series in body["corrected"]:
        name = f"{series['zone']} {series['metric']}{' (day-ahead auction)' if 'market' in series else ''}"
        withdrawn = "unknown" if series["withdrawn"] is None else series["withdrawn"]
        lines.append(
            f"{name}: {series['changed']} rows changed, {withdrawn} withdrawn, {series['added']} added; corrected "
            f"within {series['first_time']} to {series['last_time']}, last at {series['at_time']}."
        )
    if body["only_new"]:
        grown = "; ".join(f"{zone} {', '.join(names)}" for zone, names in body["only_new"].items())
        lines.append(f"New rows alone: {grown}.")
    lines += [f"More changes follow: call again with since={body['next']}."] if body["more"] else []
    return "\n".join([*lines, "get_history with as_of gives the rows as they were known before."])
