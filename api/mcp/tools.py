"""The MCP tools: names, descriptions, arguments, output schemas, and what prepares the call of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.http.parameters import Parameter
from api.mcp import answers, history
from api.mcp import arguments as takes
from api.mcp.arguments import input_schema
from api.mcp.calls import Prepare
from api.openapi.members import Schema
from api.openapi.schemas import SCHEMAS
from warehouse.market.metrics import METRICS, SCALAR, Metric
from warehouse.market.zones import ZONES, zones_with

_REFERENCE = "#/components/schemas/"
_ALL = 100
"""Levels of members, more than any answer has."""
_BOUNDS = {"enum", "const", "pattern", "propertyNames", "minItems", "maxItems", "minimum", "maximum", "format"}
_STRICT = _BOUNDS | {"description", "required"}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. All of them only read."""

    name: str
    title: str
    description: str
    arguments: tuple[Parameter, ...]
    answer: Schema
    """JSON Schema of `structuredContent`."""
    prepare: Prepare


def loose(schema: Any, levels: int = _ALL) -> Any:
    """Strip references, bounds and descriptions: a schema stands in every prompt, and clients keep it and refuse
    answers that outgrow it. What lies below some `levels` loses its members: their names say what they are.
    """
    if isinstance(schema, list):
        return [loose(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return loose(SCHEMAS[schema["$ref"].removeprefix(_REFERENCE)], levels)
    parts = {name: part for name, part in schema.items() if name not in _STRICT and part is not False}
    if levels <= 0:
        parts = {name: part for name, part in parts.items() if name in ("type", "anyOf")}
    for name, part in parts.items():
        if name == "properties":  # members keep their names, also those that are words of JSON Schema
            parts[name] = {member: loose(of, levels - 1) for member, of in part.items()}
        else:
            parts[name] = loose(part, levels - 1 if name in ("items", "additionalProperties") else _ALL)
    return parts


def _described(kind: str, words: str, **more: Any) -> Schema:
    return {"type": kind, "description": words, **more}


_NOTES = _described("array", "Whether this is a sample, stale or simulated.", items={"type": "string"})
_TIME = _described("string", "As ISO 8601; so is every other member that ends in _time.")


def _whole(name: str, levels: int = _ALL, **added: Schema) -> Schema:
    """The answer's schema with the members that tools add."""
    schema: Schema = loose(SCHEMAS[name], levels)
    notes = _NOTES if levels > 1 else {"type": "array"}
    properties = {**schema["properties"], "notes": notes, **added}
    return {**schema, "properties": properties, "required": SCHEMAS[name]["required"]}


_OBJECT: Schema = {"type": "object"}
# fmt: off
_SNAPSHOT = {
    **_whole("Snapshot", 2, values=_described(
        "array", "Instead of zones where metric is given: metric, unit, and columns of zones, the highest value first.",
        items=_OBJECT)),
    "required": ["generated"],
}
_COLUMNS = _described(
    "object",
    "All rows, as arrays of one length: time (UTC), or date (civil) of days and longer; and value, or an array for "
    "each fuel, border or zone (null: none). Where other members differ between rows, each has its array.",
    properties={name: {"type": "array", "items": {"type": "string"}} for name in ("time", "date")},
    additionalProperties={"type": "array"})
_HISTORY_MEMBERS: Mapping[str, Schema] = {
    "columns": _COLUMNS,
    "constant": _described("object", "The members that are the same in every row, such as unit."),
    "units": _described("object", "Of several zones: the unit of each."),
    "resolutions": _described("object", "Of several zones: the resolution of each."),
    "start_time": _described("string", "start as ISO 8601."),
    "end_time": _described("string", "end as ISO 8601."),
    "covered_in_part": _described("array", "Of several zones: the means of less than a whole interval.", items=_OBJECT),
    "clock": _described("object", "The civil clock of the rows: tz, and its utc_offsets by the time from which on."),
    "reason": _described("string", "Where there are no rows: why."),
    "held": _described("object", "Where there are no rows: the first and last interval held."),
    "next": _described(
        "object", "Where rows were left out: the window and as_of to call again with, other arguments unchanged."),
    "gaps": {"type": "array"},
}
# fmt: on
_CHANGES: Schema = {
    "type": "object",
    "properties": {
        "corrected": _described(
            "array",
            "Series with corrections: rows added, changed and withdrawn, within first_time to last_time, the "
            "last correction at at_time, and its feeds.",
            items=_OBJECT,
        ),
        "only_new": _described("object", "By zone: the metrics that only got new rows."),
        "entries": {"type": "integer"},
        "next": {"type": "string"},
        "more": {"type": "boolean"},
        "oldest": {"type": "string"},
        "notes": _NOTES,
    },
    "required": ["corrected", "only_new", "next", "more"],
}


def _history() -> Schema:
    """The series' schema with columns instead of rows; of several zones there is no one zone, and terms are by zone."""
    schema = _whole("Series", _ALL, **_HISTORY_MEMBERS)
    for name in ("data", "gaps_truncated", "attribution", "license", "known_since"):
        del schema["properties"][name]
    required = [name for name in schema["required"] if name not in ("data", "zone", "attribution", "license", "gaps")]
    return {**schema, "required": [*required, "columns", "constant"]}


def _scalar_words(metric: Metric) -> str:
    """`carbon_intensity (gCO2/kWh, GB only)`."""
    zones = zones_with(metric)
    where = "" if len(zones) == len(ZONES) else f", {', '.join(zones)} only"
    return f"{metric} ({METRICS[metric].units}{where})"


_SCALAR_WORDS = ", ".join(map(_scalar_words, SCALAR))
_MIX_WORDS = ", ".join(f"{name} in {ZONES[name].generation_unit}" for name in zones_with(Metric.GENERATION))

# fmt: off
TOOLS: dict[str, Tool] = {tool.name: tool for tool in (
    Tool(
        "list_zones", "List grid zones",
        f"Lists the {len(ZONES)} electricity grid zones (US, Great Britain, Australia, continental Europe) with id, "
        "name, time zone, currency, source, licence, attribution and the metrics that each publishes. Ids, which the "
        f"other tools take as zone: {', '.join(ZONES)}. Free, needs no key.",
        (takes.API_KEY,), _whole("Zones"), answers.list_zones),
    Tool(
        "get_status", "Check data freshness",
        "Tells how fresh the data are: for each source and zone the last good reading (Unix seconds, 0 for never), the "
        "last error, a state (ok, late, down, unknown) against the source's own schedule, and when the next reading is "
        "due. Free, needs no key.",
        (takes.API_KEY,), _whole("Status"), answers.get_status),
    Tool(
        "get_latest", "Get latest values of a zone",
        f"Returns the newest value of each metric that a zone publishes: {_SCALAR_WORDS}, and the generation mix "
        f"({_MIX_WORDS}), each with unit, time of its interval's start and length. Interchange: + is net import. "
        "get_zone_brief tells how unusual the values are, get_history gives the past, get_map_snapshot all zones at "
        "once.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _whole("Latest", 2), answers.get_latest),
    Tool(
        "get_zone_brief", "Get a zone's brief",
        "Returns a zone's market now in context: current values, their percentile, median, minimum and maximum over "
        "the trailing 30 days, the change against 24 hours ago (rising, falling, flat), the generation mix where "
        "published, and a summary. Metrics without enough data are left out, the reason in context_omitted.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _whole("Brief", 2), answers.get_zone_brief),
    Tool(
        "get_history", "Get a zone's history",
        "Returns the rows of one metric of one zone or several in a window [start, end), by default the last 24 hours; "
        "a start in the future alone takes the 24 hours after it: tomorrow's date gives tomorrow's day-ahead prices of "
        "European zones once the auction is published. Rows come as a table with UTC and civil times, and as columns. "
        "Where limit leaves rows out, next holds the window that goes on. A missing interval has no row.",
        (takes.ONE_ZONE, takes.HISTORY_ZONES, takes.METRIC, takes.START, takes.END, takes.LIMIT, takes.ORDER,
         takes.INTERVAL, takes.MARKET, takes.BY, takes.AS_OF, takes.FORECAST, takes.LEAD, takes.SAMPLE, takes.API_KEY),
        _history(), history.prepare),
    Tool(
        "get_map_snapshot", "Get latest values of all zones",
        "Returns the newest values of every zone in one answer, for comparing zones: the metrics of get_latest, each "
        "with unit and time; with metric they are ranked, the highest first. Prices are in each zone's own currency. A "
        "sample holds the price alone.",
        (takes.METRICS, takes.ZONES_WANTED, takes.SAMPLE, takes.API_KEY), _SNAPSHOT, answers.get_map_snapshot),
    Tool(
        "find_window", "Find the cheapest or dearest hours ahead",
        "Finds the contiguous block of hours with the lowest or highest mean among day-ahead prices, else by the "
        "operator's own forecast (price in Australia, carbon intensity in Great Britain), and whether it is now; with "
        "slots single intervals, with kwh and kw the cost. Where nothing is known ahead available is false.",
        (takes.ZONE, takes.HOURS, takes.SLOTS, takes.KWH, takes.KW, takes.FROM, takes.TO, takes.WITHIN, takes.BETWEEN,
         takes.KIND, takes.WINDOW_METRIC, takes.SAMPLE, takes.API_KEY),
        _whole("Windows", 1, start_time=_TIME), answers.find_window),
    Tool(
        "get_statistics", "Get statistics of a window",
        "Returns mean, standard deviation, minimum and maximum with their times, p10, p50, p90, coverage, and the "
        "hours and spans above or below a value, of one metric of one zone over a window of up to ten years, by "
        "default the last 24 hours: one answer instead of pages of get_history. Weighted by time; generation by fuel.",
        (takes.ZONE, takes.MEASURED, takes.MEASURED_START, takes.END, takes.ABOVE, takes.BELOW, takes.MEASURED_MARKET,
         takes.AS_OF, takes.SAMPLE, takes.API_KEY),
        _whole("SeriesStatistics", 2, start_time=_TIME), answers.get_statistics),
    Tool(
        "get_changes", "See what was corrected",
        "Tells which series were corrected since a time: how many rows changed or were withdrawn, within which span, "
        "and when; and which series only got new rows. get_history with as_of gives the former values. Free, needs no "
        "key.",
        (takes.ALL_ZONES, takes.CHANGED_METRIC, takes.SINCE, takes.API_KEY), _CHANGES, answers.get_changes),
)}
"""In the order in which tools/list gives them, the same every time."""
# fmt: on


def described(tool: Tool) -> dict[str, Any]:
    """A tool as tools/list shows it."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema(tool.arguments),
        "outputSchema": tool.answer,
        "annotations": {"title": tool.title, **hints},
    }
