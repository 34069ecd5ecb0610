"""The text of the MCP tools' results: figures with ISO 8601 times; samples and stale figures are marked. Pure.

Hosts show a model the text, the structured content, or both: each says by itself all that a reader must know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.mcp import tables
from api.mcp.tables import PageColumns, number
from api.openapi.schemas import STATE
from api.series.page import Page
from warehouse.clock import iso
from warehouse.market import Metric
from warehouse.zones import ZONES

_BY_FUEL = frozenset({Metric.GENERATION, Metric.CAPACITY})
_MOST_NAMED = 12


def zones(stated: Mapping[str, Any]) -> str:
    """The zone list, with each zone's metrics, which the REST list leaves to the catalogue."""
    lines = [f"{len(stated['zones'])} zones; id: name (time zone, currency): metrics."]
    for zone in stated["zones"]:
        metrics = ", ".join(metric.value for metric in Metric if metric in ZONES[zone["id"]].metrics)
        lines.append(f"{zone['id']}: {zone['name']} ({zone['tz']}, {zone['currency']}): {metrics}")
    return "\n".join(lines)


def status(stated: Mapping[str, Any]) -> str:
    """How many feeds stand how, and which ones do not stand well."""
    entries = stated["sources"]
    counts = Counter(entry["state"] for entry in entries)
    parts = [
        f"Freshness at {iso(stated['now'])}, {len(entries)} pairs of source and zone: "
        + ", ".join(f"{counts[state]} {state}" for state in STATE["enum"] if counts[state])
        + "."
    ]
    for state in ("late", "down"):
        named = [f"{entry['source']}/{entry['zone']}" for entry in entries if entry["state"] == state]
        if named:
            more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
            parts.append(f"{state.capitalize()}: {', '.join(named[:_MOST_NAMED])}{more}.")
    return " ".join(parts)


def latest(stated: Mapping[str, Any]) -> str:
    """A zone's values, each with its time."""
    parts = [
        f"{name} {_value(value)} at {iso(value['ts'])} ({value['resolution']})"
        for name, value in stated["metrics"].items()
    ]
    mix = stated.get("generation_mix")
    if mix:
        parts.append(f"generation at {iso(mix['ts'])} in {mix['unit']}: {_fuels(mix['fuels'])}")
    return f"Latest values of {stated['zone']}: {'; '.join(parts) or 'none'}. {terms_of([stated])}"


def brief(stated: Mapping[str, Any]) -> str:
    """The brief's own summary, with its time."""
    return f"Brief of {stated['zone']} as of {iso(stated['as_of'])}: {stated['summary']} {terms_of([stated])}"


def snapshot(stated: Mapping[str, Any]) -> str:
    """A line for each metric, instant and unit with the zones' values; newest first."""
    lines = snapshot_lines(stated["generated"], tables.by_instant(stated["zones"]))
    silent = [zone for zone, member in stated["zones"].items() if not member["metrics"]]
    if silent:
        lines.append(f"No values: {', '.join(silent)}.")
    return "\n".join([*lines, terms_of(member for member in stated["zones"].values() if member["metrics"])])


def narrowed(stated: Mapping[str, Any]) -> str:
    """The text of a snapshot of some metrics (`tables.narrowed`)."""
    lines = snapshot_lines(stated["generated"], stated["values"])
    if stated["silent"]:
        lines.append(f"No values: {', '.join(stated['silent'])}.")
    return "\n".join([*lines, terms_of([stated])])


def snapshot_lines(generated: int, groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the values of a snapshot are, a line a group of one metric, instant and unit."""
    count = len({zone for group in groups for zone in group["zones"]})
    lines = [f"Latest values of {count} zones, published at {iso(generated)}:"]
    for group in groups:
        values = ", ".join(f"{zone} {number(value)}" for zone, value in group["zones"].items())
        lines.append(f"{group['metric']} in {group['unit']} at {group['time']}: {values}")
    return lines


def history(page: Page, columns: PageColumns | None, span: tuple[int, int] | None) -> str:
    """What the rows are and reach, then all of them as a table: `columns`, None where there are none.

    `span`: the first and last `ts` that are kept.
    """
    query = page.request
    (zone,) = query.zones
    what = f"{zone} {query.metric.value}" + (", day-ahead auction" if query.day_ahead else "")
    what += f", means of {query.interval}" if query.interval else ""
    window = f"in [{iso(page.start)}, {iso(page.end)})"
    terms = terms_of([{"attribution": page.terms[zone].attribution, "license": page.terms[zone].license}])
    if columns is None:
        return f"{what}: no rows {window}. {_span_held(span, page)} {terms}"
    rows = page.rows
    units = ", ".join(sorted({label.unit for label in rows.labels}))
    lengths = ", ".join(sorted({label.resolution for label in rows.labels}))
    oldest, newest = iso(int(rows.ts.min())), iso(int(rows.ts.max()))
    answer = (
        f"{what} in {units}: {page.count} rows of {lengths} {window}, the oldest at {oldest}, the newest at {newest}."
    )
    if query.metric not in _BY_FUEL and not query.borders:
        named = (("Lowest", rows.value.argmin()), ("highest", rows.value.argmax()), ("newest", rows.ts.argmax()))
        reach = ", ".join(f"{word} {number(float(rows.value[at]))} at {iso(int(rows.ts[at]))}" for word, at in named)
        answer = f"{answer} {reach}."
    return f"{answer}\n{tables.table(page, columns)}\n{terms}"


def _span_held(span: tuple[int, int] | None, page: Page) -> str:
    if span is None:
        return "None are held yet for this zone and metric."
    if page.start <= span[1] and span[0] < page.end:
        return f"None begins in it of those held, from {iso(span[0])} to {iso(span[1])}: widen the window."
    return f"Held are intervals from {iso(span[0])} to {iso(span[1])}: ask for a window in that span."


def going_on(arguments: Mapping[str, int], limit: int) -> str:
    """How to get the rows that were left out; no arguments where one instant alone has more rows than `limit`."""
    if not arguments:
        return f"TRUNCATED: one instant has more than limit={limit} rows: raise limit."
    named = " and ".join(f"{name}={instant}" for name, instant in arguments.items())
    return f"TRUNCATED: more rows exist; call again with {named}, or ask for interval=1h or 1d."


def sampled(base_url: str, kept: str) -> str:
    """That an answer is a sample, what a sample holds, and how to get more."""
    return (
        f"SAMPLE: no API key was sent; this sample holds {kept}. For whole answers get a free key, POST "
        f"{base_url}/v1/keys/signup with "
        '{"email": "..."}, and send it as the header Authorization: Bearer <key>, or as the argument api_key.'
    )


SIMULATED = "SIMULATED figures, not market data."


def stale(since: int) -> str:
    """That newer figures were due."""
    return f"STALE: newer figures were due at {iso(since)}; get_status tells more."


def _value(value: Mapping[str, Any]) -> str:
    return f"{number(value['value'])} {value['unit']}"


def _fuels(fuels: Mapping[str, float]) -> str:
    return ", ".join(f"{fuel} {number(share)}" for fuel, share in sorted(fuels.items(), key=lambda pair: -pair[1]))


def terms_of(members: Iterable[Mapping[str, Any]]) -> str:
    """Whose figures these are and under what licence, each said once."""
    listed = list(members)
    sources = dict.fromkeys(
        word.removeprefix("Source: ") for member in listed for word in member["attribution"].split("; ") if word
    )
    licences = dict.fromkeys(word for member in listed for word in member["license"].split("; ") if word)
    return f"Source: {'; '.join(sources)}. Licence: {'; '.join(licences)}."
